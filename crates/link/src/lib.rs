//! Bytes over a pulse-width wire (source 002, and denser).
//!
//! A [`Code`] says how long pulses and gaps are for which bits; a [`frame`] is bytes with a header, a checksum and, where
//! asked for, Reed–Solomon parity; [`wave`] turns frames into durations, and [`decode`] edges into frames; [`stream`]
//! makes frames of a stream of bytes, [`repeat`] repeats those that did not arrive, and [`duplex`] does that in both
//! directions. All of that is plain
//! computation. A [`Sender`] and a [`Receiver`] are the threads at the two ends of a wire, [`transfer`] moves a stream
//! through them, a [`trial`] measures what a wire can do, and [`bare`] does so without frames, as source 002 did. Damaged frames are distinguished from good ones by a CRC-32; a
//! wrong byte is never handed on.
#![deny(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr, clippy::dbg_macro)]

pub mod bare;
mod block;
pub mod code;
mod damaged;
pub mod decode;
pub mod duplex;
pub mod eye;
mod fec;
mod field;
pub mod frame;
mod guard;
#[cfg(test)]
mod memory;
pub mod receiver;
pub mod repeat;
mod scale;
pub mod sender;
mod sent;
pub mod setting;
pub mod stream;
pub mod transfer;
pub mod trial;
pub mod wave;

pub use code::Code;
pub use decode::Decoded;
pub use frame::{Frame, Kind};
pub use receiver::{Method, Receiver, UnknownMethod};
pub use sender::Sender;
pub use setting::Setting;
