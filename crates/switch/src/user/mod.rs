//! The user data plane: one dedicated core takes frames in, learns addresses, classifies, queues and opens gates.

mod address_table;
mod bpf;
#[cfg(test)]
mod conformance;
pub mod core;
pub mod counters;
pub mod datagrams;
pub mod either;
pub mod ending;
pub mod entries;
pub mod gate;
mod latent_errors;
pub mod loop_guard;
pub mod loop_probe;
pub mod metrics;
pub mod open;
pub mod packet;
pub mod placement;
pub mod plan;
pub mod pool;
pub mod port;
mod ptp;
pub mod queue;
pub mod rest;
pub mod running;
pub mod serve;
pub mod settings;
pub mod shaper;
pub mod spread;
pub mod station;
mod sys;
pub mod table;
#[cfg(test)]
pub(crate) mod testbed;
pub mod time;
pub mod udp;
pub mod xdp;

pub use placement::CorePlacement;
pub use running::Running;
