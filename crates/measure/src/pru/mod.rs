//! The coprocessor of a BeagleBone: a PRU makes pulses, or answers a pin's changes, and counts the cycles of 5 ns that
//! it takes (`pru/` has its programs, docs/pru.md the story).
//!
//! The kernel's remoteproc loads and starts the program; parameters and results are words in the RAM that both share.
//! A process of its own stands guard, and gives the PRU back as it was however this one ends.

mod answers;
mod block;
mod cells;
mod firmware;
mod guard;
mod host;
pub mod layout;
mod pin;
mod pulses;
mod remote;
mod running;
mod watch;

pub use answers::Follower;
pub use host::Host;
pub use pin::{Direction, Pin};
pub use pulses::{NARROWEST, Output, SHORTEST_GAP, Train};
pub(crate) use running::Running;
