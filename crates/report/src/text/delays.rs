//! The table of delays: asked for in rows, got in the columns of the methods, medians above and p99 below.

use ontick_record::Run;
use ontick_units::exact;

use super::Style;
use super::lines::hanging;
use crate::delays::{Delays, got, of};
use crate::figures::latency;
use crate::printable::printable;

/// The quantiles that have a table each.
const TABLES: [(&str, f64); 2] = [("got, p50", 0.5), ("got, p99", 0.99)];

/// The tables, or nothing where the run has no delays or a terminal no room for them.
pub(super) fn delays(run: &Run, style: &Style) -> Option<String> {
    let delays = of(run)?;
    let names: Vec<String> = delays.methods.iter().map(|method| printable(method)).collect();
    let widths: Vec<usize> = names.iter().map(|name| name.chars().count().max(7) + 2).collect();
    let label = TABLES[0].0.len();
    if 2 + label + widths.iter().sum::<usize>() > style.width {
        return None;
    }
    let line = |label_text: &str, cells: &[String]| {
        let cells: String = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:>width$}")).collect();
        format!("  {label_text:label$}{cells}\n")
    };
    let mut text = line("asked", &names);
    for (head, share) in TABLES {
        text.push_str(&format!("  {head}\n"));
        for (asked_ns, cells) in rows(&delays, share) {
            text.push_str(&line(&format!("{:>label$}", exact(asked_ns)), &cells));
        }
    }
    if let Some(note) = delays.note() {
        text.push_str(&hanging("  ", "", note, style.width));
    }
    Some(text)
}

fn rows(delays: &Delays, share: f64) -> impl Iterator<Item = (u64, Vec<String>)> {
    delays.rows.iter().map(move |(asked_ns, cells)| {
        (*asked_ns, cells.iter().map(|series| latency(series.and_then(|s| got(s, share)))).collect())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delays::tests::run;

    #[test]
    fn delays_stand_below_who_made_them() {
        let run = run(&[("usleep", 0, 53_000), ("usleep", 20_000, 54_000), ("spin", 0, 40)]);
        let text = delays(&run, &Style::default()).unwrap();
        let wanted = "  \
  asked      usleep     spin
  got, p50
        0s   53.0us     40ns
      20us   74.0us        —
  got, p99
        0s   53.0us     40ns
      20us   74.0us        —
  Source 002 found about 70us added to each delay of usleep, on a Raspberry Pi
  at normal scheduling.
";
        assert_eq!(text, wanted);
    }

    #[test]
    fn a_narrow_terminal_has_a_row_for_each() {
        assert!(delays(&run(&[("clock_nanosleep", 0, 53_000)]), &Style { width: 24, ..Style::default() }).is_none());
    }
}
