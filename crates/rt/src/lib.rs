//! Run code on time.
//!
//! Set a thread up ([`thread::Setup`]), wait for absolute deadlines ([`Cycle`] with a
//! [`wait::Hybrid`], [`wait::Sleep`] or [`wait::Spin`]), and record what happened without disturbing it
//! ([`recorder`]). All times are nanoseconds.
//!
//! ```
//! use ontick_rt::{Cycle, clock::{Clock, ClockId}, recorder, wait::Hybrid};
//!
//! let mut cycle = Cycle::new(Clock::new(ClockId::Monotonic), Hybrid::new(1_000_000), 1_000_000);
//! let (mut writer, reader) = recorder::channel(100_000);
//! for _ in 0..5 {
//!     let tick = cycle.next();
//!     writer.record(tick.now_ns, tick.latency_ns());
//!     // … the work of this period …
//! }
//! assert_eq!(reader.snapshot().count(), 5);
//! ```
#![deny(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr, clippy::dbg_macro)]

pub mod buckets;
pub mod clock;
pub mod cpus;
pub mod cycle;
pub mod ewma;
pub mod gaps;
pub mod kernel_text;
mod online;
pub mod phase;
pub mod recorder;
mod squares;
mod sys;
pub mod thread;
pub mod timed_section;
pub mod usage;
pub mod wait;
pub mod watchdog;

pub use cycle::{Cycle, Overrun, Tick};
pub use phase::Phase;
pub use rtrb;

/// The example of the crate's page.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
