//! The table of causes.

use ontick_record::{Run, Series};

use super::Style;
use super::lines::{hanging, shortened};
use crate::causes::{in_order, label, largest_with_stack, price, sentence};
use crate::figures::latency;
use crate::number::{count, percent_down};
use crate::printable::printable;
use crate::together::most_disturbed;
use crate::verdict::decisive;

/// Rows, at most; the last sums up what is left.
const ROWS: usize = 8;
/// A column of figures, with the gap before it.
const FIGURE: usize = 9;
/// A cause's name is not cut below this.
const NAME: usize = 10;

/// Causes of the series that the verdict is about, and of several CPUs those of the one with most outliers: a table and a
/// sentence. Empty where nothing was explained.
pub(super) fn causes(run: &Run, style: &Style) -> String {
    let Some(series) = most_disturbed(run).or_else(|| decisive(run)) else { return String::new() };
    let Some(sentence) = sentence(series) else { return String::new() };
    let mut text = table(series, style);
    text.push_str(&hanging("", "", &printable(&of(run, series, &sentence)), style.width));
    if let Some(stack) = largest_with_stack(series) {
        text.push_str(&hanging("", "", &printable(&stack), style.width));
    }
    if let Some(price) = price(series) {
        text.push_str(&hanging("", "", &price, style.width));
    }
    text
}

/// Where there are several series it is said whose causes these are.
fn of(run: &Run, series: &Series, sentence: &str) -> String {
    if run.series.len() > 1 { format!("{} — {sentence}", series.name) } else { sentence.into() }
}

fn table(series: &Series, style: &Style) -> String {
    let causes = in_order(series);
    if causes.is_empty() {
        return String::new();
    }
    let all: u64 = causes.iter().map(|cause| cause.count).sum();
    let shown = if causes.len() > ROWS { ROWS - 1 } else { causes.len() };
    // Where all do not fit, the share can be reckoned from the counts, and the median goes before the maximum.
    let room = style.width.saturating_sub(2 + NAME) / FIGURE;
    let columns: Vec<usize> = [0, 3, 2, 1].into_iter().take(room.max(2)).collect();
    let columns: Vec<usize> = (0..4).filter(|column| columns.contains(column)).collect();
    let mut rows: Vec<(String, u64, String, String)> = causes[..shown]
        .iter()
        .map(|c| (printable(&label(&c.cause, &c.detail)), c.count, latency(Some(c.p50_ns)), latency(Some(c.max_ns))))
        .collect();
    let rest = &causes[shown..];
    if !rest.is_empty() {
        let max_ns = rest.iter().map(|cause| cause.max_ns).max();
        let count = rest.iter().map(|cause| cause.count).sum();
        rows.push((format!("{} others", rest.len()), count, String::new(), latency(max_ns)));
    }
    let widest = rows.iter().map(|row| row.0.chars().count()).max().unwrap_or(0);
    let name = widest.max(5).min(style.width.saturating_sub(columns.len() * FIGURE + 2).max(NAME));
    let line = |label: &str, figures: [String; 4]| {
        let figures: String = columns.iter().map(|column| format!("{:>FIGURE$}", figures[*column])).collect();
        format!("  {:name$}{figures}\n", shortened(label, name))
    };
    let mut text = line("cause", ["count", "share", "p50", "max"].map(String::from));
    for (label, n, p50, max) in rows {
        text.push_str(&line(&label, [count(n), format!("{} %", percent_down(n, all, 1)), p50, max]));
    }
    text.push('\n');
    text
}
