//! NETCONF (RFC 6241, RFC 6242) as far as it is text: where messages end, what is asked, and what becomes of the data. Who
//! may ask, and what becomes of a switch, is the caller's.

mod data;
mod edit;
mod error;
mod filter;
pub mod framing;
mod library;
mod message;
mod path;
mod schema;
#[cfg(test)]
mod tests;
mod xml;

pub use data::xml as data_xml;
pub use edit::{Operation, edited};
pub use error::{Layer, RpcError, Tag};
pub use filter::selected;
pub use library::library;
pub use message::{Commit, Datastore, Edit, Hello, Reply, Request, Rpc, Source, TestOption, hello};
pub use schema::{MODULES, Module};
pub use xml::{XmlError, escaped, read};

/// The namespace of NETCONF's own elements.
pub const BASE: &str = "urn:ietf:params:xml:ns:netconf:base:1.0";
/// Messages that end with `]]>]]>`.
pub const BASE_1_0: &str = "urn:ietf:params:netconf:base:1.0";
/// Messages in chunks.
pub const BASE_1_1: &str = "urn:ietf:params:netconf:base:1.1";
