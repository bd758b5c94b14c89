//! Time-sensitive networking without an operating system: what a switch is to do with frames and when (IEEE 802.1Q clause
//! 8.6.8.4, enhancements for scheduled traffic), and which gate control lists make the streams of a network arrive in time.
//!
//! Everything goes from text to text: nothing here opens a file, looks at a clock or starts a thread.
#![forbid(unsafe_code)]
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]
#![deny(clippy::print_stdout, clippy::print_stderr, clippy::dbg_macro)]

pub mod bridge_entry;
pub mod config;
pub mod egress;
pub mod frame;
pub mod generate;
pub mod message;
pub mod model;
pub mod netconf;
pub mod network;
pub mod planning;
pub mod rules;
pub mod schedule;
pub mod shaper;
pub mod target;
pub mod validate;
pub mod wire;
pub mod yang;

// The README's example runs as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
