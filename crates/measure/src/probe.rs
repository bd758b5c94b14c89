//! What a measurement does on its timed thread, again and again.

use ontick_record::run::Settings;

/// One observation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// When it was made, in ns on the monotonic clock or the probe's own.
    pub now_ns: u64,
    /// How late the thread was, in ns; `None` when there was nothing to record this time.
    pub latency_ns: Option<u64>,
    /// Periods that were skipped before it.
    pub missed: u64,
    /// The wait ended before its time.
    pub early: bool,
}

/// Makes one observation after the other. Lives on the timed thread: `next` must not allocate, lock or make
/// system calls beyond the one it measures or waits with.
pub trait Probe {
    /// Waits for the next observation. Returns at least every second or so that a run can be ended.
    fn next(&mut self) -> Sample;

    /// Writes down at the end what only the probe knows (phase, margin, clock).
    fn describe(&mut self, settings: &mut Settings);
}
