//! Histogram text in the form that `cyclictest --histfile` writes, for the plot scripts that read it.

use std::fmt::Write;

use ontick_record::{Histogram, Run, Series};

use crate::buckets::has_buckets;
use crate::printable::printable;
use crate::rows::per_microsecond;

/// More rows than this are not written on their own; later samples count as overflows, as with
/// cyclictest's own `-h`.
const MOST_ROWS: u64 = 100_000;

/// The histograms of a run as cyclictest writes them: one row per microsecond, one column per series.
///
/// `rows` is cyclictest's `-h`: how many microseconds have a row of their own. Without it, as many as
/// the largest latency needs, up to 100 000. A sample lies in the microsecond of its bucket's upper
/// edge, so none is shown earlier than it was.
pub fn cyclictest_hist(run: &Run, rows: Option<u64>) -> String {
    let columns: Vec<Column> = run.series.iter().map(|s| Column::of(&s.latency)).collect();
    let needed = columns.iter().filter_map(|c| c.counts.last()).map(|(us, _)| us + 1).max().unwrap_or(0);
    let rows = rows.unwrap_or(needed.clamp(1, MOST_ROWS));
    let mut text = header(run);
    for (us, counts) in table(&columns, rows) {
        let _ = writeln!(text, "{us:06} {}", join(counts, 6, "\t"));
    }
    let inside: Vec<u64> = columns.iter().map(|c| c.up_to(rows)).collect();
    let over: Vec<u64> = columns.iter().zip(&inside).map(|(c, inside)| c.samples - inside).collect();
    let us = |ns: Option<u64>| ns.unwrap_or(0) / 1_000;
    let _ = writeln!(text, "# Total: {}", join(inside.iter().copied(), 9, " "));
    for (name, value) in [
        ("Min", (|s: &Series| s.latency.min_ns.or(lowest(&s.latency))) as fn(&Series) -> Option<u64>),
        ("Avg", |s| s.latency.mean().map(|mean| mean as u64)),
        ("Max", |s| s.latency.max_ns.or(highest(&s.latency))),
    ] {
        let _ = writeln!(text, "# {name} Latencies: {}", join(run.series.iter().map(|s| us(value(s))), 5, " "));
    }
    // Nothing lies beyond the rows of a summary, which never had any.
    if run.series.iter().any(|s| s.latency.count() > 0) && !run.series.iter().any(has_buckets) {
        return text;
    }
    let _ = writeln!(text, "# Histogram Overflows: {}", join(over.iter().copied(), 5, " "));
    // A record knows how many overflowed, not in which cycle.
    let _ = writeln!(text, "# Histogram Overflow at cycle number:");
    for (thread, over) in over.iter().enumerate() {
        let others = if *over > 0 { format!("# {over:05} others") } else { String::new() };
        let _ = writeln!(text, "# Thread {thread}: {others}");
    }
    text
}

/// Where the lowest row begins, for a minimum that is not known.
fn lowest(h: &Histogram) -> Option<u64> {
    h.buckets().iter().map(|bucket| bucket.low_ns).min()
}

/// Where the highest row ends, for a maximum that is not known: cyclictest's form has no word for that, and one below the
/// rows contradicts them. Where samples lie beyond the rows, it is below them, by which a reader can tell.
fn highest(h: &Histogram) -> Option<u64> {
    h.buckets().iter().map(|bucket| bucket.high_ns()).max()
}

/// Comment lines that tell the columns apart; readers of the format skip what begins with `#`.
fn header(run: &Run) -> String {
    let mut text = String::new();
    if let Some(what) = &run.simulated {
        let _ = writeln!(text, "# simulated: {}", printable(what));
    }
    for (i, s) in run.series.iter().enumerate() {
        let _ = writeln!(text, "# Series {i}: {}", printable(&s.name));
    }
    text.push_str("# Histogram\n");
    text
}

/// Samples per microsecond of one series, ascending, and how many samples there are in all.
struct Column {
    counts: Vec<(u64, u64)>,
    samples: u64,
}

impl Column {
    fn of(h: &Histogram) -> Self {
        let mut counts: Vec<(u64, u64)> = per_microsecond(h).collect();
        counts.sort_unstable();
        counts.dedup_by(|later, first| {
            let same = later.0 == first.0;
            first.1 = first.1.saturating_add(if same { later.1 } else { 0 });
            same
        });
        Self { counts, samples: h.count() }
    }

    fn at(&self, us: u64) -> u64 {
        self.counts.binary_search_by_key(&us, |(us, _)| *us).map_or(0, |i| self.counts[i].1)
    }

    fn up_to(&self, rows: u64) -> u64 {
        self.counts.iter().take_while(|(us, _)| *us < rows).map(|(_, n)| n).sum()
    }
}

fn table<'a>(columns: &'a [Column], rows: u64) -> impl Iterator<Item = (u64, impl Iterator<Item = u64> + 'a)> {
    (0..rows).map(move |us| (us, columns.iter().map(move |c| c.at(us))))
}

fn join(numbers: impl Iterator<Item = u64>, digits: usize, between: &str) -> String {
    numbers.map(|n| format!("{n:0digits$}")).collect::<Vec<_>>().join(between)
}
