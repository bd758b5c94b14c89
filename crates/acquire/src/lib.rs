//! Sample on time, and hand every sample to sockets and files off the real-time core.
//!
//! A [`Sampler`] lives on the timed thread: at every [`Trigger`] it reads all [`source`]s into one sample and
//! puts that into a [`ring`]. Whoever is at the ring's other end formats and sends; the timed thread never
//! waits for it. Nothing is invented and nothing is lost silently: samples are numbered, numbers of slots that
//! were missed are left out, and samples that found the ring full are counted in the next that did not.
#![deny(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr, clippy::dbg_macro)]

pub mod acquisition;
#[cfg(feature = "arrow")]
pub mod arrow;
pub mod backlog;
mod error;
pub mod format;
pub mod hub;
pub mod place;
pub mod recording;
pub mod rest;
pub mod ring;
mod sampler;
pub mod sink;
pub mod socket_file;
pub mod source;
mod trigger;

pub use acquisition::Acquisition;
pub use error::Error;
pub use sampler::{Sampler, Turn};
pub use source::{Channel, Source};
pub use trigger::Trigger;
