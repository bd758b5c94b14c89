//! The table of latencies: one row per series, one column per figure, aligned on the unit.

use ontick_record::{Run, Series};

use super::Style;
use super::lines::{hanging, shortened};
use crate::colour::Paint;
use crate::figures::{LATENCIES, STD_DEV, latency, missed_cycles, rough_deviations, share_in_time};
use crate::grouping::groups;
use crate::printable::printable;
use crate::together::with_all_cpus;

/// A label is not cut below this; rather do columns go, or is the line too long.
const LABEL: usize = 10;
/// Columns go in this order where a terminal is too narrow for all.
const FIRST_TO_GO: [&str; 6] = [STD_DEV, "p99.99", "min", "p99.9", "p50", "p99"];

/// One row, ready to be aligned.
struct Row<'a> {
    group: String,
    label: String,
    cells: Vec<String>,
    series: &'a Series,
}

/// The table of a run.
pub(super) fn table(run: &Run, style: &Style) -> String {
    let run = &*with_all_cpus(run);
    let rows = rows(run);
    let shape = Shape::of(&rows, style);
    let Shape { group, label, columns } = &shape;
    let heads = heads();
    let mut text = " ".repeat(2 + group + label);
    columns.iter().for_each(|(i, w)| text.push_str(&right(heads[*i], *w)));
    text.push_str(&last_column(published_head(run)));
    text.push('\n');
    for row in &rows {
        let own_line = *group == 0 && !row.group.is_empty();
        if own_line {
            text.push_str(&format!("{}\n", shortened(&row.group, style.width)));
        }
        let beside = if own_line { "" } else { &row.group };
        text.push_str(&format!("  {beside:group$}{:label$}", shortened(&row.label, *label)));
        for (i, w) in columns {
            text.push_str(&painted(row, *i, right(&row.cells[*i], *w), style));
        }
        text.push_str(&last_column(row.series.published.as_ref().map(|published| printable(&published.figure))));
        text.push('\n');
    }
    let has_deviations = columns.iter().any(|(i, _)| heads[*i] == STD_DEV);
    let rough = rough_deviations(run.series.iter()).filter(|_| has_deviations);
    text.extend(rough.map(|said| hanging("  ", "", &said, style.width)));
    text
}

/// Who published figures of the same cases; they stand in the last column.
fn published_head(run: &Run) -> Option<String> {
    run.series.iter().find_map(|s| s.published.as_ref()).map(|published| printable(&published.source))
}

fn last_column(cell: Option<String>) -> String {
    cell.map_or_else(String::new, |cell| format!("  {cell}"))
}

/// How wide everything is.
struct Shape {
    /// 0 where groups have lines of their own.
    group: usize,
    label: usize,
    /// Which column, and its width with the gap before it.
    columns: Vec<(usize, usize)>,
}

impl Shape {
    /// Two spaces between columns, one where labels would be cut otherwise; fewer columns where not even that fits.
    fn of(rows: &[Row], style: &Style) -> Self {
        let heads = heads();
        let content = |i: usize| rows.iter().map(|r| width(&r.cells[i])).chain([width(heads[i])]).max().unwrap_or(0);
        let group = rows.iter().map(|r| width(&r.group)).max().unwrap_or(0);
        let group = if group > 0 && !style.is_narrow() { group + 2 } else { 0 };
        let longest = rows.iter().map(|r| width(&r.label)).max().unwrap_or(0);
        let published: Vec<_> = rows.iter().filter_map(|r| r.series.published.as_ref()).collect();
        let published = published.iter().map(|p| width(&p.figure).max(width(&p.source)) + 2).max().unwrap_or(0);
        // A further column must not make the lines longer.
        let room = if published > 0 { style.width.saturating_sub(published + group) } else { style.width };
        let shape = |gap, gone: &[&str]| {
            let crowded = published > 0 && room < 60 && style.width >= 80;
            let stays = |i: &usize| fits(*i, room) && !gone.contains(&heads[*i]) && !(crowded && heads[*i] == "p99.9");
            let columns: Vec<_> = (0..heads.len()).filter(stays).map(|i| (i, content(i) + gap)).collect();
            let used = 2 + published + group + columns.iter().map(|(_, w)| w).sum::<usize>();
            let label = longest.min(style.width.saturating_sub(used).max(LABEL));
            (Shape { group, label, columns }, style.width.saturating_sub(used))
        };
        let wide = shape(2, &[]);
        if wide.1 >= longest {
            return wide.0;
        }
        let mut narrower = (0..=FIRST_TO_GO.len()).map(|gone| shape(1, &FIRST_TO_GO[..gone]));
        let fitting = narrower.clone().find(|(_, room)| *room >= longest.min(LABEL));
        fitting.or_else(|| narrower.next_back()).map_or(wide.0, |(shape, _)| shape)
    }
}

fn heads() -> Vec<&'static str> {
    LATENCIES.iter().map(|c| c.head).chain(["< 3us", "missed"]).collect()
}

/// Standard deviation and mean are the first to go where there is little room, then the largest percentile and the smallest value.
fn fits(column: usize, room: usize) -> bool {
    match LATENCIES.get(column).map(|c| c.head) {
        Some("p99.99") => room >= 80,
        Some("min") => room >= 70,
        // 80 columns are taken by what decides.
        Some("mean") => room >= 96,
        Some(STD_DEV) => room >= 106,
        _ => true,
    }
}

fn rows(run: &Run) -> Vec<Row<'_>> {
    let mut rows = Vec::new();
    for group in groups(run) {
        for (i, (label, series)) in group.rows.into_iter().enumerate() {
            let latencies = LATENCIES.iter().map(|c| {
                let mark = if (c.is_rough)(series) { "~" } else { "" };
                format!("{mark}{}", latency((c.of)(series)))
            });
            let cells =
                latencies.chain([share_in_time(series), missed_cycles(run, series)]).map(unit_aligned).collect();
            let group = if i == 0 { printable(group.name) } else { String::new() };
            rows.push(Row { group, label: printable(&label), cells, series });
        }
    }
    rows
}

/// Whole seconds have a unit of one letter: a space after it keeps the numbers in line.
fn unit_aligned(cell: String) -> String {
    let number = cell.strip_suffix('s');
    if number.is_some_and(|n| n.ends_with(|c: char| c.is_ascii_digit())) { format!("{cell} ") } else { cell }
}

fn painted(row: &Row, column: usize, cell: String, style: &Style) -> String {
    let missed = LATENCIES.len() + 1;
    if column == missed && row.series.missed > 0 { Paint(style.colour).notice(&cell) } else { cell }
}

fn right(cell: &str, to: usize) -> String {
    format!("{cell:>to$}")
}

fn width(text: &str) -> usize {
    printable(text).chars().count()
}
