//! The kernel's events of threads, by perf_event_open(2). They belong to this process: when it ends, however it ends,
//! the kernel stops recording, and nothing is left behind.

mod abi;
mod attach;
mod of_cpus;
pub mod records;
mod sys;
mod taking;
mod tracepoints;

pub use attach::{Attached, Traced, is_refusal};
pub use of_cpus::{MOST, OfCpus};
pub use tracepoints::{Trace, Tracepoints};
