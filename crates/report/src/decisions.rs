//! Whether a run is no worse than another, in words.

use ontick_record::compare::{Bounds, Decision, Missed, Verdict, Wanted};

use crate::Style;
use crate::colour::Paint;
use crate::number::{count, counted, plain};
use crate::printable::printable;
use crate::text::hanging;

/// The decisions, a line each, worst first as they were asked for.
pub fn decisions(decisions: &[Decision], style: &Style) -> String {
    let paint = Paint(style.colour);
    let mut text = String::new();
    for decision in decisions {
        let (word, mark): (_, fn(&Paint, &str) -> String) = match decision.verdict {
            Verdict::Met => ("met      ", Paint::good),
            Verdict::Broken => ("not met  ", Paint::bad),
            Verdict::CannotTell => ("cannot tell  ", Paint::bad),
        };
        let rest = printable(&format!("{} — {}: {}", decision.requirement, decision.series.1, sentence(decision)));
        text.push_str(&hanging(word, &mark(&paint, word), &rest, style.width));
    }
    text
}

/// What is known of both percentiles and their ratio, what was missed, and what would settle it.
pub(crate) fn sentence(decision: &Decision) -> String {
    let (least, most) = decision.ratio;
    let ratio = match (most, decision.runs) {
        (Some(most), _) => format!("{least:.2} to {most:.2} times, with 95 % confidence"),
        (None, Some(_)) => "too few runs to bound their ratio".into(),
        (None, None) => format!("{least:.2} times or more, with 95 % confidence"),
    };
    let (before, after) = (range(decision.before), range(decision.after));
    let known = match decision.runs {
        Some((base, new)) => {
            let runs = |n: usize| counted(n as u64, "run");
            format!("{after} in {}, before {before} in {} ({ratio})", runs(new), runs(base))
        }
        None => format!("{after}, before {before} ({ratio})"),
    };
    let known = known + &missed(decision.missed);
    match (decision.verdict, decision.wanted) {
        (Verdict::CannotTell, Some(Wanted::Samples(samples))) => {
            format!("{known}; {} of each run would settle it", counted(samples, "sample"))
        }
        (Verdict::CannotTell, Some(Wanted::Runs(runs))) => {
            format!("{known}; {} of each side would settle it", counted(runs, "run"))
        }
        (Verdict::CannotTell, Some(Wanted::Percentile)) => format!("{known}; not every record holds this percentile"),
        (Verdict::CannotTell, Some(Wanted::FewerMissed)) => known,
        (Verdict::CannotTell, None) => format!("{known}; too near the limit for any number of samples"),
        _ => known,
    }
}

/// Cycles that are in no percentile, where there are any.
fn missed((before, after): (Option<Missed>, Option<Missed>)) -> String {
    if [before, after].iter().flatten().all(|missed| missed.missed == 0) {
        return String::new();
    }
    let of = |missed: Option<Missed>| match missed {
        Some(missed) => format!("{} of {}", count(missed.missed), count(missed.cycles)),
        None => "not counted".into(),
    };
    let too_many = match after {
        Some(after) if after.too_many => ": more than this percentile leaves out",
        _ => "",
    };
    format!("; cycles missed {}, before {}{too_many}", of(after), of(before))
}

fn range(bounds: Bounds) -> String {
    match bounds.high_ns {
        Some(high_ns) => format!("{} to {}", plain(bounds.low_ns), plain(high_ns)),
        None => format!("{} or more", plain(bounds.low_ns)),
    }
}

#[cfg(test)]
mod tests {
    use ontick_record::Histogram;
    use ontick_record::compare::Side;

    use super::*;

    #[test]
    fn what_would_settle_it_is_said() {
        let of = |count: u64| {
            let mut h = Histogram::default();
            (0..count).for_each(|i| h.add(10_000 + i * 1_000 / count, 1, 1));
            h
        };
        let decide = |samples: u64| {
            let (base, new) = (of(samples), of(samples));
            "p50 <= 1.02x"
                .parse::<ontick_record::compare::RelativeRequirement>()
                .unwrap()
                .decide(("a", &base), ("a", &new))
        };
        let text = decisions(&[decide(10)], &Style::default());
        assert!(text.starts_with("cannot tell  p50 <= 1.02x — a: ") && text.contains("samples of each run"), "{text}");
        let text = decisions(&[decide(100_000)], &Style::default());
        assert!(text.starts_with("met      p50 <= 1.02x — a: ") && !text.contains("samples of each run"), "{text}");
    }

    #[test]
    fn missed_cycles_stand_beside_the_percentiles() {
        let mut latency = Histogram::default();
        latency.add(10_000, 1, 10_000);
        let of = |missed| Side { latency: &latency, missed };
        let requirement: ontick_record::compare::RelativeRequirement = "p99 <= 1.2x".parse().unwrap();
        let said = |before, after| sentence(&requirement.decide(("a", of(before)), ("a", of(after))));
        let known = "10us to 10us, before 10us to 10us (1.00 to 1.00 times, with 95 % confidence)";
        assert_eq!(said(Some(0), Some(0)), known);
        assert_eq!(said(Some(1), Some(0)), format!("{known}; cycles missed 0 of 10 000, before 1 of 10 001"));
        assert_eq!(
            said(None, Some(90_000)),
            format!(
                "{known}; cycles missed 90 000 of 100 000, before not counted: more than this percentile leaves out"
            )
        );
    }

    #[test]
    fn a_percentile_that_no_number_of_samples_gives_is_said_to_be_missing() {
        let of = |max_ns| {
            let mut summary = Histogram::default();
            (summary.overflow, summary.min_ns, summary.max_ns) = (9, Some(3), Some(max_ns));
            summary
        };
        let requirement: ontick_record::compare::RelativeRequirement = "p50 <= 1.2x".parse().unwrap();
        let text = sentence(&requirement.decide(("a", &of(95)), ("a", &of(100))));
        assert!(text.contains("not every record holds this percentile") && !text.contains("any number"), "{text}");
    }
}
