//! Simulated lines.

use crate::wakes as futex;

#[path = "../../../crates/gpio/src/sim/instant.rs"]
pub mod instant;
#[path = "../../../crates/gpio/src/sim/owner.rs"]
pub mod owner;
#[path = "../../../crates/gpio/src/sim/setup.rs"]
pub mod setup;
#[path = "../../../crates/gpio/src/sim/track.rs"]
pub mod track;

/// Of a process that lives.
pub fn owner_of(pid: u32) -> owner::Owner {
    owner::Owner::of(pid)
}
