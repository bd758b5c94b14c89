//! Bytes over a pulse-width wire (source 002, and denser).
//!
//! A [`Code`] says how long pulses and gaps are for which bits; a [`frame`] is bytes with a header, a checksum
//! and, where asked for, Reed–Solomon parity; [`wire`] turns frames into durations and back. All of that is
//! plain computation. Damaged frames are told from good ones by a CRC-32; a wrong byte is never handed on.
#![deny(unsafe_code)]

pub mod code;
mod fec;
pub mod frame;
pub mod wire;

pub use code::Code;
pub use frame::{Frame, Kind};
