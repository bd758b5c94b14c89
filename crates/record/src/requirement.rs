//! What a user asks of a run (`99% < 3us`, `max < 100us`, `missed = 0`), and whether it was met.

mod frames;
mod percent;

use std::fmt;
use std::str::FromStr;

use frames::FrameRequirement;
pub use frames::Frames;
use percent::Percent;

use crate::Measurement;
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

    /// Judges these series of a run; the worst decides. Without samples nothing is met, of frames nothing is known, and where
    /// the load ended too soon, or the run before it had any, nothing is proven.
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
        let mut worst: Option<((bool, bool, f64), Judged)> = None;
        for s in series {
            let (met, badness, seen) = self.look(run, s);
            // What was in time without a load may not be beside it; what did not begin may be anything.
            let (unloaded, not_begun) = (met && s.settings.load_ended, !met && run.interrupted && s.cycles() == 0);
            let unproven = unloaded || not_begun;
            let observed = match (unloaded, not_begun) {
                (true, _) => format!("{seen}, but the load was not there to the end"),
                (_, true) => format!("{seen}, as the run was cut short"),
                _ => seen,
            };
            let (requirement, series) = (self.to_string(), s.name.clone());
            let rank = (!met && !unproven, unproven, badness);
            if worst.as_ref().is_none_or(|(worst, _)| rank > *worst) {
                worst = Some((rank, Judged { requirement, series, observed, met: met && !unproven, unproven }));
            }
        }
        worst.map(|(_, judged)| judged).unwrap_or_else(|| self.of_none(run))
    }

    /// Nothing was measured that it asks about.
    fn of_none(&self, run: &Run) -> Judged {
        let observed = match run.interrupted {
            true => "what it is about was not measured, as the run was cut short",
            false => "nothing was measured",
        };
        let (requirement, observed) = (self.to_string(), observed.into());
        Judged { requirement, observed, unproven: run.interrupted, ..Judged::default() }
    }

    /// Whether it is met, how bad it is (larger is worse), and what was seen in words.
    fn look(&self, run: &Run, s: &Series) -> (bool, f64, String) {
        let h = &s.latency;
        if h.count() == 0 {
            return self.look_at_none(run, s);
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

    /// Of gaps none at all may be what is wanted: each was shorter than what was looked for, if anything was looked at.
    fn look_at_none(&self, run: &Run, s: &Series) -> (bool, f64, String) {
        if s.settings.watched_ns == Some(0) {
            return (false, f64::INFINITY, "no time was watched".into());
        }
        match (self.what, s.settings.shortest_ns) {
            (What::Max | What::Percentile(_), Some(shortest_ns @ 1..))
                if run.measurement == Measurement::Noise && self.holds(shortest_ns - 1) =>
            {
                (true, 0.0, format!("no gap of {} or more", exact(shortest_ns)))
            }
            _ => (false, f64::INFINITY, "no samples".into()),
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

/// Decimals of a share at least.
const LEAST_PLACES: usize = 4;

/// Whether `below` of `count` samples are the share asked for, how bad it is, and what was seen.
fn share(below: u64, count: u64, percent: f64, condition: String) -> (bool, f64, String) {
    let (asked_for, so_much) = (Percent::of(percent), Compare::GreaterOrEqual);
    let seen = format!("{}% {condition}", asked_for.shown(so_much, below, count, LEAST_PLACES));
    (asked_for.is_held(so_much, below, count), -(below as f64 / count as f64), seen)
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
mod tests;
