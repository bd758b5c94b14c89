//! Sleep to a margin before the deadline, then spin.

use std::sync::Arc;

use super::demand::{Demand, Nap, Owed};
use super::spin::spin;
use super::{DUTY, Margin, Wait};
use crate::clock::Clock;

/// The margin covers this share of the wake latencies, whatever that costs within the duty.
const QUANTILE: f64 = 0.9995;
/// It covers this share as well, as long as that costs no more than [`RARER_DUTY`]: late wakes come in bursts, and a
/// margin that follows them is too short for the first of each.
const RARER: f64 = 0.9999;
/// Share of the duty that may be spun to cover the rarer wakes, too: just under half of a period with [`DUTY`].
const RARER_DUTY: f64 = 0.5;
/// No margin below this: the clock reads and the way into sleep take that long.
const SHORTEST_NS: u64 = 10_000;
/// No margin above this, however long the period: a longer stretch of spinning makes other tasks starve and
/// keeps the watchdog from seeing the thread rest.
const LONGEST_NS: u64 = 100_000_000;
/// A sleep of this length leaves the CPU on any machine.
const LONG_NS: u64 = 200_000;
/// A loop whose work leaves no time to sleep before its deadlines rests anyway, and is late for it, when it owes this much.
const MOST_OWED_NS: i64 = 1_000_000;

/// Precise like spinning, without occupying the core: the sleep leaves it to others until a margin before
/// the deadline, and the margin follows the wake latencies that this thread sees. Spinning never takes
/// more than the duty's share of a period.
#[derive(Debug, Clone)]
pub struct Hybrid {
    margin: Margin,
    fixed: bool,
    /// Slept in every period in any case, also where the work of the period leaves less than the margin.
    rest_ns: u64,
    owed: Owed,
    /// Where periods are too short to rest in each.
    nap: Nap,
    spun_ns: u64,
}

impl Hybrid {
    /// For deadlines `period_ns` apart, spinning at most [`DUTY`] of the time.
    pub fn new(period_ns: u64) -> Self {
        Self::with_duty(period_ns, DUTY)
    }

    /// For deadlines `period_ns` apart, spinning at most the share `duty` (0 to 1) of the time.
    pub fn with_duty(period_ns: u64, duty: f64) -> Self {
        let longest_ns = (period_ns as f64 * duty.clamp(0.0, 1.0)) as u64;
        let max_ns = longest_ns.min(LONGEST_NS);
        let rarer_up_to_ns = (max_ns as f64 * RARER_DUTY) as u64;
        Self {
            margin: Margin::new(QUANTILE, SHORTEST_NS, max_ns).also_covering(RARER, rarer_up_to_ns),
            fixed: false,
            rest_ns: period_ns.saturating_sub(longest_ns),
            owed: Owed::share(1.0 - duty.clamp(0.0, 1.0)),
            nap: Nap::shortest(),
            spun_ns: 0,
        }
    }

    /// With a margin that does not learn, in ns.
    pub fn with_margin(margin_ns: u64) -> Self {
        Self {
            margin: Margin::new(QUANTILE, margin_ns, margin_ns),
            fixed: true,
            rest_ns: 0,
            owed: Owed::share(0.0),
            nap: Nap::shortest(),
            spun_ns: 0,
        }
    }

    /// Rests all the same for what `duty` (0 to 1) leaves of the time, where no sleep fits before the deadlines.
    pub fn resting(mut self, duty: f64) -> Self {
        self.owed = Owed::share(1.0 - duty.clamp(0.0, 1.0));
        self
    }

    /// Where periods are too short to rest in each, rests when somebody wants the CPU instead of by the clock.
    pub fn resting_on(mut self, demand: Arc<dyn Demand>) -> Self {
        self.owed = self.owed.to(demand);
        self
    }

    /// Whether there is time to sleep in each period.
    pub fn may_sleep(&self) -> bool {
        self.rest_ns >= SHORTEST_NS
    }

    /// Until when to sleep, if at all: to the margin, or longer so that the period has its rest. Where the
    /// rest would reach past the deadline, the margin alone keeps spinning within the duty.
    fn wake_ns(&self, awake_ns: u64, deadline_ns: u64) -> Option<u64> {
        let (margin_at, rested_at) = (deadline_ns.saturating_sub(self.margin.ns()), awake_ns + self.rest_ns);
        let wake_ns = if rested_at < deadline_ns { margin_at.max(rested_at) } else { margin_at };
        (wake_ns > awake_ns && wake_ns < deadline_ns).then_some(wake_ns)
    }

    /// Like [`until`](Wait::until), for a stretch within a period whose rest lies elsewhere: sleeps to the margin
    /// alone, if that is far enough.
    pub fn within(&mut self, clock: &mut Clock, deadline_ns: u64) -> u64 {
        let awake_ns = clock.now_ns();
        let wake_ns = self.wake_within_ns(awake_ns, deadline_ns);
        self.sleep_and_spin(clock, awake_ns, wake_ns, deadline_ns)
    }

    fn wake_within_ns(&self, awake_ns: u64, deadline_ns: u64) -> Option<u64> {
        Some(deadline_ns.saturating_sub(self.margin.ns())).filter(|wake_ns| *wake_ns > awake_ns)
    }

    /// The same in a row of periods. Where the rest of one is shorter than any sleep, resting in each would make each
    /// late: a sleep then counts for as much time as it took the rest of. Time counts, not periods, so that a loop which
    /// cannot keep up rests, too.
    fn next_wake_ns(&mut self, awake_ns: u64, deadline_ns: u64) -> Option<u64> {
        let owed_ns = self.owed.reckon(awake_ns);
        let wake_ns = self.wake_ns(awake_ns, deadline_ns);
        let shortest_ns = self.rest_ns.max(self.nap.ns());
        let is_cramped = !self.may_sleep() && deadline_ns.saturating_sub(self.margin.ns()) <= awake_ns + shortest_ns;
        match wake_ns {
            Some(_) if is_cramped => (owed_ns > 0).then_some(awake_ns + self.nap.ns()),
            None if owed_ns > MOST_OWED_NS => Some(awake_ns + MOST_OWED_NS as u64),
            wake_ns => wake_ns,
        }
    }

    /// Sleeps, and returns the time then and how long others had the CPU, in ns. Where each period has room for a sleep, and
    /// in a long one, that is all of it, without the system calls that it takes to know.
    fn rest(&self, clock: &mut Clock, began_ns: u64, wake_ns: u64) -> (u64, u64) {
        if !self.may_sleep() && wake_ns.saturating_sub(began_ns) < LONG_NS {
            return clock.rest_until(wake_ns);
        }
        clock.sleep_until(wake_ns);
        let awake_ns = clock.resync();
        (awake_ns, awake_ns.saturating_sub(began_ns))
    }

    /// Others had the CPU for `had_ns` of a sleep that was to take `slept_ns`.
    fn rested(&mut self, slept_ns: u64, had_ns: u64) {
        self.owed.rested(had_ns);
        self.nap.saw(slept_ns, had_ns);
    }

    fn sleep_and_spin(&mut self, clock: &mut Clock, began_ns: u64, wake_ns: Option<u64>, deadline_ns: u64) -> u64 {
        let mut awake_ns = began_ns;
        if let Some(wake_ns) = wake_ns {
            let had_ns;
            (awake_ns, had_ns) = self.rest(clock, began_ns, wake_ns);
            self.rested(wake_ns.saturating_sub(began_ns), had_ns);
            if !self.fixed {
                self.margin.saw(awake_ns.saturating_sub(wake_ns));
            }
        }
        let now = spin(clock, deadline_ns);
        self.spun_ns += now.saturating_sub(awake_ns);
        now
    }
}

impl Wait for Hybrid {
    fn until(&mut self, clock: &mut Clock, deadline_ns: u64) -> u64 {
        let awake_ns = clock.now_ns();
        let wake_ns = self.next_wake_ns(awake_ns, deadline_ns);
        self.sleep_and_spin(clock, awake_ns, wake_ns, deadline_ns)
    }

    fn margin_ns(&self) -> Option<u64> {
        Some(self.margin.ns())
    }

    fn spun_ns(&self) -> Option<u64> {
        Some(self.spun_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::ClockId;
    use crate::clock::script::Script;

    #[test]
    fn what_is_left_after_a_late_start_is_not_all_spun() {
        let wait = Hybrid::with_duty(1_000_000, 0.01);
        assert_eq!(wait.wake_ns(0, 1_000_000), Some(990_000));
        // 50 us late: the rest of 990 us no longer fits, yet only the margin is spun.
        assert_eq!(wait.wake_ns(50_000, 1_000_000), Some(990_000));
        assert_eq!(wait.wake_ns(995_000, 1_000_000), None);
        // The work left half a period: rest first.
        assert_eq!(Hybrid::with_duty(1_000_000, 0.9).wake_ns(500_000, 1_000_000), Some(600_000));
    }

    #[test]
    fn a_stretch_within_the_period_has_no_rest_of_its_own() {
        let wait = Hybrid { margin: Margin::new(QUANTILE, 30_000, 30_000), ..Hybrid::with_duty(1_000_000, 0.9) };
        // A rest of 100 us would leave 1 us of 101 to wake up in.
        assert_eq!(wait.wake_ns(0, 101_000), Some(100_000));
        assert_eq!(wait.wake_within_ns(0, 101_000), Some(71_000));
        assert_eq!(wait.wake_within_ns(0, 30_000), None);
        // A rest that would end with the period itself is left out for the margin alone.
        assert_eq!(wait.wake_ns(899_999, 1_000_000), Some(999_999));
        assert_eq!(wait.wake_ns(900_000, 1_000_000), Some(970_000));
    }

    #[test]
    fn short_periods_share_a_rest() {
        // 1 us of 10 is for others, and a sleep has 5.
        let (mut wait, mut slept) = (Hybrid::with_duty(10_000, 0.9), 0);
        for period in 1..=50 {
            let begun_ns = 10_000 * period;
            if let Some(wake_ns) = wait.next_wake_ns(begun_ns, begun_ns + 10_000) {
                assert_eq!(wake_ns, begun_ns + wait.nap.ns());
                wait.rested(10_000, 5_000);
                slept += 1;
            }
        }
        assert_eq!(slept, 10);
        // A period that has room for a sleep has its own.
        let mut long = Hybrid::with_duty(100_000, 0.9);
        for period in 1..=70 {
            assert!(long.next_wake_ns(100_000 * period, 100_000 * (period + 1)).is_some());
            long.rested(10_000, 7_000);
        }
    }

    /// A loop whose every turn takes `turn_ns`, at deadlines `period_ns` apart, on a paper clock: the share of the time that
    /// it slept, and the longest time without a sleep. Past deadlines are skipped or caught up with.
    fn slept(mut wait: Hybrid, period_ns: u64, turn_ns: u64, skip: bool) -> (f64, u64) {
        const ALL_NS: u64 = 1_000_000_000;
        const WAKE_NS: u64 = 50_000;
        let (mut now_ns, mut deadline_ns, mut slept_ns) = (0u64, period_ns, 0);
        let (mut awake_since_ns, mut longest_ns) = (0, 0);
        while now_ns < ALL_NS {
            if let Some(wake_ns) = wait.next_wake_ns(now_ns, deadline_ns) {
                longest_ns = longest_ns.max(now_ns - awake_since_ns);
                let until_ns = wake_ns + WAKE_NS;
                slept_ns += until_ns - now_ns;
                wait.rested(wake_ns - now_ns, until_ns - now_ns);
                (now_ns, awake_since_ns) = (until_ns, until_ns);
            }
            now_ns = now_ns.max(deadline_ns) + turn_ns;
            let missed = if skip { now_ns.saturating_sub(deadline_ns) / period_ns } else { 1 };
            deadline_ns += missed.max(1) * period_ns;
        }
        (slept_ns as f64 / ALL_NS as f64, longest_ns.max(now_ns - awake_since_ns))
    }

    /// At 1 us periods a turn is late more often than not; others have their share all the same.
    #[test]
    fn a_loop_that_cannot_keep_up_rests_all_the_same() {
        for (period_ns, turn_ns) in
            [(1_000, 300), (1_000, 950), (1_000, 1_300), (1_000, 5_000), (20_000, 25_000), (1_000_000, 1_200_000)]
        {
            for skip in [true, false] {
                let spinning = Hybrid::with_margin(period_ns * 9 / 10).resting(0.9);
                for wait in [Hybrid::new(period_ns), spinning] {
                    let (share, longest_ns) = slept(wait, period_ns, turn_ns, skip);
                    assert!(share > 0.095, "period {period_ns}, turn {turn_ns}, skip {skip}: rests {share}");
                    assert!(longest_ns < 50_000_000, "period {period_ns}, turn {turn_ns}: none for {longest_ns} ns");
                }
            }
        }
        // Where all the time may be spun, nothing is owed.
        assert_eq!(slept(Hybrid::with_duty(1_000, 1.0), 1_000, 1_300, true).0, 0.0);
    }

    /// What setting a timer and putting the thread aside take is not counted as rest, and a sleep that is over by then is
    /// none.
    #[test]
    fn others_have_their_share_however_long_it_takes_to_leave_the_cpu() {
        let periods = [5_000, 10_000, 20_000, 25_000, 50_000, 90_000];
        let ways = [0, 5_000, 15_000, 40_000];
        for (period_ns, leaving_ns) in periods.into_iter().flat_map(|period| ways.map(|way| (period, way))) {
            let script = Script::new(1_000).reading_takes(20).sleeps_end_late_by(2_000).leaving_takes(leaving_ns);
            let mut clock = Clock::scripted(script);
            let mut wait = Hybrid::new(period_ns);
            for period in 1..=1_000_000_000 / period_ns {
                wait.until(&mut clock, period_ns * period);
            }
            let had = 1.0 - clock.thread_ran_ns() as f64 / clock.now_ns() as f64;
            assert!(had > 0.095, "period {period_ns}, leaving takes {leaving_ns} ns: others have {had}");
            // Where there is no more room, no more.
            assert!(had < 0.12 || period_ns > 10_000, "period {period_ns}, leaving takes {leaving_ns}: {had}");
        }
    }

    #[test]
    fn being_stopped_by_others_is_not_paid_for_with_rest() {
        let mut wait = Hybrid::new(1_000_000);
        assert!(wait.next_wake_ns(0, 1_000_000).is_some());
        // A second in which the thread did not run, and a deadline that is too close to sleep before.
        assert_eq!(wait.next_wake_ns(1_000_000_000, 1_000_000_500), None);
    }

    #[test]
    fn a_long_period_is_not_spun_for_seconds() {
        let hour_ns = 3_600_000_000_000;
        assert_eq!(Hybrid::new(hour_ns).wake_ns(0, hour_ns), Some(hour_ns - LONGEST_NS));
    }

    /// How long a program really spun depends on who else wanted the CPU meanwhile; what it plans does not.
    #[test]
    fn spinning_is_planned_within_the_duty_however_late_wakes_are() {
        let period_ns = 1_000_000;
        for duty in [0.1, 0.5, 0.9] {
            let longest_ns = (period_ns as f64 * duty) as u64;
            for late_ns in [0, 20_000, 80_000, 400_000, 850_000, 5_000_000] {
                let mut wait = Hybrid::with_duty(period_ns, duty);
                (0..5_000).for_each(|_| wait.margin.saw(late_ns));
                let wake_ns = wait.wake_ns(0, period_ns).expect("a whole period has time to sleep in");
                assert!(period_ns - wake_ns <= longest_ns, "duty {duty}, late {late_ns}: sleeps until {wake_ns}");
            }
        }
    }

    /// The thread wakes 40 us late each time: the margin falls from the longest allowed to what that needs, and no
    /// deadline is missed meanwhile.
    #[test]
    fn the_wait_learns_its_margin_from_its_own_wake_ups() {
        let mut clock = Clock::scripted(Script::new(1_000).reading_takes(10).sleeps_end_late_by(40_000));
        let mut wait = Hybrid::with_duty(1_000_000, 0.9);
        assert_eq!(wait.margin_ns(), Some(900_000));
        for period in 1..=200 {
            let deadline_ns = 1_000_000 * period;
            let now_ns = wait.until(&mut clock, deadline_ns);
            assert!((deadline_ns..deadline_ns + 100).contains(&now_ns), "{now_ns}");
        }
        // The bucket of 40 us ends at 40.96 us; a quarter on top.
        assert_eq!(wait.margin_ns(), Some(51_200));
        let (spun_ns, before) = (wait.spun_ns().unwrap(), clock.now_ns());
        wait.until(&mut clock, 201_000_000);
        assert!(clock.now_ns() > before);
        // From 11.2 us before the deadline, and what the readings take.
        assert!(
            (11_000..11_400).contains(&(wait.spun_ns().unwrap() - spun_ns)),
            "{}",
            wait.spun_ns().unwrap() - spun_ns
        );
    }

    #[test]
    fn a_fixed_margin_does_not_learn() {
        let mut clock = Clock::scripted(Script::new(1_000).reading_takes(10).sleeps_end_late_by(5_000));
        let mut wait = Hybrid::with_margin(100_000);
        (1..=200).for_each(|period| {
            wait.until(&mut clock, 1_000_000 * period);
        });
        assert_eq!(wait.margin_ns(), Some(100_000));
        // 95 us of each period.
        assert!((200 * 94_900..200 * 95_100).contains(&wait.spun_ns().unwrap()), "{:?}", wait.spun_ns());
    }

    #[test]
    fn what_was_spun_is_reported() {
        let mut clock = Clock::new(ClockId::Monotonic);
        let mut wait = Hybrid::with_margin(300_000);
        for _ in 0..3 {
            let deadline_ns = clock.now_ns() + 100_000;
            let before_ns = wait.spun_ns().unwrap();
            assert!(wait.until(&mut clock, deadline_ns) >= deadline_ns);
            assert!(wait.spun_ns().unwrap() > before_ns, "too short to sleep");
        }
    }
}
