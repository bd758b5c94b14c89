//! The table of times between edges.

use ontick_record::Run;

use super::Style;
use super::lines::shortened;
use crate::intervals::{HEADS, all_times, are_of, rows};
use crate::printable::printable;
use crate::times::Times;

/// A time, and the blank before it.
const WIDTH: usize = Times::WIDTH + 1;

/// The table; nothing of other runs.
pub(super) fn intervals(run: &Run, style: &Style) -> Option<String> {
    if !are_of(run) {
        return None;
    }
    let times = Times::of(all_times(run));
    let rows = rows(run, times);
    let name = rows.iter().map(|(name, _)| printable(name).chars().count()).max().unwrap_or(0);
    let label = name.min(style.width.saturating_sub(2 + WIDTH * HEADS.len()).max(10));
    let line = |name: &str, cells: &[&str]| {
        let cells: String = cells.iter().map(|cell| format!(" {cell:>w$}", w = WIDTH - 1)).collect();
        format!("  {:label$}{cells}\n", shortened(name, label))
    };
    let mut text = line("", &HEADS);
    for (name, cells) in &rows {
        text.push_str(&line(&printable(name), &cells.iter().map(String::as_str).collect::<Vec<_>>()));
    }
    text.push_str(&format!("  In {}.\n", times.unit));
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::intervals::tests::run;

    #[test]
    fn rows_fit_a_terminal_and_stand_under_their_heads() {
        let text = intervals(&run("a channel with a long name", &[99_900, 112_000]), &Style::default()).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines.iter().all(|line| line.chars().count() <= 80), "{text}");
        assert!(lines[0].ends_with("p99      times") && lines[1].ends_with("112.00          2"), "{text}");
        assert_eq!(lines[0].chars().count(), lines[1].chars().count());
    }

    #[test]
    fn long_times_do_not_run_together() {
        let of = |longest_ns| run("D0", &[999_996, 1_000_950, longest_ns]);
        for (longest_ns, row, unit) in [
            (1_000_950, "1 000.00          —   1 000.95   1 000.95   1 000.95          3", "us"),
            (1_000_000_000, "1.0000          — 1 000.0000     1.0010 1 000.0000          3", "ms"),
            (86_400_000_000_000, "0.001          — 86 400.000      0.001 86 400.000          3", "s"),
        ] {
            let text = intervals(&of(longest_ns), &Style::default()).unwrap();
            assert!(text.contains(&format!(" {row}\n")) && text.ends_with(&format!("  In {unit}.\n")), "{text}");
        }
    }
}
