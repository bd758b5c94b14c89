//! Times of day on a scripted clock that is set while it is waited for.

use super::*;

const MS: u64 = 1_000_000;
const S: u64 = 1_000 * MS;
const HOUR: u64 = 3_600 * S;

/// Time that passes only where it is waited for (and 10 ns with each reading), and a time of day that is set when the
/// monotonic clock comes to a moment of the script.
struct Script {
    monotonic_ns: u64,
    wall_ns: u64,
    /// When, and by how much; the first is next.
    steps: Vec<(u64, i64)>,
    longest_wait_ns: u64,
}

impl Script {
    /// Begins at 10:00:00.05 with a monotonic clock of 5 s.
    fn with(steps: &[(u64, i64)]) -> Self {
        let steps = steps.iter().map(|(after_ns, by_ns)| (5 * S + after_ns, *by_ns)).collect();
        Self { monotonic_ns: 5 * S, wall_ns: 10 * HOUR + 50 * MS, steps, longest_wait_ns: 0 }
    }

    fn pass_until(&mut self, until_ns: u64) {
        let passed_ns = until_ns.saturating_sub(self.monotonic_ns);
        self.monotonic_ns += passed_ns;
        self.wall_ns += passed_ns;
        while let Some((_, by_ns)) = self.steps.first().filter(|(at_ns, _)| *at_ns <= self.monotonic_ns) {
            self.wall_ns = self.wall_ns.checked_add_signed(*by_ns).unwrap();
            self.steps.remove(0);
        }
    }

    fn wait(&mut self, until_ns: u64) {
        self.longest_wait_ns = self.longest_wait_ns.max(until_ns.saturating_sub(self.monotonic_ns));
        self.pass_until(until_ns);
    }
}

impl Clocks for Script {
    fn monotonic_ns(&mut self) -> u64 {
        self.pass_until(self.monotonic_ns + 10);
        self.monotonic_ns
    }

    fn wall_ns(&mut self) -> u64 {
        self.pass_until(self.monotonic_ns + 10);
        self.wall_ns
    }

    fn nap_until(&mut self, monotonic_ns: u64) {
        self.wait(monotonic_ns);
    }

    fn wait_until(&mut self, monotonic_ns: u64) {
        // A wake-up takes 3 us.
        self.wait(monotonic_ns + 3_000);
    }

    fn describe(&self, _: &mut Settings) {}
}

fn every(interval_ns: u64, steps: &[(u64, i64)]) -> Day<Script> {
    let times = Times { clock: ClockId::Realtime, interval_ns, offset_ns: 0, hybrid: false };
    Day::new(times, Script::with(steps))
}

/// What came in so long on the monotonic clock: times that were kept, ones that were missed, the largest latency.
fn run(day: &mut Day<Script>, for_ns: u64) -> (u64, u64, u64) {
    let end_ns = day.clocks.monotonic_ns + for_ns;
    let (mut kept, mut missed, mut most_ns) = (0, 0, 0);
    while day.clocks.monotonic_ns < end_ns {
        let sample = day.next();
        if sample.now_ns < end_ns {
            assert!(sample.early_ns == 0);
            kept += u64::from(sample.latency_ns.is_some());
            missed += sample.missed;
            most_ns = most_ns.max(sample.latency_ns.unwrap_or(0));
        }
    }
    // A run can be ended as often as that.
    assert!(day.clocks.longest_wait_ns < S, "{}", day.clocks.longest_wait_ns);
    (kept, missed, most_ns)
}

#[test]
fn the_next_time_lies_ahead() {
    let noon = Times { clock: ClockId::Realtime, interval_ns: 24 * HOUR, offset_ns: 12 * HOUR, hybrid: true };
    assert_eq!(next_time(noon, 11 * HOUR), 12 * HOUR);
    assert_eq!(next_time(noon, 12 * HOUR), 36 * HOUR);
    assert_eq!(next_time(noon, 13 * HOUR), 36 * HOUR);
}

#[test]
fn a_clock_that_nobody_sets_is_kept() {
    let mut day = every(100 * MS, &[]);
    let (kept, missed, most_ns) = run(&mut day, 10 * S);
    assert_eq!((kept, missed, day.steps), (100, 0, 0));
    assert!((3_000..4_000).contains(&most_ns), "{most_ns}");
}

#[test]
fn a_clock_that_is_set_back_is_not_waited_for() {
    // While the last stretch is waited for, where one time is left out; and far from the next time.
    for (interval_ns, kept) in [(100 * MS, 98), (5 * S, 2)] {
        let mut day = every(interval_ns, &[(2 * S + 30 * MS, -(HOUR as i64)), (6 * S, -(HOUR as i64))]);
        let (came, missed, most_ns) = run(&mut day, 10 * S);
        assert_eq!((came, missed, day.steps), (kept, 0, 2));
        assert!(most_ns < 4_000, "{most_ns}");
    }
}

#[test]
fn times_that_a_clock_set_forward_skips_are_not_missed() {
    for after_ns in [2 * S + 30 * MS, 2 * S + 50 * MS + 20, 2 * S + 50 * MS + 3_040] {
        let mut day = every(100 * MS, &[(after_ns, 10 * S as i64)]);
        let (kept, missed, most_ns) = run(&mut day, 10 * S);
        assert_eq!((missed, day.steps), (0, 1), "set after {after_ns}");
        assert!((99..=100).contains(&kept) && most_ns < 4_000, "set after {after_ns}: {kept}, {most_ns}");
    }
}

#[test]
fn no_time_comes_twice_where_the_clock_is_set_back_by_less_than_a_step() {
    let mut day = every(100 * MS, &[(2 * S + 50 * MS + 4_000, -500_000)]);
    let (kept, missed, _) = run(&mut day, 10 * S);
    assert_eq!((kept, missed, day.steps), (100, 0, 0));
}

#[test]
fn what_a_stall_skips_is_missed() {
    let mut day = every(100 * MS, &[]);
    run(&mut day, S);
    day.clocks.pass_until(day.clocks.monotonic_ns + 350 * MS);
    let (_, missed, _) = run(&mut day, S);
    assert_eq!((missed, day.steps), (3, 0));
}
