//! The parts of a latency.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Histogram;

/// The latencies of a thread that slept, each in three parts that sum up to it, as the kernel's events tell them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Split {
    /// From when the thread was due until an interrupt fired its timer.
    pub interrupt: Histogram,
    /// From there until the kernel had made the thread runnable.
    pub wakeup: Histogram,
    /// From there until the thread ran, which is its first reading of the time.
    pub run: Histogram,
    /// Samples that have no parts: the thread had not slept, or the events of its wake-up were lost.
    pub unsplit: u64,
}
