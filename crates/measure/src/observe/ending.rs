//! How a run ends: before its time, with what was measured until then.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use super::Observer;
use crate::{Error, TraceBreak};

impl Observer<'_> {
    /// The run ends here for this reason, with what was measured before.
    pub(crate) fn fail(&mut self, error: Error) {
        self.failure = Some(error);
        self.stop.store(true, Relaxed);
    }

    /// What came of a part. Where that failed and something was `measured_before`, which is worth keeping, the run ends and
    /// there is none.
    pub(crate) fn or_end<T>(&mut self, came: Result<T, Error>, measured_before: bool) -> Result<Option<T>, Error> {
        match came {
            Err(error) if measured_before => {
                self.fail(error);
                Ok(None)
            }
            came => came.map(Some),
        }
    }

    /// Why the run ended before its time, where something was measured before.
    pub fn take_failure(&mut self) -> Option<Error> {
        self.failure.take()
    }

    /// What requirements of this run are about did not happen.
    pub(crate) fn leave_unproven(&mut self, why: &str) {
        self.unproven = Some(why.into());
    }

    /// Why no requirement of this run is proven, where that is so.
    pub fn take_unproven(&mut self) -> Option<String> {
        self.unproven.take()
    }

    /// Has the timed thread that first sees a latency over the run's limit stop the kernel's trace, there and then.
    pub fn break_trace(&mut self, trace: Arc<TraceBreak>) {
        self.trace = Some(trace);
    }

    /// What stops the kernel's trace, if anything is to.
    pub(crate) fn trace_break(&self) -> Option<Arc<TraceBreak>> {
        self.trace.clone()
    }

    /// Whether the caller ended the run.
    pub fn stopped(&self) -> bool {
        self.stop.load(Relaxed)
    }
}
