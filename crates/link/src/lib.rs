//! Bytes over a pulse-width wire (source 002, and denser).
//!
//! A [`Code`] says how long pulses and gaps are for which bits; a [`frame`] is bytes with a header, a checksum
//! and, where asked for, Reed–Solomon parity; [`wire`] turns frames into durations and back; [`cut`] finds frames
//! among edges; [`stream`] makes frames of a stream of bytes, and [`repeat`] repeats those that did not arrive. All of
//! that is plain computation. A [`Sender`] and a [`Receiver`] are the threads at the two ends of a wire, and
//! [`transfer`] moves a stream through them, and a [`trial`] measures what a wire can do. Damaged frames are told from good ones by a CRC-32; a wrong byte is never handed on.
#![deny(unsafe_code)]

pub mod code;
pub mod cut;
mod fec;
pub mod frame;
pub mod receiver;
pub mod repeat;
pub mod sender;
pub mod setting;
pub mod stream;
pub mod transfer;
pub mod trial;
pub mod wire;

pub use code::Code;
pub use frame::{Frame, Kind};
pub use receiver::{By, Receiver};
pub use sender::Sender;
pub use setting::Setting;
