//! Two runs side by side, and many pairs of blocks summed up: plain values, for others to show.

mod many;
mod rank_sum;
mod relative;
mod same_job;
mod side;
mod verdict;

use std::collections::{HashMap, HashSet, VecDeque};
use std::ptr::from_ref;

use serde::Serialize;

pub use crate::quantile_bounds::Bounds;
pub use relative::{Decision, RelativeRequirement, RelativeRequirementError};
pub use same_job::{Difference, difference};
pub use side::{Missed, Side};
pub use verdict::{Verdict, Wanted};

use crate::run::{Run, Series};

/// The share of samples below this is compared.
pub const LIMIT_NS: u64 = 3_000;

/// Two runs, series by series.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// Series that stand against each other.
    pub pairs: Vec<Pair>,
    /// Names of series of the first run without a partner.
    pub only_before: Vec<String>,
    /// Names of series of the second run without a partner.
    pub only_after: Vec<String>,
}

/// Two series.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Pair {
    /// Name in the first run.
    pub before: String,
    /// Name in the second run.
    pub after: String,
    /// Number of samples.
    pub samples: (u64, u64),
    /// Median latency.
    pub p50: Ratio,
    /// 99th percentile.
    pub p99: Ratio,
    /// 99.9th percentile.
    pub p99_9: Ratio,
    /// Largest latency.
    pub max: Ratio,
    /// Share of the samples below [`LIMIT_NS`], 0 to 1; `None` where a summary does not tell it.
    pub below_limit: (Option<f64>, Option<f64>),
    /// Missed cycles; `None` for tools that do not count them.
    pub missed: (Option<u64>, Option<u64>),
}

/// Two times, and how many times the first the second is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Ratio {
    /// In the first run; `None` where it is not known.
    pub before_ns: Option<u64>,
    /// In the second run.
    pub after_ns: Option<u64>,
    /// The second divided by the first; `None` where either is not known or the first is 0.
    pub ratio: Option<f64>,
}

impl Ratio {
    fn of(before_ns: Option<u64>, after_ns: Option<u64>) -> Self {
        let ratio = before_ns.filter(|ns| *ns > 0).zip(after_ns).map(|(before, after)| after as f64 / before as f64);
        Self { before_ns, after_ns, ratio }
    }
}

/// Compares two runs. Series of one name stand against each other; where each run has just one series,
/// these do, whatever they are called.
pub fn compare(before: &Run, after: &Run) -> Comparison {
    let pairs = partners(before, after);
    // By address: names may come twice.
    let paired: HashSet<_> = pairs.iter().flat_map(|(first, second)| [from_ref(*first), from_ref(*second)]).collect();
    let alone = |run: &Run| {
        let series = run.series.iter().filter(|series| !paired.contains(&from_ref(*series)));
        series.map(|series| series.name.clone()).collect()
    };
    Comparison {
        only_before: alone(before),
        only_after: alone(after),
        pairs: pairs.iter().map(|(first, second)| pair((before, first), (after, second))).collect(),
    }
}

/// The series of two runs that stand against each other.
pub fn partners<'a>(before: &'a Run, after: &'a Run) -> Vec<(&'a Series, &'a Series)> {
    if let ([first], [second]) = (&before.series[..], &after.series[..]) {
        return vec![(first, second)];
    }
    let mut left: HashMap<&str, VecDeque<&Series>> = HashMap::new();
    for series in &after.series {
        left.entry(&series.name).or_default().push_back(series);
    }
    let partner = |series: &'a Series| Some((series, left.get_mut(series.name.as_str())?.pop_front()?));
    before.series.iter().filter_map(partner).collect()
}

/// Why not every series of two runs stands against one of the other.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unpaired {
    /// None does.
    #[error("the two runs have no series of the same name")]
    All,
    /// Some have no partner.
    #[error("not every series is in both runs: {}", alone(.only_before, .only_after))]
    Some {
        /// Names of series of the first run alone.
        only_before: Vec<String>,
        /// Names of series of the second run alone.
        only_after: Vec<String>,
    },
}

fn alone(only_before: &[String], only_after: &[String]) -> String {
    let named = |names: &[String], run: &str| {
        let names: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
        (!names.is_empty()).then(|| format!("{} in the {run} alone", names.join(", ")))
    };
    let parts: Vec<String> = named(only_before, "first").into_iter().chain(named(only_after, "second")).collect();
    parts.join("; ")
}

/// As [`partners`], where a series that has none would go unjudged.
pub fn all_partners<'a>(before: &'a Run, after: &'a Run) -> Result<Vec<(&'a Series, &'a Series)>, Unpaired> {
    let pairs = partners(before, after);
    let Comparison { only_before, only_after, .. } = compare(before, after);
    if pairs.is_empty() {
        return Err(Unpaired::All);
    }
    match only_before.is_empty() && only_after.is_empty() {
        true => Ok(pairs),
        false => Err(Unpaired::Some { only_before, only_after }),
    }
}

fn pair((run_before, before): (&Run, &Series), (run_after, after): (&Run, &Series)) -> Pair {
    let both = |of: fn(&Series) -> Option<u64>| Ratio::of(of(before), of(after));
    Pair {
        before: before.name.clone(),
        after: after.name.clone(),
        samples: (before.latency.count(), after.latency.count()),
        p50: both(|s| s.latency.quantile(0.5)),
        p99: both(|s| s.latency.quantile(0.99)),
        p99_9: both(|s| s.latency.quantile(0.999)),
        max: both(|s| s.latency.max_ns),
        below_limit: (below_limit(before), below_limit(after)),
        missed: (missed(run_before, before), missed(run_after, after)),
    }
}

/// The share of the cycles acted on within [`LIMIT_NS`], 0 to 1; `None` where a summary does not tell it.
pub fn below_limit(series: &Series) -> Option<f64> {
    let latency = &series.latency;
    let known = !latency.buckets().is_empty() || latency.max_ns.is_some_and(|max| max < LIMIT_NS);
    known.then(|| series.share_in_time(LIMIT_NS))
}

/// Only ontick counts missed cycles, also in what an instrument saw; in a run that another tool measured their number is 0
/// because nobody counted.
pub fn missed(run: &Run, series: &Series) -> Option<u64> {
    (run.tool.starts_with("ontick") || run.instrument.is_some()).then_some(series.missed)
}

/// What the ratios of many pairs come to.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spread {
    /// How many there are.
    pub pairs: usize,
    /// The smallest.
    pub min: f64,
    /// A quarter is at most this.
    pub lower_quartile: f64,
    /// Half is at most this.
    pub median: f64,
    /// Three quarters are at most this.
    pub upper_quartile: f64,
    /// The largest.
    pub max: f64,
}

/// Median and spread of the ratios of pairs of blocks; `None` without any. Ratios that are not numbers (a
/// pair whose first side was 0) are left out, and `pairs` says how many remain.
///
/// Quartiles are interpolated between neighbours, at rank `1 + q (n - 1)`.
///
/// ```
/// let s = ontick_record::compare::paired([0.5, 0.1, 0.3, 0.2]).unwrap();
/// assert_eq!((s.pairs, s.min, s.median, s.max), (4, 0.1, 0.25, 0.5));
/// ```
pub fn paired(ratios: impl IntoIterator<Item = f64>) -> Option<Spread> {
    let mut sorted: Vec<f64> = ratios.into_iter().filter(|r| r.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    let at = |q: f64| {
        let rank = q * (sorted.len() - 1) as f64;
        let (low, high) = (sorted[rank.floor() as usize], sorted[rank.ceil() as usize]);
        // Within its neighbours also where rounding would take it beyond them.
        (low + (high - low) * rank.fract()).clamp(low, high)
    };
    let (min, max) = (*sorted.first()?, *sorted.last()?);
    Some(Spread { pairs: sorted.len(), min, lower_quartile: at(0.25), median: at(0.5), upper_quartile: at(0.75), max })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn run(tool: &str, series: &[(&str, &[u64])]) -> Run {
        let mut run = Run::new(tool, "timer");
        for (name, latencies) in series {
            let mut s = Series { name: (*name).into(), ..Series::default() };
            latencies.iter().for_each(|l| s.latency.add(*l, 1, 1));
            run.series.push(s);
        }
        run
    }

    #[test]
    fn series_pair_up_by_name() {
        let before = run("ontick 1", &[("a", &[10]), ("b", &[20]), ("c", &[30])]);
        let after = run("ontick 1", &[("c", &[60]), ("a", &[5]), ("d", &[1])]);
        let c = compare(&before, &after);
        let pairs: Vec<_> = c.pairs.iter().map(|p| (p.before.as_str(), p.p50.ratio)).collect();
        assert_eq!(pairs, [("a", Some(0.5)), ("c", Some(2.0))]);
        assert_eq!((c.only_before, c.only_after), (vec!["b".into()], vec!["d".into()]));
        let said = all_partners(&before, &after).unwrap_err().to_string();
        assert_eq!(said, "not every series is in both runs: \"b\" in the first alone; \"d\" in the second alone");
        assert_eq!(all_partners(&before, &run("ontick 1", &[("x", &[1])])), Err(Unpaired::All));
        assert_eq!(all_partners(&before, &before).unwrap().len(), 3);
    }

    #[test]
    fn series_of_one_name_pair_up_in_their_order() {
        let before = run("ontick 1", &[("a", &[10]), ("a", &[20]), ("b", &[1]), ("a", &[30])]);
        let after = run("ontick 1", &[("a", &[20]), ("b", &[1]), ("a", &[20]), ("c", &[1])]);
        let c = compare(&before, &after);
        let ratios: Vec<_> = c.pairs.iter().map(|p| p.p50.ratio).collect();
        assert_eq!(ratios, [Some(2.0), Some(1.0), Some(1.0)]);
        assert_eq!((c.only_before, c.only_after), (vec!["a".into()], vec!["c".into()]));
    }

    #[test]
    fn one_each_need_no_common_name() {
        let (before, after) = (run("cyclictest", &[("thread 0", &[4_000])]), run("ontick 1", &[("hybrid", &[1_000])]));
        let c = compare(&before, &after);
        assert_eq!((c.pairs.len(), c.pairs[0].max.ratio), (1, Some(0.25)));
        assert_eq!((c.pairs[0].below_limit, c.pairs[0].missed), ((Some(0.0), Some(1.0)), (None, Some(0))));
        // With one against several, position would be a guess.
        let several = run("ontick 1", &[("hybrid", &[1]), ("spin", &[1])]);
        assert_eq!(compare(&before, &several).pairs.len(), 0);
    }

    #[test]
    fn what_is_not_known_has_no_ratio() {
        let mut before = run("cyclictest", &[("a", &[])]);
        before.series[0].latency.overflow = 1_000;
        before.series[0].latency.max_ns = Some(9_999);
        let c = compare(&before, &run("ontick 1", &[("a", &[0, 0])]));
        assert_eq!(c.pairs[0].p99, Ratio { before_ns: None, after_ns: Some(0), ratio: None });
        assert_eq!((c.pairs[0].max.ratio, c.pairs[0].below_limit.0), (Some(0.0), None));
        let back = compare(&run("ontick 1", &[("a", &[0, 0])]), &before);
        assert_eq!((back.pairs[0].max.ratio, back.pairs[0].max.after_ns), (None, Some(9_999)));
    }

    #[test]
    fn spread_of_few_ratios() {
        assert_eq!(paired([]), None);
        assert_eq!(paired([f64::NAN, f64::INFINITY]), None);
        let one = paired([0.5, f64::NAN]).unwrap();
        assert_eq!((one.pairs, one.min, one.median, one.max), (1, 0.5, 0.5, 0.5));
        let six = paired([6.0, 1.0, 5.0, 2.0, 4.0, 3.0]).unwrap();
        assert_eq!((six.lower_quartile, six.median, six.upper_quartile), (2.25, 3.5, 4.75));
    }

    #[test]
    fn the_share_below_the_limit_is_known_from_samples_or_a_maximum_below_it() {
        let of = |latencies: &[u64]| run("ontick 1", &[("a", latencies)]).series.remove(0);
        assert_eq!(below_limit(&of(&[1_000, 2_999, 3_000, 9_000])), Some(0.5));
        let summary = |max_ns| {
            let mut series = of(&[]);
            (series.latency.overflow, series.latency.max_ns) = (10, max_ns);
            series
        };
        assert_eq!(below_limit(&summary(Some(LIMIT_NS - 1))), Some(1.0));
        assert_eq!([Some(LIMIT_NS), None].map(|max_ns| below_limit(&summary(max_ns))), [None; 2]);
    }

    #[test]
    fn quantiles_and_counts_of_both_runs_are_set_side_by_side() {
        let after: Vec<u64> = (1..=1_000).collect();
        let c = compare(&run("ontick 1", &[("a", &[4])]), &run("ontick 1", &[("a", &after)]));
        let pair = &c.pairs[0];
        assert_eq!(pair.samples, (1, 1_000));
        let seen = [pair.p50, pair.p99, pair.p99_9, pair.max].map(|ratio| ratio.after_ns.unwrap());
        assert_eq!(seen, [500, 990, 999, 1_000]);
        assert_eq!(pair.p50.ratio, Some(125.0));
    }

    proptest! {
        #[test]
        fn a_spread_is_in_order(ratios in prop::collection::vec(0.0f64..1e9, 1..40)) {
            let s = paired(ratios.iter().copied()).unwrap();
            let order = [s.min, s.lower_quartile, s.median, s.upper_quartile, s.max];
            prop_assert!(order.windows(2).all(|w| w[0] <= w[1]), "{order:?}");
            prop_assert_eq!(s.pairs, ratios.len());
        }
    }
}
