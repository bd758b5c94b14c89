//! The table of a network's streams.

use ontick_record::network::NetworkProof;
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
    let mut text = format!("  {:<label$}{:>9}", "stream", "promise");
    if wide {
        text.push_str(&format!("{:>9}{:>9}", "planned", "min"));
    }
    text.push_str(&format!("{:>9}{:>9}{:>9}{:>6}{:>6}  verdict\n", "p99", "max", "sent", "lost", "late"));
    for (stream, name) in shown.iter().zip(&names) {
        // A name that is too long is on a line of its own, as no name is cut.
        text.push_str(&match name.chars().count() < label {
            true => format!("  {name:<label$}"),
            false => format!("  {name}\n  {:<label$}", ""),
        });
        let [min, p99, max] = [stream.min_ns, stream.p99_ns, stream.max_ns].map(latency);
        text.push_str(&format!("{:>9}", exact(stream.deadline_ns)));
        if wide {
            text.push_str(&format!("{:>9}{min:>9}", latency(stream.planned_ns)));
        }
        let lost = count(stream.lost());
        text.push_str(&format!("{p99:>9}{max:>9}{:>9}{lost:>6}{:>6}  ", count(stream.sent), count(stream.late)));
        let word = judged(stream);
        text.push_str(&if stream.holds() { word.to_string() } else { paint.notice(word) });
        text.push('\n');
    }
    if of.streams.len() > ROWS {
        text.push_str(&format!(
            "  {ROWS} of {} rows: those that do not hold, and the nearest to their deadline\n",
            of.streams.len()
        ));
    }
    text
}
