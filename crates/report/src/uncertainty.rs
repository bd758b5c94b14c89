//! How well the figures of a run are known, for every way of showing it.

use ontick_record::uncertainty::{AtQuantile, COVERAGE_FACTOR, Component, Uncertainty};
use ontick_record::{Measurement, Run, Series};
use ontick_units::show;

use crate::figures::latency;
use crate::together::with_all_cpus;
use crate::verdict::decisive;

/// The quantile of the headline and of the budget, or else the median.
const HEADLINE: [f64; 2] = [0.99, 0.5];

/// Quantiles with a column each: the share, and its name.
pub(crate) const COLUMNS: [(f64, &str); 3] = [(0.5, "p50"), (0.99, "p99"), (0.999, "p99.9")];

/// Headings of a budget.
pub(crate) const BUDGET_HEADS: [&str; 6] =
    ["component", "type", "distribution", "value, ns", "divisor", "standard, ns"];

/// Of the series that the verdict is about: `p99 1.90us ± 29ns (instrument), 95 % <= 2.21us (sampling)`. None where the
/// record states no uncertainty.
pub(crate) fn headline(run: &Run) -> Option<String> {
    // Their verdicts are of all series together.
    if matches!(run.measurement, Measurement::Delay | Measurement::Intervals) {
        return None;
    }
    let run = &*with_all_cpus(run);
    let series = decisive(run)?;
    let stated = stated(series)?;
    let of = if run.series.len() > 1 { format!("{}: ", series.name) } else { String::new() };
    let sampling = match stated.sampling_upper_ns {
        Some(ns) => format!(", 95 % <= {} (sampling)", show(ns)),
        None => "; too few samples for an upper bound (sampling)".into(),
    };
    Some(format!("{of}{} {} ± {} (instrument){sampling}", name_of(stated.q), show(stated.value_ns), expanded(stated)))
}

/// The budget of the series that the verdict is about, or else of the first that has one: its title, a row for each
/// component, and what they come to.
pub(crate) fn budget(run: &Run) -> Option<Budget> {
    let run = &*with_all_cpus(run);
    let series = decisive(run).filter(|series| stated(series).is_some());
    let series = series.or_else(|| run.series.iter().find(|series| stated(series).is_some()))?;
    let (at, all) = (stated(series)?, series.uncertainty.as_ref()?);
    let name = if series.name.is_empty() { String::new() } else { format!(" of {}", series.name) };
    let sums = [
        ("combined: root of the sum of squares".into(), figure(at.combined_ns)),
        (offset_words(at.offset_ns), figure(at.offset_ns.abs())),
        (format!("expanded: {COVERAGE_FACTOR} times the combined, and that"), figure(at.expanded_ns)),
    ];
    Some(Budget {
        title: format!("{}{name}, {} ± {}", name_of(at.q), show(at.value_ns), expanded(at)),
        rows: all.components.iter().chain(&at.bucket).map(row).collect(),
        sums,
    })
}

/// A budget, ready to be laid out.
pub(crate) struct Budget {
    pub title: String,
    pub rows: Vec<[String; 6]>,
    /// In words, and in ns.
    pub sums: [(String, String); 3],
}

/// The quantiles of each series that states an uncertainty: for each of [`COLUMNS`] the value, its expanded uncertainty,
/// and the upper bound of sampling.
pub(crate) fn quantiles(run: &Run) -> Vec<(String, Vec<[String; 3]>)> {
    let run = &*with_all_cpus(run);
    let cells = |all: &Uncertainty, q: f64| match all.quantile(q) {
        Some(at) => [show(at.value_ns), expanded(at), latency(at.sampling_upper_ns)],
        None => std::array::from_fn(|_| "—".into()),
    };
    let of = |series: &Series| {
        let all = series.uncertainty.as_ref()?;
        Some((series.name.clone(), COLUMNS.iter().map(|(q, _)| cells(all, *q)).collect()))
    };
    run.series.iter().filter_map(of).collect()
}

/// What stands for what, below the tables.
pub(crate) const LEGEND: &str = "± is the expanded uncertainty of the instrument (k = 2). <= is what the quantile of longer \
runs like this one does not exceed, with 95 % confidence, by the ranks of the samples alone.";

fn stated(series: &Series) -> Option<&AtQuantile> {
    let all = series.uncertainty.as_ref()?;
    HEADLINE.iter().find_map(|q| all.quantile(*q))
}

fn name_of(q: f64) -> &'static str {
    COLUMNS.iter().find(|(known, _)| *known == q).map_or("", |(_, name)| name)
}

/// Rounded up, so that it is never stated as less.
fn expanded(at: &AtQuantile) -> String {
    show(at.expanded_ns.ceil() as u64)
}

fn row(component: &Component) -> [String; 6] {
    let times = if component.times > 1 { format!("√{} × ", component.times) } else { String::new() };
    [
        component.source.words().into(),
        component.evaluation.letter().into(),
        component.distribution.words().into(),
        format!("{times}{}", figure(component.value_ns)),
        figure(component.divisor),
        figure(component.standard_ns),
    ]
}

fn offset_words(offset_ns: f64) -> String {
    match offset_ns < 0.0 {
        true => "not corrected: too small on the average".into(),
        false => "not corrected: too large on the average".into(),
    }
}

/// Three figures.
fn figure(ns: f64) -> String {
    let decimals = match ns.abs() {
        ns if ns < 9.995 => 2,
        ns if ns < 99.95 => 1,
        _ => 0,
    };
    format!("{ns:.decimals$}")
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use ontick_record::Case;
    use ontick_record::uncertainty::Source;

    /// Of `count` samples, of which each hundredth but a few is late.
    pub fn series(cpu: Option<u32>, count: u64) -> Series {
        let case = Case { method: Some("hybrid".into()), cpu, ..Case::default() };
        let mut series = Series::from(case);
        series.latency.add(400, 1, count - count / 200);
        series.latency.add(9_000, 64, count / 200);
        let cost = Component::rectangular(Source::ClockReading, 15.0).offset_by(15.0);
        let step = Component::rectangular(Source::ClockResolution, 0.5).offset_by(-0.5).times(2);
        series.uncertainty = Some(Uncertainty::of(vec![step, cost]));
        series.state_uncertainty();
        series
    }

    #[test]
    fn the_headline_is_of_what_the_verdict_is_about() {
        let mut run = Run::new("ontick", Measurement::Timer);
        run.series = vec![series(None, 100_000)];
        assert_eq!(headline(&run).unwrap(), "p99 400ns ± 32ns (instrument), 95 % <= 400ns (sampling)");
        run.series = vec![series(None, 200)];
        assert_eq!(
            headline(&run).unwrap(),
            "p99 400ns ± 32ns (instrument); too few samples for an upper bound (sampling)"
        );
        run.series[0].uncertainty = None;
        assert_eq!(headline(&run), None, "a record of before states none");
    }

    #[test]
    fn cpus_that_ran_together_have_one_headline() {
        let mut run = Run::new("ontick", Measurement::Timer);
        run.series = vec![series(Some(0), 100_000), series(Some(1), 100_000)];
        assert!(headline(&run).unwrap().starts_with("hybrid, together: p99 400ns ± 32ns"), "{:?}", headline(&run));
        run.series[1].uncertainty = None;
        assert_eq!(headline(&run), None, "not of half of the samples");
    }

    #[test]
    fn the_budget_adds_up_as_it_is_shown() {
        let mut run = Run::new("ontick", Measurement::Timer);
        run.series = vec![series(None, 100_000)];
        let budget = budget(&run).unwrap();
        assert_eq!(budget.title, "p99 of hybrid, 400ns ± 32ns");
        assert_eq!(budget.rows[0], ["clock resolution", "B", "rectangular", "√2 × 0.50", "1.73", "0.41"]);
        assert_eq!(budget.rows[1], ["reading the clock", "B", "rectangular", "15.0", "1.73", "8.66"]);
        // √(0.41² + 8.66²), 15 − 2 × 0.5, and 2 × 8.67 + 14.
        assert_eq!(budget.sums.map(|(_, ns)| ns), ["8.67", "14.0", "31.3"]);
    }
}
