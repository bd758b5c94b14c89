//! What a user asks of a run (`99% < 3us`, `max < 100us`, `missed = 0`), and whether it was met.

mod frames;

use std::fmt;
use std::str::FromStr;

use frames::FrameRequirement;
pub use frames::Frames;

use crate::compare::missed;
use crate::run::{Judged, Run, Series};
use crate::switching::Switching;
use ontick_units::{exact, parse_time, show};

/// One requirement. It holds for a run if it holds for each series that it is judged on, or, if it is one of frames, for
/// the switch that they went through.
///
/// ```
/// use ontick_record::Requirement;
/// let r: Requirement = "99.9% < 10us".parse().unwrap();
/// assert_eq!(r.to_string(), "99.9% < 10us");
/// assert!("99% under 3us".parse::<Requirement>().is_err());
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Requirement(Kind);

#[derive(Debug, Clone, PartialEq)]
enum Kind {
    Samples(SampleRequirement),
    Frames(FrameRequirement),
}

/// A requirement of the samples of a series.
#[derive(Debug, Clone, PartialEq)]
struct SampleRequirement {
    what: What,
    compare: Compare,
    limit: u64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum What {
    /// A share of the samples, in percent.
    Share(f64),
    /// A percentile, in percent.
    Percentile(f64),
    Max,
    Mean,
    StdDev,
    Missed,
    Outliers,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Compare {
    Less,
    LessOrEqual,
    Equal,
    Greater,
    GreaterOrEqual,
}

impl Compare {
    fn holds<T: PartialOrd>(self, value: T, limit: T) -> bool {
        match self {
            Compare::Less => value < limit,
            Compare::LessOrEqual => value <= limit,
            Compare::Equal => value == limit,
            Compare::Greater => value > limit,
            Compare::GreaterOrEqual => value >= limit,
        }
    }
}

/// A requirement that could not be read, and what would be right.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "requirement \"{text}\": {problem} (write \"99% < 3us\", \"p99.9 < 50us\", \"max < 100us\", \"mean < 5us\", \"stddev < 2us\" or \"missed = 0\", and of a switch's frames \"sent > 95%\", \"delivered > 95%\", \"dropped = 0\" or \"lost = 0\")"
)]
pub struct RequirementError {
    text: String,
    problem: String,
}

impl FromStr for Requirement {
    type Err = RequirementError;

    fn from_str(text: &str) -> Result<Self, RequirementError> {
        let fail = |problem: String| RequirementError { text: text.trim().into(), problem };
        let (left, compare, right) =
            split(text).ok_or_else(|| fail("it has no \"<\", \"<=\", \"=\", \">=\" or \">\"".into()))?;
        if let Some(frames) = Frames::named(left) {
            return FrameRequirement::new(frames, compare, right).map(|r| Self(Kind::Frames(r))).map_err(fail);
        }
        let what = subject(left).map_err(fail)?;
        let limit = match what {
            What::Missed | What::Outliers => {
                right.parse().map_err(|_| fail(format!("\"{right}\" is not a whole number")))?
            }
            _ => parse_time(right).map_err(|e| fail(e.to_string()))?,
        };
        match (what, compare) {
            (What::Missed | What::Outliers, Compare::Equal) | (_, Compare::Less | Compare::LessOrEqual) => {}
            (What::Missed | What::Outliers, _) => {
                return Err(fail(format!("{left} is compared with \"<\", \"<=\" or \"=\"")));
            }
            _ => return Err(fail("a time is compared with \"<\" or \"<=\"".into())),
        }
        if compare == Compare::Less && limit == 0 && right.contains(|c: char| matches!(c, '1'..='9')) {
            return Err(fail(format!("\"{right}\" is below 1 ns, as fine as times are here")));
        }
        if compare == Compare::Less && limit == 0 {
            return Err(fail("nothing is less than 0".into()));
        }
        Ok(Self(Kind::Samples(SampleRequirement { what, compare, limit })))
    }
}

fn split(text: &str) -> Option<(&str, Compare, &str)> {
    let at = text.find(['<', '=', '≤', '>', '≥'])?;
    let (left, rest) = text.split_at(at);
    let (compare, rest) = [
        ("<=", Compare::LessOrEqual),
        ("≤", Compare::LessOrEqual),
        ("<", Compare::Less),
        (">=", Compare::GreaterOrEqual),
        ("≥", Compare::GreaterOrEqual),
        (">", Compare::Greater),
        ("==", Compare::Equal),
        ("=", Compare::Equal),
    ]
    .into_iter()
    .find_map(|(sign, compare)| rest.strip_prefix(sign).map(|rest| (compare, rest)))?;
    Some((left.trim(), compare, rest.trim()))
}

fn subject(text: &str) -> Result<What, String> {
    let percent = |number: &str| match number.trim().parse::<f64>() {
        Ok(p) if p > 0.0 && p <= 100.0 => Ok(p),
        _ => Err(format!("\"{text}\" is not a share above 0 and up to 100 percent")),
    };
    match text {
        "max" => Ok(What::Max),
        "mean" => Ok(What::Mean),
        "stddev" => Ok(What::StdDev),
        "missed" => Ok(What::Missed),
        "outliers" => Ok(What::Outliers),
        _ => match (text.strip_suffix('%'), text.strip_prefix('p')) {
            (Some(number), _) => percent(number).map(What::Share),
            (_, Some(number)) => percent(number).map(What::Percentile),
            _ => Err(format!(
                "\"{text}\" is not a share, p99, max, mean, stddev, missed, outliers, sent, delivered, dropped or lost"
            )),
        },
    }
}

impl Requirement {
    /// What it asks of the frames through a switch, if it is of those.
    pub fn frames(&self) -> Option<Frames> {
        match &self.0 {
            Kind::Samples(_) => None,
            Kind::Frames(requirement) => Some(requirement.frames),
        }
    }

    /// Judges the frames that went through a switch with its gates in force; nothing if it is not of frames.
    pub fn judge_frames(&self, switching: &Switching) -> Option<Judged> {
        match &self.0 {
            Kind::Samples(_) => None,
            Kind::Frames(requirement) => Some(requirement.judge(switching)),
        }
    }

    /// Judges these series of a run; the worst decides. Without samples nothing is met, and of frames nothing is known.
    pub fn judge<'a>(&self, run: &Run, series: impl IntoIterator<Item = &'a Series>) -> Judged {
        match &self.0 {
            Kind::Samples(requirement) => requirement.judge(run, series),
            Kind::Frames(requirement) => Judged {
                requirement: requirement.to_string(),
                observed: "no switch was measured".into(),
                ..Judged::default()
            },
        }
    }
}

impl SampleRequirement {
    fn judge<'a>(&self, run: &Run, series: impl IntoIterator<Item = &'a Series>) -> Judged {
        let mut worst: Option<(bool, f64, Judged)> = None;
        for s in series {
            let (met, badness, seen) = self.look(run, s);
            let judged =
                Judged { requirement: self.to_string(), series: s.name.clone(), observed: seen, met, unproven: false };
            if worst.as_ref().is_none_or(|(m, b, _)| (!met, badness) > (!*m, *b)) {
                worst = Some((met, badness, judged));
            }
        }
        worst.map(|(_, _, judged)| judged).unwrap_or_else(|| Judged {
            requirement: self.to_string(),
            observed: "nothing was measured".into(),
            ..Judged::default()
        })
    }

    /// Whether it is met, how bad it is (larger is worse), and what was seen in words.
    fn look(&self, run: &Run, s: &Series) -> (bool, f64, String) {
        let h = &s.latency;
        if h.count() == 0 {
            return (false, f64::INFINITY, "no samples".into());
        }
        match self.what {
            What::Share(percent) => {
                // "<= limit" admits the limit itself, so it counts what lies below limit + 1.
                match s.in_time(self.limit.saturating_add(u64::from(self.compare == Compare::LessOrEqual))) {
                    0 if h.buckets().is_empty() => (false, f64::INFINITY, "share unknown".into()),
                    below => share(below, s.cycles(), percent, format!("{} {}", self.compare, exact(self.limit))),
                }
            }
            What::Percentile(p) => match (h.quantile(p / 100.0), h.max_ns) {
                // No percentile is above the maximum.
                (None, Some(max)) if self.holds(max) => (true, max as f64, format!("p{p} at most {}", self.shown(max))),
                (seen, _) => self.time(seen, &format!("p{p}")),
            },
            What::Max => self.time(h.max_ns, "max"),
            What::Mean => self.time(h.mean_ns.filter(|m| *m >= 0.0).map(|m| self.whole(m)), "mean"),
            What::StdDev => match h.deviation() {
                Some(d) if d.resolution_ns > 0 => self.time(Some(self.whole(d.at_most_ns())), "stddev at most"),
                exact => self.time(exact.map(|d| self.whole(d.ns)), "stddev"),
            },
            What::Missed => match missed(run, s) {
                Some(missed) => self.number(missed, "missed"),
                None => (false, f64::INFINITY, format!("missed unknown: {} does not count them", run.tool)),
            },
            // A record of another tool may not say from where on anything is one.
            What::Outliers if s.settings.outlier_threshold_ns == 0 => {
                (false, f64::INFINITY, "outliers unknown: no threshold was set".into())
            }
            What::Outliers => self.number(s.outlier_count, "outliers"),
        }
    }

    fn time(&self, seen: Option<u64>, name: &str) -> (bool, f64, String) {
        match seen {
            Some(ns) => (self.holds(ns), ns as f64, format!("{name} {}", self.shown(ns))),
            None => (false, f64::INFINITY, format!("{name} unknown")),
        }
    }

    /// The whole number that is on the same side of the limit, which is a whole number itself.
    fn whole(&self, ns: f64) -> u64 {
        match self.compare {
            Compare::Less => ns.floor() as u64,
            _ => ns.ceil() as u64,
        }
    }

    /// A time with as many digits as decide: rounded, 999.999 us would be no less than 1 ms.
    fn shown(&self, ns: u64) -> String {
        let rounded = show(ns);
        match parse_time(&rounded) {
            Ok(seen) if seen == ns || (seen != self.limit && self.holds(seen) == self.holds(ns)) => rounded,
            _ => exact(ns),
        }
    }

    fn number(&self, seen: u64, name: &str) -> (bool, f64, String) {
        (self.holds(seen), seen as f64, format!("{name} {seen}"))
    }

    fn holds(&self, value: u64) -> bool {
        self.compare.holds(value, self.limit)
    }
}

/// Whether `below` of `count` samples are the share asked for, how bad it is, and what was seen.
fn share(below: u64, count: u64, percent: f64, condition: String) -> (bool, f64, String) {
    // Compared as counts: 57 of 100 are 57 %, though 0.57 * 100.0 is 56.99999999999999. The percentage
    // itself is a rounded decimal, so a rounding error of the product does not decide either.
    let needed = percent * count as f64 * (1.0 - 4.0 * f64::EPSILON);
    let met = below == count || (percent < 100.0 && below as f64 * 100.0 >= needed);
    // Cut, not rounded: 100.0000% is said of all samples only.
    let millionths = u128::from(below) * 1_000_000 / u128::from(count);
    let seen = format!("{}.{:04}% {condition}", millionths / 10_000, millionths % 10_000);
    (met, -(below as f64 / count as f64), seen)
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match &self.0 {
            Kind::Samples(requirement) => requirement.fmt(f),
            Kind::Frames(requirement) => requirement.fmt(f),
        }
    }
}

impl fmt::Display for SampleRequirement {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let limit = match self.what {
            What::Missed | What::Outliers => self.limit.to_string(),
            _ => exact(self.limit),
        };
        match self.what {
            What::Share(p) => write!(f, "{p}%")?,
            What::Percentile(p) => write!(f, "p{p}")?,
            What::Max => f.write_str("max")?,
            What::Mean => f.write_str("mean")?,
            What::StdDev => f.write_str("stddev")?,
            What::Missed => f.write_str("missed")?,
            What::Outliers => f.write_str("outliers")?,
        }
        write!(f, " {} {limit}", self.compare)
    }
}

impl fmt::Display for Compare {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Compare::Less => "<",
            Compare::LessOrEqual => "<=",
            Compare::Equal => "=",
            Compare::Greater => ">",
            Compare::GreaterOrEqual => ">=",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn series(name: &str, latencies: &[u64], missed: u64) -> Series {
        let mut s = Series { name: name.into(), missed, ..Series::default() };
        latencies.iter().for_each(|l| s.latency.add(*l, 1, 1));
        s
    }

    fn ours() -> Run {
        Run::new("ontick", "timer")
    }

    fn met(requirement: &str, s: &Series) -> bool {
        requirement.parse::<Requirement>().unwrap().judge(&ours(), [s]).met
    }

    #[test]
    fn each_form_can_be_met_and_not_met() {
        let mut s = series("s", &[1_000, 2_000, 2_500, 3_000], 2);
        s.settings.outlier_threshold_ns = 100_000;
        for (requirement, expected) in [
            // Three, and with the limit four, of six cycles.
            ("50% < 3us", true),
            ("50.1% < 3us", false),
            ("66% <= 3us", true),
            ("67% <= 3us", false),
            ("max < 3us", false),
            ("max <= 3us", true),
            ("p50 < 2001ns", true),
            ("p50<2us", false),
            ("missed = 2", true),
            ("missed = 0", false),
            ("missed < 3", true),
            ("outliers = 0", true),
            ("p100 ≤ 3us", true),
        ] {
            assert_eq!(met(requirement, &s), expected, "{requirement}");
        }
    }

    #[test]
    fn shares_are_compared_as_counts() {
        for percent in 1..=100u64 {
            let mut s = series("s", &[], 0);
            s.latency.add(1_000, 1, percent);
            s.latency.add(9_000, 1, 100 - percent);
            assert!(met(&format!("{percent}% < 3us"), &s), "{percent} of 100");
            assert!(percent == 100 || !met(&format!("{percent}.001% < 3us"), &s), "{percent} of 100");
        }
        let mut s = series("s", &[], 0);
        s.latency.add(1_000, 1, (1 << 60) - 1);
        s.latency.add(9_000, 1, 1);
        let judged = "100% < 3us".parse::<Requirement>().unwrap().judge(&ours(), [&s]);
        assert_eq!((judged.met, judged.observed.as_str()), (false, "99.9999% < 3us"));
    }

    #[test]
    fn what_a_summary_does_not_tell_is_unknown() {
        let mut s = series("s", &[], 0);
        s.latency.overflow = 1000;
        (s.latency.max_ns, s.latency.mean_ns) = (Some(9_000), Some(f64::NAN));
        for requirement in ["99% < 3us", "p99 < 3us", "mean < 20us"] {
            let judged = requirement.parse::<Requirement>().unwrap().judge(&ours(), [&s]);
            assert!(!judged.met && judged.observed.ends_with("unknown"), "{}", judged.observed);
        }
        for requirement in ["99% < 10us", "100% <= 9us", "p99 < 10us", "max < 10us"] {
            assert!(met(requirement, &s), "{requirement}");
        }
    }

    #[test]
    fn outliers_without_a_threshold_are_unknown() {
        let mut s = series("s", &[9_000_000], 0);
        for requirement in ["outliers = 0", "outliers < 3", "outliers <= 0"] {
            let judged = requirement.parse::<Requirement>().unwrap().judge(&ours(), [&s]);
            assert!(!judged.met && judged.observed.starts_with("outliers unknown"), "{}", judged.observed);
        }
        (s.settings.outlier_threshold_ns, s.outlier_count) = (100_000, 1);
        assert!(!met("outliers = 0", &s) && met("outliers < 3", &s));
    }

    #[test]
    fn cycles_that_nobody_counted_are_not_none() {
        let counted: Requirement = "missed = 0".parse().unwrap();
        let judged = counted.judge(&Run::new("cyclictest 2.5", "timer"), [&series("T0", &[1_000], 0)]);
        assert!(!judged.met);
        assert_eq!(judged.observed, "missed unknown: cyclictest 2.5 does not count them");
    }

    #[test]
    fn a_missed_cycle_was_not_in_time() {
        let stalled = series("s", &[1_000; 99], 1);
        assert!(met("99% < 3us", &stalled) && !met("99.1% < 3us", &stalled) && met("max < 3us", &stalled));
        let early = Series { early: 1, ..series("s", &[0; 100], 0) };
        assert!(met("99% < 3us", &early) && !met("100% < 3us", &early));
    }

    #[test]
    fn what_was_seen_does_not_contradict_the_verdict() {
        let seen = |requirement: &str, ns| {
            let judged = requirement.parse::<Requirement>().unwrap().judge(&ours(), [&series("s", &[ns], 0)]);
            (judged.met, judged.observed)
        };
        assert_eq!(seen("max < 1ms", 1_000_400), (false, format!("max {}", exact(1_000_400))));
        assert_eq!(seen("max < 1ms", 999_999), (true, format!("max {}", exact(999_999))));
        assert_eq!(seen("max < 1ms", 1_000_000), (false, format!("max {}", show(1_000_000))));
        assert_eq!(seen("max < 1ms", 41_234), (true, format!("max {}", show(41_234))));
    }

    #[test]
    fn a_mean_between_two_nanoseconds_is_on_the_side_of_the_limit_where_it_is() {
        let mut s = series("s", &[2_999, 3_000], 0);
        for (mean, less, at_most) in [(2_999.3, true, true), (3_000.0, false, true), (3_000.2, false, false)] {
            (s.latency.mean_ns, s.latency.std_dev_ns) = (Some(mean), Some(mean));
            for what in ["mean", "stddev"] {
                assert_eq!(met(&format!("{what} < 3us"), &s), less, "{mean}");
                assert_eq!(met(&format!("{what} <= 3us"), &s), at_most, "{mean}");
            }
        }
    }

    #[test]
    fn a_deviation_is_as_large_as_buckets_allow() {
        // All at 1 and 999 ns, or all at 500 ns.
        let mut s = series("s", &[], 0);
        s.latency.add(0, 1_000, 100);
        assert!(!met("stddev < 400ns", &s) && met("stddev <= 500ns", &s));
        let judged = "stddev < 400ns".parse::<Requirement>().unwrap().judge(&ours(), [&s]);
        assert_eq!(judged.observed, format!("stddev at most {}", show(500)));
        s.latency.std_dev_ns = Some(12.0);
        assert!(met("stddev < 400ns", &s));
    }

    #[test]
    fn the_worst_series_decides() {
        let (good, bad) = (series("good", &[1], 0), series("bad", &[9_000_000], 0));
        let judged = "max < 1ms".parse::<Requirement>().unwrap().judge(&ours(), [&good, &bad]);
        assert_eq!((judged.series.as_str(), judged.met), ("bad", false));
    }

    #[test]
    fn nothing_measured_meets_nothing() {
        assert!(!met("max < 1h", &series("empty", &[], 0)));
        assert!(!"missed = 0".parse::<Requirement>().unwrap().judge(&ours(), []).met);
    }

    #[test]
    fn nonsense_is_explained() {
        for (text, word) in [
            ("fast please", "it has no"),
            ("99% < 3", "unit"),
            ("max < -1us", "not a time"),
            ("101% < 3us", "up to 100"),
            ("missed = some", "whole number"),
            ("max = 3us", "compared with"),
            ("p99 < 0us", "nothing is less"),
            ("max < 0.0000001ns", "is below 1 ns"),
            ("std < 1us", "mean, stddev, missed"),
            ("most < 3us", "most"),
        ] {
            let error = text.parse::<Requirement>().unwrap_err().to_string();
            assert!(error.contains(word) || error.contains("unknown unit"), "{text:?}: {error}");
        }
    }

    proptest! {
        #[test]
        fn shown_as_it_reads(text in "(99(\\.[0-9]{1,3})?%|p[1-9][0-9]?|max|mean) (<|<=) [1-9][0-9]{0,5}(ns|us|ms|s)") {
            let r: Requirement = text.parse().unwrap();
            prop_assert_eq!(r.to_string().parse::<Requirement>().unwrap(), r);
        }

        #[test]
        fn any_text_is_answered(text in "[a-z0-9.%<=≤ ]{0,24}") {
            let _ = text.parse::<Requirement>();
        }
    }
}
