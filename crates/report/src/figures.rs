//! The figures of one series, as every table shows them.

use ontick_record::compare::{below_limit, missed};
use ontick_record::{Run, Series};
use ontick_units::show;

use crate::number::{count, decimals_needed, percent_down};

/// The latency that a cycle is held against where nothing else is asked: source of `< 3us`.
pub(crate) const IN_TIME_NS: u64 = ontick_record::compare::LIMIT_NS;

/// One column of a table of latencies.
pub(crate) struct Column {
    /// What is shown above it.
    pub head: &'static str,
    /// The latency that stands in it, where it is known.
    pub of: fn(&Series) -> Option<u64>,
    /// Whether it is of bins, and only as exact as these are wide.
    pub is_rough: fn(&Series) -> bool,
}

/// The latencies that every table shows, in this order.
pub(crate) const LATENCIES: [Column; 8] = [
    exact("min", |s| s.latency.min_ns),
    exact("p50", |s| s.latency.quantile(0.5)),
    exact("p99", |s| s.latency.quantile(0.99)),
    exact("p99.9", |s| s.latency.quantile(0.999)),
    exact("p99.99", |s| s.latency.quantile(0.9999)),
    exact("max", |s| s.latency.max_ns),
    // Exact sums only: a record that does not hold one says nothing.
    exact("mean", |s| s.latency.mean_ns.filter(|ns| *ns >= 0.0).map(|ns| ns.round() as u64)),
    Column {
        head: STD_DEV,
        of: |s| s.latency.deviation().map(|deviation| deviation.ns.round() as u64),
        is_rough: |s| s.latency.deviation().is_some_and(|deviation| deviation.resolution_ns > 0),
    },
];

/// The heading of standard deviations.
pub(crate) const STD_DEV: &str = "stddev";

const fn exact(head: &'static str, of: fn(&Series) -> Option<u64>) -> Column {
    Column { head, of, is_rough: |_| false }
}

/// Of what width the bins are that standard deviations were taken from, where any was.
pub(crate) fn rough_deviations<'a>(series: impl Iterator<Item = &'a Series>) -> Option<String> {
    let of = series.filter_map(|s| s.latency.deviation());
    let widest = of.map(|deviation| deviation.resolution_ns).max().filter(|ns| *ns > 0)?;
    Some(format!(
        "{STD_DEV} ~: from bins, up to {} wide, as the record holds no exact one.",
        ontick_units::exact(widest)
    ))
}

/// A latency, or a dash where it is not known.
pub(crate) fn latency(ns: Option<u64>) -> String {
    ns.map_or_else(|| "—".into(), show)
}

/// The share of the cycles, missed ones included, that were acted on in time, in percent; a dash where nothing tells it.
pub(crate) fn share_in_time(series: &Series) -> String {
    below_limit(series).map_or_else(|| "—".into(), |_| share(series.in_time(IN_TIME_NS), series.cycles()))
}

/// So many of all in percent, rounded down; a dash of none.
pub(crate) fn share(below: u64, all: u64) -> String {
    match all {
        0 => "—".into(),
        _ if below == all => "100%".into(),
        _ => format!("{}%", percent_down(below, all, decimals_needed(below, all))),
    }
}

/// Missed cycles; a dash for tools that do not count them.
pub(crate) fn missed_cycles(run: &Run, series: &Series) -> String {
    missed(run, series).map_or_else(|| "—".into(), count)
}

/// Whether a series spins before its deadline.
pub(crate) fn spins(series: &Series) -> bool {
    matches!(series.settings.method.as_str(), "hybrid" | "spin")
}

/// What must be said where threads that sleep and threads that spin stand in one table.
pub(crate) fn waits_differently<'a>(mut series: impl Iterator<Item = &'a Series> + Clone) -> Option<&'static str> {
    let sleeps = |s: &Series| !s.settings.method.is_empty() && !spins(s);
    (series.clone().any(spins) && series.any(sleeps)).then_some(
        "Rows differ in cost: a sleeping wait shows wake latency; hybrid and spin show the error against the deadline and use CPU time for it.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(method: &str, in_time: u64, late: u64) -> Series {
        let mut series = Series::default();
        series.settings.method = method.into();
        series.latency.add(400, 1, in_time);
        series.latency.add(9_000, 1, late);
        series
    }

    #[test]
    fn a_share_is_given_only_where_it_is_known() {
        let shares = [(3, 1), (4, 0), (0, 0)].map(|(in_time, late)| share_in_time(&series("", in_time, late)));
        assert_eq!(shares, ["75.00%", "100%", "—"]);
        let mut missing = series("", 3, 0);
        missing.missed = 1;
        assert_eq!(share_in_time(&missing), "75.00%");
        let mut summary = Series::default();
        (summary.latency.overflow, summary.latency.max_ns) = (1_000, Some(41_000));
        assert_eq!(share_in_time(&summary), "—");
    }

    #[test]
    fn a_mean_that_no_record_holds_is_not_made_of_bins() {
        let mean = LATENCIES.iter().find(|column| column.head == "mean").unwrap().of;
        let mut exact = series("", 3, 1);
        assert_eq!(mean(&exact), None);
        exact.latency.mean_ns = Some(2_549.6);
        assert_eq!(mean(&exact), Some(2_550));
        exact.latency.mean_ns = Some(f64::NAN);
        assert_eq!(mean(&exact), None);
    }

    #[test]
    fn a_deviation_of_bins_is_marked_with_their_width() {
        let mut series = series("", 3, 1);
        let column = LATENCIES.iter().find(|column| column.head == STD_DEV).unwrap();
        assert!(!(column.is_rough)(&series) && rough_deviations([&series].into_iter()).is_none());
        series.latency.add(2_000, 1_000, 1);
        assert!((column.is_rough)(&series));
        let said = rough_deviations([&series].into_iter()).unwrap();
        assert!(said.contains("up to 1us wide"), "{said}");
        series.latency.std_dev_ns = Some(1_234.4);
        assert_eq!(((column.of)(&series), (column.is_rough)(&series)), (Some(1_234), false));
    }

    #[test]
    fn missed_cycles_are_known_of_ontick_alone() {
        let series = Series { missed: 1_200, ..Default::default() };
        assert_eq!(missed_cycles(&Run::new("ontick 0.1.0", "timer"), &series), "1 200");
        assert_eq!(missed_cycles(&Run::new("cyclictest 2.5", "timer"), &series), "—");
    }

    #[test]
    fn sleeping_and_spinning_in_one_table_is_remarked() {
        let remark = |methods: &[&str]| {
            let series: Vec<Series> = methods.iter().map(|method| series(method, 1, 0)).collect();
            waits_differently(series.iter())
        };
        for mixed in [["sleep", "spin"], ["hybrid", "nanosleep"]] {
            assert!(remark(&mixed).is_some_and(|said| said.starts_with("Rows differ in cost")), "{mixed:?}");
        }
        for alike in [["sleep", "nanosleep"], ["hybrid", "spin"], ["hybrid", ""], ["", "sleep"]] {
            assert_eq!(remark(&alike), None, "{alike:?}");
        }
    }
}
