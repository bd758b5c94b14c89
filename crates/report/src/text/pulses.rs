//! The table of pulses: how wide they were, and by how much that was wrong.

use ontick_record::{Run, Series};

use super::Style;
use super::colour::Paint;
use super::lines::{hanging, shortened};
use crate::figures::latency;
use crate::number::count;
use crate::printable::printable;
use crate::pulses::{micros, subtracted};

const WIDTH: usize = 10;
const ERROR: usize = 7;
const MISSED: usize = 7;

/// Shortest, average and longest, the error's percentiles, and what was missed.
pub(super) fn table(run: &Run, style: &Style) -> String {
    let columns = 3 * WIDTH + 3 * ERROR + MISSED;
    let longest = run.series.iter().map(|s| printable(&s.name).chars().count()).max().unwrap_or(0);
    let label = longest.min(style.width.saturating_sub(2 + columns).max(10));
    let mut text = format!("  {:label$}{:>w$}{:>e$}\n", "", "width, us", "error", w = 3 * WIDTH, e = 3 * ERROR);
    text.push_str(&format!("  {:label$}{:>WIDTH$}{:>WIDTH$}{:>WIDTH$}", "", "shortest", "average", "longest"));
    text.push_str(&format!("{:>ERROR$}{:>ERROR$}{:>ERROR$}{:>MISSED$}\n", "p50", "p99", "max", "missed"));
    for series in &run.series {
        text.push_str(&format!("  {:label$}", shortened(&printable(&series.name), label)));
        text.push_str(&row(series, style));
    }
    for sentence in notes(run) {
        text.push_str(&hanging("  ", "", &printable(&sentence), style.width));
    }
    text
}

fn row(series: &Series, style: &Style) -> String {
    let mut text = String::new();
    let width = series.pulse.as_ref().map(|pulse| &pulse.width);
    let widths =
        [width.and_then(|w| w.min_ns), width.and_then(|w| w.mean_ns.map(|ns| ns as u64)), width.and_then(|w| w.max_ns)];
    for ns in widths {
        text.push_str(&format!("{:>WIDTH$}", ns.map_or("—".into(), micros)));
    }
    for ns in [series.latency.quantile(0.5), series.latency.quantile(0.99), series.latency.max_ns] {
        text.push_str(&format!("{:>ERROR$}", latency(ns)));
    }
    let missed = format!("{:>MISSED$}", count(series.missed));
    text.push_str(&if series.missed > 0 { Paint(style.colour).look(&missed) } else { missed });
    text.push('\n');
    text
}

/// What was subtracted, and what told the widths.
fn notes(run: &Run) -> Vec<String> {
    let mut notes: Vec<String> = run.series.iter().filter_map(subtracted).collect();
    let mut told: Vec<&str> = Vec::new();
    for pulse in run.series.iter().filter_map(|s| s.pulse.as_ref()).filter(|p| !p.measured_by.is_empty()) {
        if !told.contains(&pulse.measured_by.as_str()) {
            told.push(&pulse.measured_by);
        }
    }
    if !told.is_empty() {
        notes.push(format!("Measured by {}.", told.join("; ")));
    }
    notes
}
