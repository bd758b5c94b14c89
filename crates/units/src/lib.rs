//! Times, rates, sizes, counts and sets of CPUs as people and the kernel write them: parse and print. Inside, a time is an integer
//! number of nanoseconds, a rate of a link one of bits per second.
#![forbid(unsafe_code)]
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]
#![deny(clippy::print_stdout, clippy::print_stderr, clippy::dbg_macro)]

mod count;
mod cpulist;
mod error;
mod rate;
mod size;
mod time;

pub use count::{count, counted};
pub use cpulist::CpuList;
pub use error::UnitError;
pub use rate::{FASTEST_LINK, parse_bit_rate, parse_frequency, show_bit_rate};
pub use size::mebibytes;
pub use time::{exact, parse_duration, parse_interval, parse_time, show};

// The README's example runs as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
