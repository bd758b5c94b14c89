//! The figures of one series, as every table shows them.

use ontick_record::compare::{below_limit, missed};
use ontick_record::{Run, Series, units::show};

use crate::number::{count, percent_down, telling_decimals};

/// The latency that a cycle is held against where nothing else is asked: source of `< 3us`.
pub(crate) const IN_TIME_NS: u64 = ontick_record::compare::LIMIT_NS;

/// One column of a table of latencies.
pub(crate) struct Column {
    /// What stands above it.
    pub head: &'static str,
    /// The latency that stands in it, where it is known.
    pub of: fn(&Series) -> Option<u64>,
}

/// The latencies that every table shows, in this order.
pub(crate) const LATENCIES: [Column; 6] = [
    Column { head: "min", of: |s| s.latency.min_ns },
    Column { head: "p50", of: |s| s.latency.quantile(0.5) },
    Column { head: "p99", of: |s| s.latency.quantile(0.99) },
    Column { head: "p99.9", of: |s| s.latency.quantile(0.999) },
    Column { head: "p99.99", of: |s| s.latency.quantile(0.9999) },
    Column { head: "max", of: |s| s.latency.max_ns },
];

/// A latency, or a dash where it is not known.
pub(crate) fn latency(ns: Option<u64>) -> String {
    ns.map_or_else(|| "—".into(), show)
}

/// The share of the cycles, missed ones included, that were acted on in time, in percent; a dash where nothing tells it.
pub(crate) fn share_in_time(series: &Series) -> String {
    let (below, all) = (series.in_time(IN_TIME_NS), series.cycles());
    match all {
        0 => "—".into(),
        _ if below_limit(series).is_none() => "—".into(),
        _ if below == all => "100%".into(),
        _ => format!("{}%", percent_down(below, all, telling_decimals(below, all))),
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
        "Not all rows pay alike: a sleeping wait shows wake latency; hybrid and spin show the error against the deadline and pay for it with CPU time.",
    )
}
