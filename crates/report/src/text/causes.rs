//! The table of causes.

use ontick_record::{Run, Series};

use super::Style;
use super::lines::{hanging, shortened};
use crate::causes::{in_order, label, price, sentence};
use crate::figures::latency;
use crate::number::{count, percent_down};
use crate::printable::printable;
use crate::verdict::decisive;

/// Rows, at most; the last sums up what is left.
const ROWS: usize = 8;
/// Columns of the figures, with the gaps before them.
const FIGURES: usize = 9 + 9 + 9 + 9;

/// Causes of the series that the verdict is about: a table and a sentence. Empty where nothing was explained.
pub(super) fn causes(run: &Run, style: &Style) -> String {
    let Some(series) = decisive(run) else { return String::new() };
    let Some(sentence) = sentence(series) else { return String::new() };
    let mut text = table(series, style);
    text.push_str(&hanging("", "", &printable(&of(run, series, &sentence)), style.width));
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
    let name = widest.max(5).min(style.width.saturating_sub(FIGURES + 2).max(10));
    let mut text = format!("  {:name$}{:>9}{:>9}{:>9}{:>9}\n", "cause", "count", "share", "p50", "max");
    for (label, n, p50, max) in rows {
        let share = format!("{} %", percent_down(n, all, 1));
        text.push_str(&format!("  {:name$}{:>9}{share:>9}{p50:>9}{max:>9}\n", shortened(&label, name), count(n)));
    }
    text.push('\n');
    text
}
