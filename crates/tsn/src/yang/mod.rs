//! Gate parameters and streams in the YANG of IEEE 802.1Qcw-2023 and IEEE 802.1CBcv-2021, in JSON (RFC 7951), as network
//! managers read and write them.
//!
//! Gate parameters of a bridge stand in `/ietf-interfaces:interfaces/interface/ieee802-dot1q-bridge:bridge-port/
//! ieee802-dot1q-sched-bridge:gate-parameter-table`, of an end station in `/ietf-interfaces:interfaces/interface/
//! ieee802-dot1dc-sched-if:gate-parameter-table` (IEEE 802.1DC-2024); both use the groupings of `ieee802-dot1q-sched`.
//! Streams are a bridge's: `streams` says where what stands.

mod control_list;
mod export;
mod export_error;
mod import;
mod json;
mod merge;
mod node;
mod notes;
mod place;
mod preemption;
mod priorities;
mod shaper;
#[cfg(test)]
mod shaper_test;
mod streams;
#[cfg(test)]
mod tests;

pub use export::{Exported, export};
pub use export_error::ExportError;
pub use import::{Imported, Interface, import};
pub use merge::{MergeError, merge, new_switch};
pub use node::YangError;
pub(crate) use node::predicate;
pub use notes::Otherwise;
pub use place::{place, stream_of};
pub use priorities::Priorities;
pub use streams::{ImportedStream, Paths, stream_handles};

/// Module of the interfaces (RFC 8343).
pub(crate) const INTERFACES: &str = "ietf-interfaces";
/// Module of bridge ports.
pub(crate) const BRIDGE: &str = "ieee802-dot1q-bridge";
/// Module that gives bridge ports their gates.
pub(crate) const SCHED_BRIDGE: &str = "ieee802-dot1q-sched-bridge";
/// Module that gives the interfaces of end stations their gates.
pub(crate) const SCHED_IF: &str = "ieee802-dot1dc-sched-if";
/// Module that says which frames of a bridge's port are preempted.
pub(crate) const PREEMPTION_BRIDGE: &str = "ieee802-dot1q-preemption-bridge";
/// Module that gives bridge ports their credit-based shaper.
pub(crate) const CBSA_BRIDGE: &str = "ieee802-dot1q-cbsa-bridge";
/// Module that gives the interfaces of end stations theirs.
pub(crate) const CBSA_IF: &str = "ieee802-dot1dc-cbsa-if";
/// Module of transmission selection algorithms.
pub(crate) const TYPES: &str = "ieee802-dot1q-types";
/// Module of the operations of a gate control list.
pub(crate) const SCHED: &str = "ieee802-dot1q-sched";
/// Module of the identity of a stream gate's operation.
pub(crate) const PSFP: &str = "ieee802-dot1q-psfp";
/// Module that gives components of bridges their stream filters, stream gates and flow meters.
pub(crate) const PSFP_BRIDGE: &str = "ieee802-dot1q-psfp-bridge";
/// Module that says which frames are of a stream.
pub(crate) const STREAM_IDENTIFICATION: &str = "ieee802-dot1cb-stream-identification";
/// Module of the functions of streams that take several paths.
pub(crate) const FRER: &str = "ieee802-dot1cb-frer";
/// The list of the credit-based shaper.
const CBSA_TABLE: &str = "cbsa-parameter-table";
/// Entries of a list of gate operations at most.
const MOST_ENTRIES: usize = 1024;
const SECOND_NS: u64 = 1_000_000_000;
/// All gates of the standard.
const ALL_OPEN: u16 = (1 << crate::model::STANDARD_CLASSES) - 1;
