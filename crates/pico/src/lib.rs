//! What a Raspberry Pi Pico with ontick's firmware and its host say to each other: [frames](frame) with a checksum, the
//! messages in them, times of edges, and how [words of the PIO](samples) become edges. The firmware is built from this, too.
#![no_std]
#![deny(unsafe_code)]

#[cfg(test)]
extern crate std;

pub mod edges;
pub mod frame;
mod message;
pub mod samples;

pub use edges::{Edge, EdgeWriter, Edges};
pub use frame::{Frame, LONGEST, Reader};
pub use message::{Command, Lost, Message, Refusal};

/// The version of the protocol. Another one is refused by the host.
pub const VERSION: u8 = 1;
/// Of the clock that counts ticks: 8 ns each.
pub const TICKS_PER_SECOND: u32 = 125_000_000;
/// In ns.
pub const TICK_NS: u32 = 8;
/// Lines that are watched, GP0 to GP7.
pub const LINES: u8 = 8;
/// Lines that are sampled together.
pub const LINES_OF_BANK: u8 = 4;
/// Banks of lines: 0 to 3, and 4 to 7.
pub const BANKS: u8 = LINES / LINES_OF_BANK;
/// The pin that makes reference pulses, GP16.
pub const PULSE_PIN: u8 = 16;
/// The pin that answers a line, GP17.
pub const ANSWER_PIN: u8 = 17;
/// The shortest high and the shortest low part of a reference pulse, in ticks.
pub const SHORTEST_HIGH: u32 = 2;
/// See [`SHORTEST_HIGH`].
pub const SHORTEST_LOW: u32 = 3;
/// From the tick at which a change is seen to the one at which the soonest answer is given.
pub const SOONEST_ANSWER: u32 = 3;
