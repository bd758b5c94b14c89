//! The table of a network's streams.

use std::iter;

use ontick_record::network::{NetworkProof, ProvenStream};
use ontick_units::exact;

use super::Style;
use crate::colour::Paint;
use crate::figures::latency;
use crate::number::count;
use crate::printable::printable;
use crate::streams::{ROWS, judged, ranked};

/// Columns of a terminal on which the least and the planned latency have room, too.
const WIDE: usize = 100;

/// A row for each stream at each listener; of many, those that matter most.
pub(super) fn table(of: &NetworkProof, style: &Style) -> String {
    let (paint, wide) = (Paint(style.colour), style.width >= WIDE);
    let shown: Vec<_> = ranked(of).into_iter().take(ROWS).collect();
    let names: Vec<String> =
        shown.iter().map(|stream| printable(&format!("{} to {}", stream.name, stream.to))).collect();
    let label = names.iter().map(|name| name.chars().count() + 1).max().unwrap_or(0).clamp(10, 20);
    let rows: Vec<_> = shown.iter().map(|stream| cells(stream, wide)).collect();
    let widths: Vec<usize> =
        columns(wide).enumerate().map(|(n, of)| width(of, rows.iter().map(|row| &row[n]))).collect();
    let line = |cells: &mut dyn Iterator<Item = &str>| -> String {
        cells.zip(&widths).map(|(cell, width)| format!("{cell:>width$}")).collect()
    };
    let mut text = format!("  {:<label$}{}  verdict\n", "stream", line(&mut columns(wide).map(|(name, _)| name)));
    for ((stream, name), row) in shown.iter().zip(&names).zip(&rows) {
        // A name that is too long is on a line of its own, as no name is cut.
        text.push_str(&match name.chars().count() < label {
            true => format!("  {name:<label$}"),
            false => format!("  {name}\n  {:<label$}", ""),
        });
        let word = judged(stream);
        let verdict = if stream.holds() { word.to_string() } else { paint.notice(word) };
        text.push_str(&format!("{}  {verdict}\n", line(&mut row.iter().map(String::as_str))));
    }
    if of.streams.len() > ROWS {
        text.push_str(&format!(
            "  {ROWS} of {} rows: those that do not hold, and the nearest to their deadline\n",
            of.streams.len()
        ));
    }
    text
}

/// Names of the columns between the stream and its verdict, and how wide they are at least.
fn columns(wide: bool) -> impl Iterator<Item = (&'static str, usize)> {
    let if_wide = ["planned", "min"].into_iter().filter(move |_| wide);
    let latencies = iter::once("promise").chain(if_wide).chain(["p99", "max"]);
    latencies.map(|name| (name, 9)).chain([("sent", 9), ("lost", 6), ("late", 6)])
}

/// A row of them.
fn cells(stream: &ProvenStream, wide: bool) -> Vec<String> {
    let if_wide = [stream.planned_ns, stream.min_ns].into_iter().filter(|_| wide);
    let latencies = if_wide.chain([stream.p99_ns, stream.max_ns]).map(latency);
    let counts = [stream.sent, stream.lost(), stream.late].map(count);
    iter::once(exact(stream.deadline_ns)).chain(latencies).chain(counts).collect()
}

/// As wide as the longest cell, with two blanks before it.
fn width<'a>((_, least): (&str, usize), cells: impl Iterator<Item = &'a String>) -> usize {
    cells.map(|cell| cell.chars().count() + 2).max().unwrap_or(0).max(least)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_numbers_stay_apart() {
        let stream = |name: &str, sent, received, late| ProvenStream {
            name: name.into(),
            to: "b".into(),
            deadline_ns: 1_234_567,
            sent,
            received,
            late,
            ..ProvenStream::default()
        };
        let streams = vec![stream("many", 1_060_006, 1_006, 60_006), stream("few", 60, 0, 0)];
        let of = NetworkProof { streams, ..NetworkProof::default() };
        for width in [80, WIDE] {
            let text = table(&of, &Style { colour: false, width });
            let rows: Vec<Vec<&str>> = text
                .lines()
                .map(|line| line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect())
                .collect();
            assert!(rows.len() == 3 && rows.iter().all(|row| row.len() == rows[0].len()), "{text}");
            let many = rows.iter().find(|row| row[0] == "many to b").unwrap();
            assert!(many.ends_with(&["1 060 006", "1 059 000", "60 006", many[many.len() - 1]]), "{text}");
        }
    }
}
