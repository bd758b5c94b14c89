//! What in a program breaks its own timing: its events, as the kernel records them, held against rules.
//!
//! A thread's events count from some time after it was first observed, or after it changed its policy. If it ends
//! meanwhile, what it did after its last wait does not count either: a loop is what lies between waits.

mod bpf;
mod calls;
mod document;
mod durations;
mod error;
mod event;
mod fault_cost;
mod inspected;
mod perf;
mod program;
mod recorder;
mod rules;
mod session;
pub mod symbols;
mod tally;
mod thread;
mod translate;

use std::time::Duration;

pub use error::Error;
pub use session::inspect;

/// Which threads are inspected.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Select {
    /// Those with a real-time policy; all where there is none.
    #[default]
    RealTime,
    /// All.
    All,
    /// Those with one of these names or numbers.
    Named(Vec<String>),
}

/// How a program is inspected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// For how long.
    pub duration: Duration,
    /// So much of a thread's beginning does not count.
    pub after: Duration,
    /// Which threads.
    pub select: Select,
}
