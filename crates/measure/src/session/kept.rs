//! What a timed thread keeps of what it sees.

use ontick_rt::recorder::Writer;

use crate::tap::{Observed, Tap};

/// The recorder, and those who get every sample.
pub(super) struct Kept {
    writer: Writer,
    taps: Vec<Tap>,
    /// Of the next sample.
    cycle: u64,
}

impl Kept {
    pub fn new(writer: Writer, taps: Vec<Tap>) -> Self {
        Self { writer, taps, cycle: 0 }
    }

    /// Records that at `now_ns` the thread was `latency_ns` late for what was due at `due_ns`.
    #[inline]
    pub fn record(&mut self, now_ns: u64, due_ns: u64, latency_ns: u64) {
        self.writer.record(now_ns, latency_ns);
        let observed = Observed { cycle: self.cycle, due_ns, latency_ns };
        self.taps.iter_mut().for_each(|tap| tap.push(observed));
        self.cycle += 1;
    }

    /// Counts periods that were skipped.
    #[inline]
    pub fn missed(&mut self, periods: u64) {
        self.writer.missed(periods);
        self.cycle += periods;
    }

    /// Counts a wait that ended before its time.
    #[inline]
    pub fn early(&mut self) {
        self.writer.early();
    }
}
