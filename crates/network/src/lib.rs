//! A planned network, run: every stream held against its promise.
#![forbid(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr, clippy::dbg_macro)]

pub mod costs;
pub mod fault;
pub mod frame;
pub mod simulation;

pub use costs::Costs;
pub use fault::{Fault, FaultError};
pub use simulation::{Options, Outcome, SimulationError, simulate};
