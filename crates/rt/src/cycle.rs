//! Absolute periods that never drift.

use crate::clock::Clock;
use crate::phase::Phase;
use crate::wait::Wait;

/// What to do when a period has passed before the thread came back for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Overrun {
    /// Leave the passed deadlines out and count them as missed; the next one lies in the future.
    #[default]
    Skip,
    /// Act on every deadline, the passed ones at once and late.
    CatchUp,
}

/// One period's beginning, as the thread met it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tick {
    /// Number of the period since the first; skipped ones count.
    pub index: u64,
    /// When the thread should have been running, in ns.
    pub deadline_ns: u64,
    /// When it was, in ns.
    pub now_ns: u64,
    /// Periods that were skipped just before this one.
    pub missed: u64,
}

impl Tick {
    /// How late the thread was, in ns; 0 if it was early.
    pub fn latency_ns(&self) -> u64 {
        self.now_ns.saturating_sub(self.deadline_ns)
    }

    /// Whether the wait ended before the deadline, as those with coarse clocks do.
    pub fn early(&self) -> bool {
        self.now_ns < self.deadline_ns
    }

    /// By how much it did, in ns.
    pub fn early_ns(&self) -> u64 {
        self.deadline_ns.saturating_sub(self.now_ns)
    }
}

/// Deadlines at `phase + n * period` on a clock.
#[derive(Debug)]
pub struct Cycle<W> {
    clock: Clock,
    wait: W,
    period_ns: u64,
    next_ns: u64,
    index: u64,
    overrun: Overrun,
}

impl<W: Wait> Cycle<W> {
    /// The first deadline is one period from now; the phase is left to chance.
    pub fn new(clock: Clock, wait: W, period_ns: u64) -> Self {
        Self::with_phase(clock, wait, period_ns, Phase::Chance, Overrun::Skip)
    }

    /// The first deadline is the next with this phase that is at least one period from now.
    /// `Phase::Auto` must have been resolved by a [`phase::scan`](crate::phase::scan) before; here it is
    /// left to chance.
    pub fn with_phase(mut clock: Clock, wait: W, period_ns: u64, phase: Phase, overrun: Overrun) -> Self {
        let period_ns = period_ns.max(1);
        let earliest = clock.now_ns() + period_ns;
        let next_ns = match phase {
            Phase::Chance | Phase::Auto => earliest,
            Phase::Fixed(phase_ns) => {
                let behind = (earliest % period_ns + period_ns - phase_ns % period_ns) % period_ns;
                if behind == 0 { earliest } else { earliest + period_ns - behind }
            }
        };
        Self { clock, wait, period_ns, next_ns, index: 0, overrun }
    }

    /// Waits for the next deadline.
    #[allow(clippy::should_implement_trait)] // an iterator could end; a cycle does not
    #[inline]
    pub fn next(&mut self) -> Tick {
        let mut missed = 0;
        if self.overrun == Overrun::Skip {
            let now = self.clock.now_ns();
            // Being late by less than a period is latency; a deadline is missed once the next has come too.
            if now >= self.next_ns + self.period_ns {
                missed = (now - self.next_ns) / self.period_ns;
                self.next_ns += missed * self.period_ns;
                self.index += missed;
            }
        }
        let deadline_ns = self.next_ns;
        let now_ns = self.wait.until(&mut self.clock, deadline_ns);
        let tick = Tick { index: self.index, deadline_ns, now_ns, missed };
        self.next_ns += self.period_ns;
        self.index += 1;
        tick
    }

    /// Waits once more within the period, until `for_ns` after `tick` was reached: what was late before is not counted as
    /// late again.
    #[inline]
    pub fn wait_after(&mut self, tick: &Tick, for_ns: u64) -> Tick {
        let deadline_ns = tick.now_ns.saturating_add(for_ns);
        let now_ns = self.wait.until(&mut self.clock, deadline_ns);
        Tick { index: tick.index, deadline_ns, now_ns, missed: 0 }
    }

    /// Waits until `lead_ns` before the next deadline, and returns how far that is then, in ns: less where it is late. For what
    /// is to be ready at the deadline, as the processor's caches have forgotten it since the last.
    #[inline]
    pub fn wait_before(&mut self, lead_ns: u64) -> u64 {
        let now_ns = self.wait.until(&mut self.clock, self.next_ns.saturating_sub(lead_ns));
        self.next_ns.saturating_sub(now_ns)
    }

    /// Sleeps for `nap_ns` if the next deadline is more than three times as far, and tells the time then; `None`
    /// once it is nearer. For loops with long periods that must look at something else meanwhile.
    pub fn approach(&mut self, nap_ns: u64) -> Option<u64> {
        if self.period_ns <= nap_ns {
            return None;
        }
        let now = self.clock.now_ns();
        if self.next_ns.saturating_sub(now) <= nap_ns.saturating_mul(3) {
            return None;
        }
        self.clock.sleep_until(now + nap_ns);
        Some(self.clock.resync())
    }

    /// The next deadline, in ns, as long as it is not skipped.
    pub fn next_ns(&self) -> u64 {
        self.next_ns
    }

    /// The wait strategy.
    pub fn wait(&self) -> &W {
        &self.wait
    }

    /// The same deadlines, waited for by what `by` makes of the wait strategy.
    pub fn waiting_by<V: Wait>(self, by: impl FnOnce(W) -> V) -> Cycle<V> {
        let Self { clock, wait, period_ns, next_ns, index, overrun } = self;
        Cycle { clock, wait: by(wait), period_ns, next_ns, index, overrun }
    }

    /// Ends the cycle; the wait strategy keeps what it has learned.
    pub fn into_wait(self) -> W {
        self.wait
    }

    /// The clock that deadlines are kept on.
    pub fn clock(&mut self) -> &mut Clock {
        &mut self.clock
    }

    /// Deadlines modulo the period, in ns.
    pub fn phase_ns(&self) -> u64 {
        self.next_ns % self.period_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::script::Script;
    use crate::clock::{ClockId, Source};
    use crate::wait::Sleep;
    use proptest::prelude::*;

    /// Reaches each deadline at the lateness given for it, without waiting: deadlines lie in a past clock.
    struct Scripted(Vec<u64>, usize);

    impl Wait for Scripted {
        fn until(&mut self, _: &mut Clock, deadline_ns: u64) -> u64 {
            self.1 += 1;
            deadline_ns + self.0[self.1 - 1]
        }
    }

    #[test]
    fn deadlines_lie_on_the_grid_whatever_the_lateness() {
        let clock = Clock::with_source(ClockId::Monotonic, Source::ClockGettime);
        let lateness = vec![5, 0, 900_000, 999_999_999, 3];
        let mut cycle =
            Cycle::with_phase(clock, Scripted(lateness, 0), 1_000_000_000, Phase::Fixed(123_456_789), Overrun::Skip);
        for i in 0..5 {
            let tick = cycle.next();
            assert_eq!((tick.index, tick.deadline_ns % 1_000_000_000, tick.missed), (i, 123_456_789, 0));
        }
    }

    const MS: u64 = 1_000_000;

    /// A cycle of 1 ms on a clock that nothing but its sleeps moves; its first deadline is 2 ms.
    fn scripted(overrun: Overrun) -> Cycle<Sleep> {
        Cycle::with_phase(Clock::scripted(Script::new(MS)), Sleep, MS, Phase::Chance, overrun)
    }

    #[test]
    fn a_missed_deadline_is_one_whose_next_has_come_too() {
        // After the first deadline: how long the thread works, what it then missed, how late it acts.
        for (busy_ns, missed, latency_ns) in [
            (MS - 1, 0, 0),
            (MS, 0, 0),
            (2 * MS - 1, 0, MS - 1),
            (2 * MS, 1, 0),
            (3 * MS - 1, 1, MS - 1),
            (3 * MS, 2, 0),
            (10 * MS + 1, 9, 1),
        ] {
            let mut cycle = scripted(Overrun::Skip);
            assert_eq!(cycle.next(), Tick { index: 0, deadline_ns: 2 * MS, now_ns: 2 * MS, missed: 0 });
            cycle.clock().pass(busy_ns);
            let tick = cycle.next();
            assert_eq!((tick.missed, tick.latency_ns()), (missed, latency_ns), "busy for {busy_ns} ns");
            assert_eq!((tick.index, tick.deadline_ns), (1 + missed, (3 + missed) * MS), "busy for {busy_ns} ns");
            assert_eq!(cycle.next().index, 2 + missed);
        }
    }

    #[test]
    fn a_further_wait_begins_where_the_one_before_ended() {
        let clock = Clock::with_source(ClockId::Monotonic, Source::ClockGettime);
        let lateness = vec![40, 7, 0];
        let mut cycle =
            Cycle::with_phase(clock, Scripted(lateness, 0), 1_000_000_000, Phase::Fixed(0), Overrun::CatchUp);
        let first = cycle.next();
        let second = cycle.wait_after(&first, 1_000);
        assert_eq!((second.index, second.deadline_ns - first.deadline_ns, second.latency_ns()), (0, 1_040, 7));
        // The grid does not move with it.
        let next = cycle.next();
        assert_eq!((next.index, next.deadline_ns - first.deadline_ns), (1, 1_000_000_000));
    }

    #[test]
    fn a_wait_before_a_deadline_says_what_is_left() {
        let mut cycle = scripted(Overrun::Skip);
        assert_eq!((cycle.wait_before(10_000), cycle.clock().now_ns()), (10_000, 2 * MS - 10_000));
        assert_eq!(cycle.next(), Tick { index: 0, deadline_ns: 2 * MS, now_ns: 2 * MS, missed: 0 });
        // Late, or too late: what is missed is counted by the wait for the deadline alone.
        cycle.clock().pass(MS - 3_000);
        assert_eq!(cycle.wait_before(10_000), 3_000);
        cycle.clock().pass(2 * MS);
        assert_eq!(cycle.wait_before(10_000), 0);
        assert_eq!((cycle.next().missed, cycle.next().index), (1, 3));
    }

    #[test]
    fn passed_deadlines_are_caught_up_one_by_one() {
        let mut cycle = scripted(Overrun::CatchUp);
        cycle.next();
        cycle.clock().pass(5 * MS + 300);
        for (index, late_ns) in [(1, 4 * MS + 300), (2, 3 * MS + 300), (3, 2 * MS + 300), (4, MS + 300), (5, 300)] {
            let tick = cycle.next();
            assert_eq!((tick.index, tick.missed, tick.latency_ns()), (index, 0, late_ns));
        }
        assert_eq!(cycle.next(), Tick { index: 6, deadline_ns: 8 * MS, now_ns: 8 * MS, missed: 0 });
    }

    #[test]
    fn early_is_before_the_deadline_only() {
        let tick = |now_ns| Tick { index: 0, deadline_ns: 100, now_ns, missed: 0 };
        assert!(tick(99).early() && !tick(100).early() && !tick(101).early());
        assert_eq!((tick(99).latency_ns(), tick(101).latency_ns()), (0, 1));
        assert_eq!((tick(99).early_ns(), tick(101).early_ns()), (1, 0));
    }

    #[test]
    fn a_far_deadline_is_approached_in_naps() {
        let mut cycle =
            Cycle::with_phase(Clock::scripted(Script::new(0)), Sleep, 20 * MS, Phase::Chance, Overrun::Skip);
        // The first deadline is 20 ms; three naps of 5 ms before it, none is taken any more.
        assert_eq!(cycle.approach(5 * MS), Some(5 * MS));
        assert_eq!(cycle.approach(5 * MS), None);
        assert_eq!((cycle.next().index, cycle.clock().now_ns()), (0, 20 * MS));
        // Short periods are left to the wait.
        assert_eq!(cycle.approach(20 * MS), None);
        assert_eq!(cycle.approach(19 * MS), None);
        assert_eq!(cycle.approach(6 * MS), Some(26 * MS));
    }

    #[test]
    fn a_fixed_phase_begins_a_whole_period_from_now() {
        for (now_ns, phase_ns, first_ns) in
            [(0, 0, MS), (1, 0, 2 * MS), (0, 7, MS + 7), (7, 7, MS + 7), (8, 7, 2 * MS + 7)]
        {
            let clock = Clock::scripted(Script::new(now_ns));
            let mut cycle = Cycle::with_phase(clock, Sleep, MS, Phase::Fixed(phase_ns), Overrun::Skip);
            assert_eq!(cycle.next().deadline_ns, first_ns, "now {now_ns}, phase {phase_ns}");
        }
    }

    proptest! {
        #[test]
        fn the_phase_is_kept(period_ns in 1u64..10_000_000_000, phase_ns in 0u64..10_000_000_000) {
            let clock = Clock::with_source(ClockId::Monotonic, Source::ClockGettime);
            let before = ClockId::Monotonic.now_ns();
            let cycle = Cycle::with_phase(clock, crate::wait::Sleep, period_ns, Phase::Fixed(phase_ns), Overrun::Skip);
            prop_assert_eq!(cycle.phase_ns(), phase_ns % period_ns);
            prop_assert!(cycle.next_ns >= before + period_ns);
        }
    }
}
