//! Stretches in which a spinning thread did not run: ticks, interrupts, other tasks, the hypervisor.

use crate::clock::Clock;

/// Of every stretch of this length a tenth is slept, so that starving tasks get their share and no fair
/// server has to take it.
const STRETCH_NS: u64 = 20_000_000;

/// A stretch in which the spinning thread did not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gap {
    /// When it began, in ns.
    pub at_ns: u64,
    /// How long it was, in ns.
    pub length_ns: u64,
}

/// Spins on the calling thread and finds the gaps.
#[derive(Debug)]
pub struct Gaps {
    clock: Clock,
    shortest_ns: u64,
    last_ns: u64,
    rest_at_ns: u64,
    watched_ns: u64,
}

impl Gaps {
    /// Looks for gaps of at least `shortest_ns`; two readings of the clock lie 10 to 50 ns apart.
    pub fn new(mut clock: Clock, shortest_ns: u64) -> Self {
        let now = clock.resync();
        Self { clock, shortest_ns, last_ns: now, rest_at_ns: now + STRETCH_NS * 9 / 10, watched_ns: 0 }
    }

    /// The next gap that begins before `end_ns`, or `None` when that time has come.
    pub fn next_before(&mut self, end_ns: u64) -> Option<Gap> {
        while self.last_ns < end_ns {
            if self.last_ns >= self.rest_at_ns {
                self.rest();
                continue;
            }
            let now = self.clock.now_ns();
            let length_ns = now.saturating_sub(self.last_ns);
            let at_ns = std::mem::replace(&mut self.last_ns, now);
            self.watched_ns += length_ns;
            if length_ns >= self.shortest_ns {
                return Some(Gap { at_ns, length_ns });
            }
        }
        None
    }

    fn rest(&mut self) {
        self.clock.id().sleep_until(self.last_ns + STRETCH_NS / 10);
        self.last_ns = self.clock.resync();
        self.rest_at_ns = self.last_ns + STRETCH_NS * 9 / 10;
    }

    /// How long the core was watched so far, in ns; resting does not count.
    pub fn watched_ns(&self) -> u64 {
        self.watched_ns
    }

    /// The time of the last reading, in ns.
    pub fn now_ns(&self) -> u64 {
        self.last_ns
    }
}
