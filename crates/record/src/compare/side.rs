//! What is held against a requirement: latencies, and beside them the cycles that have none.

use serde::Serialize;

use super::missed;
use super::verdict::{Verdict, Wanted};
use crate::histogram::{Histogram, rank};
use crate::quantile_bounds::ranks;
use crate::run::{Run, Series};

/// The latencies of a series, and how many cycles have none because they were missed.
#[derive(Debug, Clone, Copy)]
pub struct Side<'a> {
    /// The latencies.
    pub latency: &'a Histogram,
    /// Missed cycles; `None` for tools that do not count them.
    pub missed: Option<u64>,
}

impl<'a> Side<'a> {
    /// A series of a run.
    pub fn of(run: &Run, series: &'a Series) -> Self {
        Self { latency: &series.latency, missed: missed(run, series) }
    }
}

/// Of which nobody counted the missed cycles.
impl<'a> From<&'a Histogram> for Side<'a> {
    fn from(latency: &'a Histogram) -> Self {
        Self { latency, missed: None }
    }
}

/// Cycles that were missed, which are in no percentile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Missed {
    /// How many were.
    pub missed: u64,
    /// Of so many, acted on or missed.
    pub cycles: u64,
    /// Whether they are more than the percentile leaves out: of all cycles it is then one of those missed.
    pub too_many: bool,
}

impl Missed {
    /// Those of all these together; `None` where nobody counted some.
    pub(super) fn of(sides: &[Side], q: f64) -> Option<Self> {
        let sum = |counts: &mut dyn Iterator<Item = u64>| counts.fold(0, u64::saturating_add);
        let each: Vec<u64> = sides.iter().map(|side| side.missed).collect::<Option<_>>()?;
        let missed = sum(&mut each.into_iter());
        let acted_on = sum(&mut sides.iter().map(|side| side.latency.count()));
        let cycles = acted_on.saturating_add(missed);
        Some(Self { missed, cycles, too_many: missed > 0 && rank(q, cycles) > acted_on })
    }

    /// Whether they are too many with a chance of one in forty to be wrong.
    fn surely_too_many(&self, q: f64) -> bool {
        self.too_many && ranks(q, self.cycles).0.is_some_and(|rank| rank > self.cycles - self.missed)
    }
}

/// What the samples say, where cycles were missed that have none.
pub(super) fn with_missed(
    q: f64,
    (before, after): (Option<Missed>, Option<Missed>),
    verdict: Verdict,
    wanted: Option<Wanted>,
) -> (Verdict, Option<Wanted>) {
    match after {
        Some(after) if after.too_many => {
            let anew = before.is_some_and(|before| !before.too_many);
            match (verdict, wanted) {
                _ if anew && after.surely_too_many(q) => (Verdict::Broken, None),
                (Verdict::Broken, _) | (_, Some(Wanted::Percentile)) => (verdict, wanted),
                _ => (Verdict::CannotTell, Some(Wanted::FewerMissed)),
            }
        }
        _ => (verdict, wanted),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Decision, RelativeRequirement};
    use super::*;

    fn of(count: u64) -> Histogram {
        let mut h = Histogram::default();
        (0..count).for_each(|i| h.add(10_000 + i * 1_000 / count, 1, 1));
        h
    }

    /// Of runs with so many samples, and so many missed.
    fn decide(text: &str, before: &[(u64, Option<u64>)], after: &[(u64, Option<u64>)]) -> Decision {
        let runs = |sides: &[(u64, Option<u64>)]| sides.iter().map(|(n, m)| (of(*n), *m)).collect::<Vec<_>>();
        let (before, after) = (runs(before), runs(after));
        let [before, after] = [&before, &after]
            .map(|all| all.iter().map(|(latency, missed)| Side { latency, missed: *missed }).collect());
        let (before, after): (Vec<Side>, Vec<Side>) = (before, after);
        text.parse::<RelativeRequirement>().unwrap().decide_runs("a", &before, &after)
    }

    #[test]
    fn a_run_that_missed_most_cycles_is_not_as_good_by_the_others() {
        let steady = [(10_000, Some(0))];
        let decision = decide("p99 <= 1.2x", &steady, &[(10_000, Some(90_000))]);
        assert_eq!((decision.verdict, decision.wanted), (Verdict::Broken, None));
        let missed = Missed { missed: 90_000, cycles: 100_000, too_many: true };
        assert_eq!(decision.missed, (Some(Missed { missed: 0, cycles: 10_000, too_many: false }), Some(missed)));
        // The share that the percentile leaves out may be missed.
        assert_eq!(decide("p99 <= 1.2x", &steady, &[(10_000, Some(101))]).verdict, Verdict::Met);
        // One more may be by chance.
        let near = decide("p99 <= 1.2x", &steady, &[(10_000, Some(102))]);
        assert_eq!((near.verdict, near.wanted), (Verdict::CannotTell, Some(Wanted::FewerMissed)));
    }

    #[test]
    fn what_both_missed_or_nobody_counted_before_is_not_told() {
        for before in [Some(90_000), None] {
            let decision = decide("p99 <= 1.2x", &[(10_000, before)], &[(10_000, Some(90_000))]);
            assert_eq!((decision.verdict, decision.wanted), (Verdict::CannotTell, Some(Wanted::FewerMissed)));
        }
        assert_eq!(decide("p99 <= 1.2x", &[(10_000, Some(90_000))], &[(10_000, Some(0))]).verdict, Verdict::Met);
        assert_eq!(decide("p99 <= 1.2x", &[(10_000, None)], &[(10_000, None)]).verdict, Verdict::Met);
        assert_eq!(
            decide("p99 <= 0.5x", &[(10_000, None)], &[(10_000, Some(90_000))]).verdict,
            Verdict::Broken,
            "worse by its samples alone"
        );
    }

    #[test]
    fn of_several_runs_all_missed_cycles_count() {
        let (steady, stalled) = ([(1_000, Some(0)); 4], [(1_000, Some(0)), (1_000, Some(900)), (1_000, Some(0))]);
        assert_eq!(decide("p99 <= 1.2x", &steady, &steady).verdict, Verdict::Met);
        let decision = decide("p99 <= 1.2x", &steady, &stalled);
        assert_eq!((decision.verdict, decision.missed.1.unwrap().cycles), (Verdict::Broken, 3_900));
        assert_eq!(decide("p50 <= 1.2x", &steady, &stalled).verdict, Verdict::Met);
    }
}
