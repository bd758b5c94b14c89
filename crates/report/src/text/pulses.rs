//! The tables of pulses: how wide they were, and by how much that was wrong.

use ontick_record::{Measurement, Run, Series};

use super::Style;
use super::lines::{hanging, shortened};
use crate::colour::Paint;
use crate::figures::latency;
use crate::number::count;
use crate::printable::printable;
use crate::pulses::{notes, parts, widths};
use crate::reference_pulses;

const WIDTH: usize = 10;
const ERROR: usize = 7;
const MISSED: usize = 7;

/// All of it, with what must be known beside.
pub(super) fn pulses(run: &Run, style: &Style) -> String {
    let mut text =
        if run.measurement == Measurement::PulseTable { source_table(run, style) } else { table(run, style) };
    for sentence in notes(run) {
        text.push_str(&hanging("  ", "", &printable(&sentence), style.width));
    }
    text
}

/// Shortest, average and longest, the error's percentiles, and what was missed.
fn table(run: &Run, style: &Style) -> String {
    let columns = 3 * WIDTH + 3 * ERROR + MISSED;
    let longest = run.series.iter().map(|s| printable(&s.name).chars().count()).max().unwrap_or(0);
    let label = longest.min(style.width.saturating_sub(2 + columns).max(10));
    let what = if run.measurement == Measurement::Period { "period, us" } else { "width, us" };
    let mut text = format!("  {:label$}{what:>w$}{:>e$}\n", "", "error", w = 3 * WIDTH, e = 3 * ERROR);
    text.push_str(&format!("  {:label$}{:>WIDTH$}{:>WIDTH$}{:>WIDTH$}", "", "shortest", "average", "longest"));
    text.push_str(&format!("{:>ERROR$}{:>ERROR$}{:>ERROR$}{:>MISSED$}\n", "p50", "p99", "max", "missed"));
    for series in &run.series {
        text.push_str(&format!("  {:label$}", shortened(&printable(&series.name), label)));
        text.push_str(&row(series, style));
    }
    text
}

fn row(series: &Series, style: &Style) -> String {
    let mut text: String = widths(series.pulse.as_ref()).iter().map(|cell| format!("{cell:>WIDTH$}")).collect();
    for ns in [series.latency.quantile(0.5), series.latency.quantile(0.99), series.latency.max_ns] {
        text.push_str(&format!("{:>ERROR$}", latency(ns)));
    }
    let missed = format!("{:>MISSED$}", count(series.missed));
    text.push_str(&if series.missed > 0 { Paint(style.colour).notice(&missed) } else { missed });
    text.push('\n');
    text
}

/// The table of source 003 with that source's own figures beside each width.
fn source_table(run: &Run, style: &Style) -> String {
    const LABEL: usize = 18;
    let paint = Paint(style.colour);
    let three = |cells: &[String; 3]| cells.iter().map(|cell| format!("{cell:>WIDTH$}")).collect::<String>();
    let heads = ["shortest", "average", "longest"].map(String::from);
    let mut text = format!("  {:LABEL$}{:>w$}{:>w$}\n", "", "idle, us", "loaded, us", w = 3 * WIDTH);
    text.push_str(&format!("  {:LABEL$}{}{}\n", "", three(&heads), three(&heads)));
    for part in parts(run) {
        text.push_str(&paint.notice(&format!("{} us\n", count(part.wanted_ns / 1_000))));
        for (name, cells) in &part.rows {
            let cells = cells.map(|series| three(&series.map_or(Default::default(), |s| widths(s.pulse.as_ref()))));
            let line = format!("  {:LABEL$}{}{}", shortened(&printable(name), LABEL), cells[0], cells[1]);
            text.push_str(&format!("{}\n", line.trim_end()));
        }
        for row in reference_pulses::of(part.wanted_ns) {
            let label = match row.some_longer_than {
                "" => format!("source 003: {}", row.how),
                some => format!("source 003: {} (some > {some})", row.how),
            };
            let cells = [row.shortest, row.average, row.longest].map(String::from);
            text.push_str(&format!("  {:l$}{}\n", label, three(&cells), l = LABEL + 3 * WIDTH));
        }
    }
    text.push_str("  Source 003 measured on a Raspberry Pi 3 beside busy processes.\n");
    text
}
