//! What a measurement does on its timed thread, again and again.

use ontick_record::run::Settings;
use ontick_rt::clock::Clock;

use crate::Error;
use crate::clock_readings::Timing;

/// One observation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// When it was made, in ns on the monotonic clock, or on the probe's own where it may not practise.
    pub now_ns: u64,
    /// How late the thread was, in ns; `None` when there was nothing to record this time.
    pub latency_ns: Option<u64>,
    /// Periods that were skipped before it.
    pub missed: u64,
    /// By how much the wait ended before its time, in ns.
    pub early_ns: u64,
    /// Nothing was observed yet: the thread rested on the way to a deadline that is far.
    pub napped: bool,
}

impl Sample {
    /// A rest on the way to a deadline, over at `now_ns`.
    pub(crate) fn nap(now_ns: u64) -> Self {
        Self { now_ns, latency_ns: None, missed: 0, early_ns: 0, napped: true }
    }

    /// When it was due, in ns on the clock of `now_ns`.
    pub(crate) fn due_ns(&self) -> u64 {
        self.now_ns.saturating_sub(self.latency_ns.unwrap_or(0)) + self.early_ns
    }

    /// How many of the missed periods, which lie evenly between `last_due_ns` and `due_ns`, were due before
    /// `end_ns`.
    pub(crate) fn missed_before(&self, end_ns: u64, due_ns: u64, last_due_ns: u64) -> u64 {
        let period_ns = due_ns.saturating_sub(last_due_ns) / (self.missed + 1);
        (end_ns.saturating_sub(last_due_ns).saturating_sub(1) / period_ns.max(1)).min(self.missed)
    }
}

/// Makes one observation after the other. Lives on the timed thread: `next` must not allocate, lock or make
/// system calls beyond the one it measures or waits with.
pub trait Probe {
    /// Waits for the next observation. Returns at least every second or so that a run can be ended.
    fn next(&mut self) -> Sample;

    /// The run begins, of several threads at once: a probe that counts times from its own beginning counts them from now.
    fn begin(&mut self) {}

    /// The run is over at this time, in ns on the clock of `Sample::now_ns`: told with its first observation, of runs that last
    /// for a time.
    fn will_end_at(&mut self, _end_ns: u64) {}

    /// Whether the first observations may be practice, which nobody records: those of a warm-up, and what was due before
    /// the run began. Not where each is somebody's event.
    fn may_practise(&self) -> bool {
        true
    }

    /// The last sample was recorded: it was neither practice nor past the end. For probes that keep more of a
    /// sample than its latency.
    fn recorded(&mut self) {}

    /// What was due before `end_ns` and missed, of which no sample told: asked once at the end of a run that was not over by
    /// its count. May wait for what is still on its way.
    fn left_out_before(&mut self, _end_ns: u64) -> u64 {
        0
    }

    /// Why nothing more can be observed: a line is gone, say. Asked after a `Sample::nap`; it ends the run.
    fn failure(&mut self) -> Option<Error> {
        None
    }

    /// The clock that latencies are read from, where it is the program's own: what its readings are worth is measured before the
    /// run begins. Without one nothing is stated of the uncertainty.
    fn clock(&mut self) -> Option<&mut Clock> {
        None
    }

    /// How latencies come about of its readings; asked at the end.
    fn timing(&self) -> Timing {
        Timing::Deadline
    }

    /// Writes down at the end what only the probe knows (phase, margin, clock).
    fn describe(&mut self, settings: &mut Settings);

    /// Whether it can be described before it begins, too, for the journal of a run that may be killed. Not where that ends
    /// something.
    fn is_described_first(&self) -> bool {
        false
    }
}
