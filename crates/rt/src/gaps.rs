//! Stretches in which a spinning thread did not run: ticks, interrupts, other tasks, the hypervisor.

use crate::clock::Clock;
use crate::wait::DUTY;

/// Of every stretch of this length a part is slept, a tenth unless asked for otherwise, so that starving tasks get their share
/// and no fair server has to take it.
const STRETCH_NS: u64 = 20_000_000;
/// With less it would watch for less than 100 us of every stretch, which is as good as nothing.
pub const LEAST_DUTY: f64 = 0.005;

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
    spell_ns: u64,
    rest_at_ns: u64,
    watched_ns: u64,
}

impl Gaps {
    /// Looks for gaps of at least `shortest_ns`; two readings of the clock lie 10 to 50 ns apart.
    pub fn new(clock: Clock, shortest_ns: u64) -> Self {
        Self::with_duty(clock, shortest_ns, DUTY)
    }

    /// The same, spinning for the share `duty` (0 to 1) of the time. With all of it the thread never rests.
    pub fn with_duty(mut clock: Clock, shortest_ns: u64, duty: f64) -> Self {
        let spell_ns = (STRETCH_NS as f64 * duty.clamp(0.0, 1.0)) as u64;
        let now = clock.resync();
        let mut gaps = Self { clock, shortest_ns, last_ns: now, spell_ns, rest_at_ns: 0, watched_ns: 0 };
        gaps.spin_from(now);
        gaps
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
        self.clock.sleep_until(self.last_ns + (STRETCH_NS - self.spell_ns));
        self.last_ns = self.clock.resync();
        self.spin_from(self.last_ns);
    }

    fn spin_from(&mut self, now_ns: u64) {
        self.rest_at_ns = if self.spell_ns < STRETCH_NS { now_ns + self.spell_ns } else { u64::MAX };
    }

    /// How long the core was watched so far, in ns; resting does not count.
    pub fn watched_ns(&self) -> u64 {
        self.watched_ns
    }

    /// The clock that is read.
    pub fn clock(&mut self) -> &mut Clock {
        &mut self.clock
    }

    /// The time of the last reading, in ns.
    pub fn now_ns(&self) -> u64 {
        self.last_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::script::Script;

    /// A watch on a clock whose readings lie 1 us apart.
    fn gaps() -> Gaps {
        Gaps::new(Clock::scripted(Script::new(0).reading_takes(1_000)), 2_000)
    }

    #[test]
    fn a_tenth_of_the_time_is_slept() {
        let mut gaps = gaps();
        assert_eq!(gaps.next_before(200_000_000), None);
        assert!((180_000_000..180_100_000).contains(&gaps.watched_ns()), "{}", gaps.watched_ns());
        assert!((200_000_000..200_100_000).contains(&gaps.now_ns()), "{}", gaps.now_ns());
    }

    #[test]
    fn a_duty_is_the_share_of_the_time_that_is_watched() {
        let watched_ms = |duty| {
            let clock = Clock::scripted(Script::new(0).reading_takes(1_000).sleeps_end_late_by(1_000));
            let mut gaps = Gaps::with_duty(clock, 2_000, duty);
            assert_eq!(gaps.next_before(200_000_000), None, "a rest is no gap");
            (gaps.watched_ns() + 500_000) / 1_000_000
        };
        assert_eq!([LEAST_DUTY, 0.25, 0.5, 1.0].map(watched_ms), [1, 50, 100, 200]);
    }

    #[test]
    fn a_gap_has_its_beginning_and_length() {
        let mut gaps = gaps();
        assert_eq!(gaps.next_before(10_000), None);
        gaps.clock.pass(999);
        assert_eq!(gaps.next_before(20_000), None, "one that is too short is none");
        let at_ns = gaps.now_ns();
        gaps.clock.pass(1_000);
        assert_eq!(gaps.next_before(at_ns + 10_000), Some(Gap { at_ns, length_ns: 2_000 }));
    }
}
