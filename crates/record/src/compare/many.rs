//! Whether several runs are no worse than several others, where what changes from one run to the next counts.

use super::rank_sum::{fewest, ratio_bounds};
use super::relative::{Decision, RelativeRequirement, smallest};
use super::side::{Missed, Side, with_missed};
use super::verdict::{Verdict, Wanted};
use crate::histogram::Histogram;
use crate::quantile_bounds::{self, Bounds};

/// Nobody repeats a run more often.
const MOST_RUNS: u64 = 100_000;

impl RelativeRequirement {
    /// Holds the runs of a series against earlier ones. Each run's percentile is one value, so that samples of one run may
    /// depend on each other; runs are taken as independent. One run on each side is decided by its
    /// [samples](Self::decide). Of missed cycles those of all runs of a side count together.
    pub fn decide_runs(&self, series: &str, before: &[Side], after: &[Side]) -> Decision {
        if let ([before], [after]) = (before, after) {
            return self.decide((series, *before), (series, *after));
        }
        let q = self.percent / 100.0;
        let missed = (Missed::of(before, q), Missed::of(after, q));
        let [before, after] =
            [before, after].map(|sides| sides.iter().map(|side| side.latency).collect::<Vec<&Histogram>>());
        let of = |runs: &[&Histogram]| {
            let held = runs.iter().filter(|run| run.holds_quantile(q));
            held.filter_map(|run| run.quantile(q)).collect()
        };
        let (base, new): (Vec<u64>, Vec<u64>) = (of(&before), of(&after));
        let bounds = ratio_bounds(&base, &new, 1);
        let lacking = self.lacking([&before[..], &after[..]].concat());
        let verdict = match bounds {
            _ if lacking.is_some() => Verdict::CannotTell,
            Some(bounds) => self.verdict_of(bounds),
            None => Verdict::CannotTell,
        };
        let wanted = match verdict {
            Verdict::CannotTell => lacking.or_else(|| self.runs_wanted(&base, &new)),
            _ => None,
        };
        let (verdict, wanted) = with_missed(q, missed, verdict, wanted);
        Decision {
            requirement: self.to_string(),
            series: (series.into(), series.into()),
            before: range(&before, q),
            after: range(&after, q),
            runs: Some((before.len(), after.len())),
            ratio: bounds.map_or((0.0, None), |(least, most)| (least, Some(most))),
            missed,
            verdict,
            wanted,
        }
    }

    /// What a run lacks for its percentile to be known: samples, that it be one of them, or the bucket that it lies in.
    fn lacking(&self, runs: Vec<&Histogram>) -> Option<Wanted> {
        let q = self.percent / 100.0;
        let needed = quantile_bounds::fewest(q);
        let few = runs.iter().any(|run| run.count() < needed);
        let unheld = || runs.iter().any(|run| !run.holds_quantile(q)).then_some(Wanted::Percentile);
        few.then_some(Wanted::Samples(needed)).or_else(unheld)
    }

    fn verdict_of(&self, (least, most): (f64, f64)) -> Verdict {
        if most <= self.times {
            Verdict::Met
        } else if least > self.times {
            Verdict::Broken
        } else {
            Verdict::CannotTell
        }
    }

    /// Runs of each side that would settle it, if those there are came again and again.
    fn runs_wanted(&self, before: &[u64], after: &[u64]) -> Option<Wanted> {
        let fewer = before.len().min(after.len()) as u64;
        if fewer == 0 || ratio_bounds(before, after, 1).is_none() {
            return Some(Wanted::Runs(fewest().max(fewer + 1)));
        }
        let often = |runs: u64| runs.div_ceil(fewer).max(2);
        let settles = |runs: u64| {
            let bounds = ratio_bounds(before, after, often(runs));
            runs >= MOST_RUNS || bounds.is_some_and(|bounds| self.verdict_of(bounds) != Verdict::CannotTell)
        };
        smallest(fewer, settles).filter(|runs| *runs < MOST_RUNS).map(Wanted::Runs)
    }
}

/// The least and the most that the percentile is in any of the runs; of one that does not hold it, what bounds all samples.
fn range(runs: &[&Histogram], q: f64) -> Bounds {
    let of = |run: &Histogram| match run.holds_quantile(q) {
        true => (run.quantile(q).unwrap_or(0), run.quantile(q)),
        false => (run.min_ns.unwrap_or(0), run.max_ns),
    };
    let (low, high): (Vec<u64>, Vec<Option<u64>>) = runs.iter().map(|run| of(run)).unzip();
    let high: Option<Vec<u64>> = high.into_iter().collect();
    Bounds { low_ns: low.into_iter().min().unwrap_or(0), high_ns: high.and_then(|high| high.into_iter().max()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run whose every sample takes so long.
    fn run(ns: u64) -> Histogram {
        let mut h = Histogram::default();
        h.add(ns, 1, 1_000);
        h
    }

    fn decide(text: &str, before: &[u64], after: &[u64]) -> Decision {
        let [before, after] = [before, after].map(|all| all.iter().map(|ns| run(*ns)).collect::<Vec<_>>());
        let [base, new] = [&before, &after].map(|all| all.iter().map(Side::from).collect::<Vec<_>>());
        text.parse::<RelativeRequirement>().unwrap().decide_runs("a", &base, &new)
    }

    /// By its samples alone the first new run would be worse, as these are all alike; other runs before were as slow.
    #[test]
    fn what_runs_differ_by_counts_and_not_their_samples() {
        assert_eq!(decide("p50 <= 1.2x", &[100], &[130]).verdict, Verdict::Broken);
        let decision = decide("p50 <= 1.2x", &[100, 131, 105, 128], &[130, 104, 126]);
        assert_eq!(decision.verdict, Verdict::CannotTell, "{decision:?}");
        assert_eq!(decision.runs, Some((4, 3)));
        assert_eq!(decision.after, Bounds { low_ns: 104, high_ns: Some(130) });
    }

    #[test]
    fn many_runs_decide() {
        let base = [100, 102, 104, 106, 108];
        assert_eq!(decide("p99 <= 1.2x", &base, &[103, 105, 107, 109]).verdict, Verdict::Met);
        assert_eq!(decide("p99 <= 1.2x", &base, &[150, 151, 149]).verdict, Verdict::Broken);
    }

    #[test]
    fn what_would_settle_it_does() {
        let few = decide("p50 <= 1.2x", &[100, 110], &[100, 110]);
        assert_eq!((few.verdict, few.wanted), (Verdict::CannotTell, Some(Wanted::Runs(3))));
        let (base, new) = ([100, 110, 120, 130], [105, 125, 118, 140]);
        let more = decide("p50 <= 1.1x", &base, &new);
        let Some(Wanted::Runs(runs)) = more.wanted else { panic!("{more:?}") };
        assert!(runs > 4);
        let again = |all: [u64; 4]| all.repeat(runs.div_ceil(4) as usize + 1);
        assert_eq!(decide("p50 <= 1.1x", &again(base), &again(new)).verdict, Verdict::Met);
    }

    #[test]
    fn a_run_that_does_not_hold_the_percentile_is_not_left_out() {
        let mut summary = Histogram::default();
        (summary.overflow, summary.min_ns, summary.max_ns) = (1_000, Some(3), Some(900));
        let mut overflown = run(100);
        (overflown.overflow, overflown.max_ns) = (100, Some(900));
        let all = [run(100), run(101), run(102), run(103)];
        let base: Vec<Side> = all.iter().map(Side::from).collect();
        let requirement = "p99 <= 1.2x".parse::<RelativeRequirement>().unwrap();
        assert_eq!(requirement.decide_runs("a", &base, &base).verdict, Verdict::Met);
        for (other, low_ns) in [(&summary, 3), (&overflown, 100)] {
            let with = [&base[..], &[other.into()]].concat();
            for decision in [requirement.decide_runs("a", &base, &with), requirement.decide_runs("a", &with, &base)] {
                assert_eq!((decision.verdict, decision.wanted), (Verdict::CannotTell, Some(Wanted::Percentile)));
            }
            let after = requirement.decide_runs("a", &base, &with).after;
            assert_eq!(after, Bounds { low_ns, high_ns: Some(900) });
        }
    }

    #[test]
    fn runs_too_short_for_their_percentile_decide_nothing() {
        let decision = decide("p99.99 <= 10x", &[100, 101, 102], &[100, 101, 102]);
        assert_eq!((decision.verdict, decision.wanted), (Verdict::CannotTell, Some(Wanted::Samples(10_000))));
    }
}
