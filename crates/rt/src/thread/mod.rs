//! Setting a thread up for timed work: CPU, policy, memory, power-state latency, timer slack.
//!
//! ```
//! use ontick_rt::thread::{Policy, Setup};
//! let ready = Setup::new().cpu(0).policy(Policy::Fifo(80)).lock_memory().best_effort();
//! for refusal in ready.refused() {
//!     eprintln!("{refusal}");
//! }
//! ```

mod affinity;
mod awake;
mod latency_request;
mod memory;
mod policy;
mod refusal;
mod scheduling;
mod setup;

pub use affinity::{set_affinity, set_affinity_of};
pub use awake::KeptAwake;
pub use latency_request::LatencyRequest;
pub use memory::prefault_stack;
pub use policy::{Policy, PolicyError};
pub use refusal::Refusal;
pub use scheduling::Scheduling;
pub use setup::{Setup, ThreadSetup};

pub use crate::sys::block_signals;
pub use policy::{current_tid, in_force, set_policy};
