//! A planned network, run: every stream held against its promise.
#![forbid(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr, clippy::dbg_macro)]

mod arrivals;
pub mod costs;
mod delivered;
mod distribution;
pub mod endpoint;
pub mod fault;
pub mod frame;
pub mod lldp;
pub mod namespaces;
mod passed;
pub mod ptp;
pub mod roundtrip;
pub mod simulation;
mod switches;

pub use arrivals::{Arrivals, Arrived, Expected, LastHop};
pub use costs::Costs;
pub use delivered::Delivered;
pub use distribution::Distribution;
pub use fault::{Fault, FaultError};
pub use passed::Passed;
pub use simulation::{Options, Outcome, SimulationError, simulate};
