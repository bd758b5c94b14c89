//! Time as a test makes it pass: each reading takes a little, each sleep ends as late as the script says.

use super::{Clock, ClockId, Source};

/// A clock that nothing but its reader moves.
#[derive(Debug, Clone)]
pub(crate) struct Script {
    now_ns: u64,
    reading_ns: u64,
    late_ns: u64,
    leaving_ns: u64,
    ran_ns: u64,
}

impl Script {
    /// Begins at this time.
    pub fn new(now_ns: u64) -> Self {
        Self { now_ns, reading_ns: 0, late_ns: 0, leaving_ns: 0, ran_ns: 0 }
    }

    /// A reading takes so long.
    pub fn reading_takes(self, reading_ns: u64) -> Self {
        Self { reading_ns, ..self }
    }

    /// Every sleep ends so much after its deadline.
    pub fn sleeps_end_late_by(self, late_ns: u64) -> Self {
        Self { late_ns, ..self }
    }

    /// So much of every sleep passes before the thread is put aside.
    pub fn leaving_takes(self, leaving_ns: u64) -> Self {
        Self { leaving_ns, ..self }
    }

    pub(super) fn read_ns(&mut self) -> u64 {
        self.pass(self.reading_ns);
        self.now_ns
    }

    pub(super) fn ran_ns(&self) -> u64 {
        self.ran_ns
    }

    pub(super) fn sleep_until(&mut self, deadline_ns: u64) {
        let until_ns = self.now_ns.max(deadline_ns + self.late_ns);
        self.ran_ns += self.leaving_ns.min(until_ns - self.now_ns);
        self.now_ns = until_ns;
    }

    fn pass(&mut self, ns: u64) {
        self.now_ns += ns;
        self.ran_ns += ns;
    }
}

impl Clock {
    /// A clock that follows a script.
    pub(crate) fn scripted(script: Script) -> Self {
        let mut clock = Self::with_source(ClockId::Monotonic, Source::ClockGettime);
        clock.script = Some(script);
        clock
    }

    /// Something other than reading and sleeping takes so long.
    pub(crate) fn pass(&mut self, ns: u64) {
        self.script.as_mut().expect("the clock is scripted").pass(ns);
    }
}
