//! Two or more runs side by side: each figure, and how many times as large as in the first run.

use std::ptr;

use ontick_record::compare::Pair;
use ontick_record::{Run, Series};

use crate::Style;
use crate::figures::{Column, LATENCIES, latency, missed_cycles, share_in_time, waits_differently};
use crate::number::times;
use crate::printable::printable;
use crate::text::{hanging, shortened};

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
    /// The name of the run it belongs to.
    pub name: &'a str,
    pub run: &'a Run,
    pub series: &'a Series,
    /// How many times as large as in the first run each compared figure is, where one stands against it.
    pub ratios: Option<Vec<String>>,
}

impl<'a> Entry<'a> {
    fn of(named: &Named<'a>, series: &'a Series, pair: Option<&Pair>) -> Self {
        let ratios = |p: &Pair| [p.p50, p.p99, p.p99_9, p.max].map(|r| r.ratio.map_or("—".into(), times)).into();
        Self { name: named.name, run: named.run, series, ratios: pair.map(ratios) }
    }
}

/// The series of all runs, those that stand against each other together; the others stand alone.
pub(crate) fn entries<'a>(runs: &[Named<'a>]) -> Vec<Vec<Entry<'a>>> {
    let Some((first, others)) = runs.split_first() else { return Vec::new() };
    let mut groups: Vec<Vec<Entry>> = first.run.series.iter().map(|s| vec![Entry::of(first, s, None)]).collect();
    for other in others {
        // By address and place, as names may come twice: pairs are in the order of the partners.
        let partners = ontick_record::compare::partners(first.run, other.run);
        let pairs = ontick_record::compare::compare(first.run, other.run).pairs;
        for series in &other.run.series {
            let pair = partners.iter().zip(&pairs).find(|((_, after), _)| ptr::eq(*after, series));
            let place = |before: &Series| first.run.series.iter().position(|s| ptr::eq(s, before));
            match pair.and_then(|((before, _), pair)| Some((place(before)?, pair))) {
                Some((group, pair)) => groups[group].push(Entry::of(other, series, Some(pair))),
                None => groups.push(vec![Entry::of(other, series, None)]),
            }
        }
    }
    groups
}

/// What the ratios are, or why there are none.
pub(crate) fn explanation(runs: &[Named]) -> &'static str {
    match entries(runs).iter().flatten().any(|e| e.ratios.is_some()) {
        true => "The ratio below a figure compares it with the first run.",
        false => "There are no ratios: no series of a later run has the name of one in the first.",
    }
}

/// That runs which stand against each other are of different measurements, if they are.
pub(crate) fn different(runs: &[Named]) -> Option<String> {
    let (first, others) = runs.split_first()?;
    let of =
        |named: &Named| format!("{} of \"{}\"", printable(named.name), printable(&named.run.measurement.to_string()));
    let other = others.iter().find(|other| {
        other.run.measurement != first.run.measurement
            && !ontick_record::compare::partners(first.run, other.run).is_empty()
    })?;
    Some(format!(
        "{} and {} are different measurements, whose figures need not be of the same thing.",
        of(first),
        of(other)
    ))
}

/// Names without their folders, where they still differ then.
pub(crate) fn short_names<'a>(runs: &[Named<'a>]) -> Vec<Named<'a>> {
    let short = |n: &Named<'a>| n.name.rsplit('/').next().unwrap_or(n.name);
    let unique = runs.iter().all(|a| runs.iter().filter(|b| short(a) == short(b)).count() == 1);
    runs.iter().map(|n| Named { name: if unique { short(n) } else { n.name }, run: n.run }).collect()
}

/// The comparison as text: below each series' figures, how many times those of the first run they are.
pub fn text(runs: &[Named], style: &Style) -> String {
    let groups = entries(&short_names(runs));
    let all = || groups.iter().flatten();
    let figures = all().flat_map(|e| compared().map(|column| latency((column.of)(e.series))));
    let cell = width_of("p99.9", figures.chain(all().filter_map(|e| e.ratios.clone()).flatten()));
    let share = width_of("< 3us", all().map(|e| share_in_time(e.series)));
    let missed = width_of("missed", all().map(|e| missed_cycles(e.run, e.series)));
    // On a narrow terminal labels have lines of their own, and what still does not fit goes.
    let least = if style.is_narrow() { 0 } else { 12 };
    let fitting = style.width.saturating_sub(2 + least + share + missed) / cell;
    let gone = &["p99.9", "p50", "max"][..compared().count().saturating_sub(fitting).min(3)];
    let shown: Vec<(usize, &Column)> = compared().enumerate().filter(|(_, c)| !gone.contains(&c.head)).collect();
    let room = match style.is_narrow() {
        true => 0,
        false => style.width.saturating_sub(2 + shown.len() * cell + share + missed).max(least),
    };
    let label = |e: &Entry| printable(&label(e));
    let longest = all().map(|e| label(e).chars().count()).max().unwrap_or(0).min(room);
    let mut text = " ".repeat(2 + longest);
    shown.iter().for_each(|(_, c)| text.push_str(&format!("{:>cell$}", c.head)));
    text.push_str(&format!("{:>share$}{:>missed$}\n", "< 3us", "missed"));
    for group in &groups {
        for e in group {
            match style.is_narrow() {
                true => text.push_str(&format!("{}\n  ", shortened(&label(e), style.width))),
                false => text.push_str(&format!("  {:longest$}", shortened(&label(e), longest))),
            }
            for (_, column) in &shown {
                text.push_str(&format!("{:>cell$}", latency((column.of)(e.series))));
            }
            let not_acted_on = missed_cycles(e.run, e.series);
            text.push_str(&format!("{:>share$}{not_acted_on:>missed$}\n", share_in_time(e.series)));
            if let Some(ratios) = &e.ratios {
                text.push_str(&" ".repeat(2 + longest));
                shown.iter().for_each(|(i, _)| text.push_str(&format!("{:>cell$}", ratios[*i])));
                text.push('\n');
            }
        }
    }
    text.push('\n');
    let waits = waits_differently(runs.iter().flat_map(|n| &n.run.series)).map(String::from);
    let sentences = [waits, Some(explanation(runs).into()), different(&short_names(runs))];
    sentences.into_iter().flatten().for_each(|sentence| text.push_str(&hanging("  ", "", &sentence, style.width)));
    text
}

/// How wide a column is whose head and cells these are, with what parts it from the one before.
fn width_of(head: &str, cells: impl Iterator<Item = String>) -> usize {
    2 + cells.map(|cell| cell.chars().count()).max().unwrap_or(0).max(head.len())
}

/// `old.json: hybrid`
fn label(e: &Entry) -> String {
    format!("{}: {}", e.name, e.series.name)
}
