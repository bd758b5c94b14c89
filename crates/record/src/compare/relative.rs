//! Whether a run is no worse than another, where chance is taken into account: `p99 <= 1.2x`.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use super::side::{Missed, Side, with_missed};
use super::verdict::{Verdict, Wanted};
use crate::quantile_bounds::{Bounds, bounds};

/// How many times the first run's percentile the second's may be.
///
/// ```
/// use ontick_record::compare::RelativeRequirement;
/// let r: RelativeRequirement = "p99.9 <= 1.2x".parse().unwrap();
/// assert_eq!(r.to_string(), "p99.9 <= 1.2x");
/// assert!("max <= 1.2x".parse::<RelativeRequirement>().is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RelativeRequirement {
    /// The percentile, above 0 and below 100.
    pub(super) percent: f64,
    pub(super) times: f64,
}

/// A requirement that could not be read, and what would be right.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("requirement \"{text}\": {problem} (write \"p99 <= 1.2x\": at most 1.2 times the first run's)")]
pub struct RelativeRequirementError {
    text: String,
    problem: String,
}

impl FromStr for RelativeRequirement {
    type Err = RelativeRequirementError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = |problem: String| RelativeRequirementError { text: text.into(), problem };
        let (what, limit) = text.split_once("<=").ok_or_else(|| wrong("there is no <= in it".into()))?;
        let (what, limit) = (what.trim(), limit.trim());
        let percent = what.strip_prefix('p').and_then(|p| p.parse::<f64>().ok());
        let percent = percent.filter(|percent| *percent > 0.0 && *percent < 100.0).ok_or_else(|| {
            wrong(match what {
                "max" | "p100" => "a maximum is one sample, and says nothing of the next run's".into(),
                _ => format!("\"{what}\" is no percentile, p50 or p99.9"),
            })
        })?;
        let times = limit.strip_suffix('x').and_then(|times| times.trim().parse::<f64>().ok());
        let times = times.filter(|times| *times > 0.0 && times.is_finite());
        let times = times.ok_or_else(|| wrong(format!("\"{limit}\" is no number of times, 1.2x")))?;
        Ok(Self { percent, times })
    }
}

impl fmt::Display for RelativeRequirement {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "p{} <= {}x", self.percent, self.times)
    }
}

/// Two series, or those of many runs, held against a requirement.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Decision {
    /// As it was written.
    pub requirement: String,
    /// Name of the series in the first run, and in the second.
    pub series: (String, String),
    /// Where the first run's percentile lies, with 97.5 % confidence on each side. Of several runs: the least and the largest.
    pub before: Bounds,
    /// Where the second's lies.
    pub after: Bounds,
    /// How many runs there were before and after, where they were several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs: Option<(usize, usize)>,
    /// How many times the first the second is, at least and at most, with 95 % confidence that each holds; `None` where
    /// nothing bounds it.
    pub ratio: (f64, Option<f64>),
    /// Cycles that were missed before, and after; `None` where nobody counted them.
    pub missed: (Option<Missed>, Option<Missed>),
    /// The decision.
    pub verdict: Verdict,
    /// What would settle it; `None` where it is settled, and where no number would do.
    pub wanted: Option<Wanted>,
}

impl RelativeRequirement {
    /// Holds two series against it. The samples are taken as independent; outliers that come in bursts make the truth less
    /// certain than this says. Where the second missed more cycles than the percentile leaves out, it is not met, or nobody
    /// can tell, whatever the latencies of the others.
    pub fn decide<'a>(
        &self,
        (name_before, before): (&str, impl Into<Side<'a>>),
        (name_after, after): (&str, impl Into<Side<'a>>),
    ) -> Decision {
        let q = self.percent / 100.0;
        let (before, after): (Side, Side) = (before.into(), after.into());
        let at = |n: u64| (bounds(before.latency, q, n), bounds(after.latency, q, n));
        let (base, new) = (at(before.latency.count()).0, at(after.latency.count()).1);
        let verdict = self.verdict(base, new);
        let fewer = before.latency.count().min(after.latency.count());
        let settles = |n: u64| self.verdict(at(n).0, at(n).1) != Verdict::CannotTell;
        let more = || smallest(fewer, settles).map(Wanted::Samples);
        let held = [before, after].iter().all(|side| side.latency.holds_quantile(q));
        let unheld = || (!held).then_some(Wanted::Percentile);
        let wanted = match verdict {
            Verdict::CannotTell if fewer > 0 => more().or_else(unheld),
            Verdict::CannotTell => unheld(),
            _ => None,
        };
        let missed = (Missed::of(&[before], q), Missed::of(&[after], q));
        let (verdict, wanted) = with_missed(q, missed, verdict, wanted);
        Decision {
            requirement: self.to_string(),
            series: (name_before.into(), name_after.into()),
            before: base,
            after: new,
            runs: None,
            ratio: ratio(base, new),
            missed,
            verdict,
            wanted,
        }
    }

    fn verdict(&self, before: Bounds, after: Bounds) -> Verdict {
        let before = base_of(before);
        let within = |ns: u64, of_ns: u64| ns as f64 <= self.times * of_ns as f64;
        if after.high_ns.is_some_and(|high_ns| within(high_ns, before.low_ns)) {
            Verdict::Met
        } else if before.high_ns.is_some_and(|high_ns| !within(after.low_ns, high_ns)) {
            Verdict::Broken
        } else {
            Verdict::CannotTell
        }
    }
}

/// Nothing takes no time: a base that is known to be 0 is below the clock's step, and taken as 1 ns. A lower bound of 0 alone
/// says nothing.
fn base_of(before: Bounds) -> Bounds {
    match before.high_ns {
        Some(0) => Bounds { low_ns: 1, high_ns: Some(1) },
        _ => before,
    }
}

fn ratio(before: Bounds, after: Bounds) -> (f64, Option<f64>) {
    let before = base_of(before);
    let least = before.high_ns.filter(|ns| *ns > 0).map_or(0.0, |high_ns| after.low_ns as f64 / high_ns as f64);
    let most = after.high_ns.filter(|_| before.low_ns > 0).map(|high_ns| high_ns as f64 / before.low_ns as f64);
    (least, most)
}

/// Nobody takes more, at a sample every 10 us for a year.
const MOST: u64 = 1 << 42;

/// The smallest number above `few` that is enough, where more than enough is enough, too.
pub(super) fn smallest(few: u64, enough: impl Fn(u64) -> bool) -> Option<u64> {
    let (mut low, mut high) = (few, few.checked_mul(2)?);
    while !enough(high) {
        low = high;
        high = high.checked_mul(2).filter(|high| *high <= MOST)?;
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        match enough(middle) {
            true => high = middle,
            false => low = middle,
        }
    }
    Some(high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::histogram::Histogram;
    use proptest::prelude::*;

    /// `count` samples, evenly from `low` on in steps of 1 ns.
    fn even(low: u64, count: u64) -> Histogram {
        let mut h = Histogram::default();
        (0..count).for_each(|i| h.add(low + i * 1_000 / count, 1, 1));
        h
    }

    fn decide(text: &str, before: &Histogram, after: &Histogram) -> Decision {
        text.parse::<RelativeRequirement>().unwrap().decide(("a", before), ("a", after))
    }

    #[test]
    fn many_samples_decide_what_few_cannot() {
        let (base, new) = (even(10_000, 20_000), even(10_900, 20_000));
        assert_eq!(decide("p50 <= 1.2x", &base, &new).verdict, Verdict::Met);
        assert_eq!(decide("p50 <= 1.05x", &base, &new).verdict, Verdict::Broken);
        let few = decide("p50 <= 1.12x", &even(10_000, 20), &even(10_900, 20));
        assert_eq!(few.verdict, Verdict::CannotTell);
        let Some(Wanted::Samples(wanted)) = few.wanted else { panic!("{few:?}") };
        assert_ne!(
            decide("p50 <= 1.12x", &even(10_000, wanted * 2), &even(10_900, wanted * 2)).verdict,
            Verdict::CannotTell
        );
    }

    #[test]
    fn what_lies_on_the_limit_is_settled_by_no_number_of_samples() {
        let same = even(10_000, 100);
        let decision = decide("p99 <= 1x", &same, &same);
        assert_eq!((decision.verdict, decision.wanted), (Verdict::CannotTell, None));
    }

    #[test]
    fn without_samples_nothing_is_known() {
        let decision = decide("p99 <= 2x", &Histogram::default(), &even(1, 1_000));
        assert_eq!((decision.verdict, decision.wanted), (Verdict::CannotTell, Some(Wanted::Percentile)));
    }

    #[test]
    fn a_percentile_that_a_summary_does_not_hold_is_not_decided() {
        let of = |max_ns| {
            let mut summary = Histogram::default();
            (summary.overflow, summary.min_ns, summary.max_ns) = (1_000, Some(3), Some(max_ns));
            summary
        };
        for text in ["p50 <= 1.2x", "p99 <= 1.2x"] {
            for (base, new) in [(95, 100), (100, 900)] {
                let decision = decide(text, &of(base), &of(new));
                assert_eq!((decision.verdict, decision.wanted), (Verdict::CannotTell, Some(Wanted::Percentile)));
                assert_eq!(decision.before, Bounds { low_ns: 3, high_ns: Some(base) });
            }
        }
    }

    #[test]
    fn a_percentile_beyond_the_buckets_is_not_decided_and_one_within_is() {
        let of = |max_ns| {
            let mut h = even(10_000, 940);
            (h.overflow, h.max_ns) = (60, Some(max_ns));
            h
        };
        let (base, new) = (of(95_000), of(100_000));
        assert_eq!(decide("p50 <= 1.2x", &base, &new).verdict, Verdict::Met);
        let decision = decide("p99 <= 1.2x", &base, &new);
        assert_eq!((decision.verdict, decision.wanted), (Verdict::CannotTell, Some(Wanted::Percentile)));
    }

    #[test]
    fn a_base_of_0_is_taken_as_1_ns() {
        let of = |ns| {
            let mut h = Histogram::default();
            h.add(ns, 1, 10_000);
            h
        };
        for (new, verdict) in [(0, Verdict::Met), (1, Verdict::Met), (2, Verdict::Broken), (100, Verdict::Broken)] {
            let decision = decide("p50 <= 1.2x", &of(0), &of(new));
            assert_eq!((decision.verdict, decision.ratio), (verdict, (new as f64, Some(new as f64))));
        }
    }

    #[test]
    fn other_words_are_refused_with_what_is_right() {
        for (text, part) in [
            ("p99 < 1.2x", "no <="),
            ("max <= 1.2x", "a maximum is one sample"),
            ("p101 <= 2x", "no percentile"),
            ("p99 <= 2", "no number of times"),
            ("p99 <= -1x", "no number"),
            ("p99 <= NaNx", "no number"),
        ] {
            let error = text.parse::<RelativeRequirement>().unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }

    proptest! {
        /// Where the second run's samples are the first's, it is never found worse, and where they are ten times as large
        /// never as good; that would be wrong in one of twenty at most, and here never, as the samples are the same.
        #[test]
        fn no_decision_contradicts_the_truth(values in prop::collection::vec(1u64..1_000_000, 1..400), q in 1u32..99) {
            let of = |times: u64| {
                let mut h = Histogram::default();
                values.iter().for_each(|v| h.add(v * times, 1, 1));
                h
            };
            let text = format!("p{q} <= 2x");
            prop_assert_ne!(decide(&text, &of(1), &of(1)).verdict, Verdict::Broken);
            prop_assert_ne!(decide(&text, &of(1), &of(10)).verdict, Verdict::Met);
        }
    }
}
