//! A chip in shared memory: GPIO for a laptop, for teaching and for tests.
//!
//! Each chip is a file in `/dev/shm`, made on first use, that any number of its user's processes map at
//! once; two users' chips of one name are two chips. Registers of a real chip are served by silicon; memory is not, so a line here is one atomic word
//! that holds its level, how many edges it has had and when the last one was (`track`). A write is one
//! compare-and-swap of that word: no edge is lost or invented however many write at once, there is no lock
//! that a dying process could leave behind, and a poll is a single load.
//!
//! Lines are joined by [`wire`]s. A wire may delay edges, and may let through no notification of an edge
//! that follows another too closely, as interrupts on a Raspberry Pi do (source 002, finding 4).

mod chip;
mod filter;
mod futex;
mod group;
mod instant;
mod level;
mod owner;
mod page;
mod pin;
mod setup;
mod states;
mod track;
mod user;
mod wire;

pub use chip::{LINES, list, remove, remove_made};
pub(crate) use group::{OutputPins, Pins};
pub(crate) use pin::Pin;
pub use states::{LineState, line_states};
pub use user::act_for;
pub use wire::{Wire, unwire, wire, wires};
