//! Two or more runs side by side: each figure, and how many times as large as in the first run.

use ontick_record::{Run, Series};

use crate::Style;
use crate::figures::{Column, LATENCIES, latency, share_in_time};
use crate::number::times;
use crate::printable::printable;
use crate::text::shortened;

/// A run and what to call it, as a rule the name of its file.
#[derive(Debug, Clone, Copy)]
pub struct Named<'a> {
    /// Shown beside the figures.
    pub name: &'a str,
    /// The run.
    pub run: &'a Run,
}

/// The figures that are compared, by their column.
pub(crate) fn compared() -> impl Iterator<Item = &'static Column> {
    LATENCIES.iter().filter(|c| ["p50", "p99", "p99.9", "max"].contains(&c.head))
}

/// One series in a comparison.
pub(crate) struct Entry<'a> {
    /// The run's name.
    pub name: &'a str,
    pub series: &'a Series,
    /// The series of the first run that it is held against; none for that run's own.
    pub base: Option<&'a Series>,
}

impl Entry<'_> {
    /// How many times as large as in the first run each compared figure is.
    pub fn ratios(&self) -> Option<Vec<String>> {
        let base = self.base?;
        let ratio = |of: fn(&Series) -> Option<u64>| match (of(self.series), of(base)) {
            (Some(a), Some(b)) if b > 0 => times(a as f64 / b as f64),
            _ => "—".into(),
        };
        Some(compared().map(|c| ratio(c.of)).collect())
    }
}

/// The series of all runs, those that are held against each other together: a series is held against
/// that of the same name in the first run, or against the first run's first where there is none.
pub(crate) fn entries<'a>(runs: &[Named<'a>]) -> Vec<Vec<Entry<'a>>> {
    let Some((first, others)) = runs.split_first() else { return Vec::new() };
    let mut groups: Vec<Vec<Entry>> =
        first.run.series.iter().map(|s| vec![Entry { name: first.name, series: s, base: None }]).collect();
    for other in others {
        for series in &other.run.series {
            let same = first.run.series.iter().position(|s| s.name == series.name).unwrap_or(0);
            let base = first.run.series.get(same);
            if groups.is_empty() {
                groups.push(Vec::new());
            }
            groups[same].push(Entry { name: other.name, series, base });
        }
    }
    groups
}

/// The comparison as text: below each series' figures, how many times those of the first run they are.
pub fn text(runs: &[Named], style: &Style) -> String {
    const CELL: usize = 9;
    const SHARE: usize = 10;
    let room = style.width.saturating_sub(2 + compared().count() * CELL + SHARE).max(12);
    let groups = entries(runs);
    let label = |e: &Entry| printable(&label(e));
    let longest = groups.iter().flatten().map(|e| label(e).chars().count()).max().unwrap_or(0).min(room);
    let mut text = " ".repeat(2 + longest);
    compared().for_each(|c| text.push_str(&format!("{:>CELL$}", c.head)));
    text.push_str(&format!("{:>SHARE$}\n", "< 3us"));
    for group in &groups {
        for e in group {
            text.push_str(&format!("  {:longest$}", shortened(&label(e), longest)));
            for column in compared() {
                text.push_str(&format!("{:>CELL$}", latency((column.of)(e.series))));
            }
            text.push_str(&format!("{:>SHARE$}\n", share_in_time(e.series)));
            if let Some(ratios) = e.ratios() {
                text.push_str(&" ".repeat(2 + longest));
                ratios.iter().for_each(|r| text.push_str(&format!("{r:>CELL$}")));
                text.push('\n');
            }
        }
    }
    text
}

/// `old.json: hybrid`
fn label(e: &Entry) -> String {
    format!("{}: {}", e.name, e.series.name)
}
