//! When a run ends, and what in it is kept one by one.

/// When a run ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    /// After this time, in ns; `u64::MAX` is never.
    Duration(u64),
    /// After this many observations.
    Count(u64),
}

/// When a run ends, and what in it deserves attention.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// When it ends.
    pub length: Length,
    /// Latencies above this are kept one by one, in ns.
    pub outlier_ns: u64,
    /// The run ends at the first latency above this, in ns.
    pub stop_over_ns: Option<u64>,
}

impl Limits {
    /// A run of this length that keeps latencies above 10 µs as outliers.
    pub fn new(length: Length) -> Self {
        Self { length, outlier_ns: 10_000, stop_over_ns: None }
    }
}
