//! The table of times between edges.

use ontick_record::Run;

use super::Style;
use super::lines::shortened_within;
use crate::intervals::{HEADS, all_times, are_of, rows};
use crate::printable::printable;
use crate::times::Times;

/// A time, and the blank before it, where there is room.
const WIDTH: usize = Times::WIDTH + 1;

/// The table; nothing of other runs.
pub(super) fn intervals(run: &Run, style: &Style) -> Option<String> {
    if !are_of(run) {
        return None;
    }
    let times = Times::of(all_times(run));
    let rows = rows(run, times);
    let name = rows.iter().map(|(name, _)| printable(name).chars().count()).max().unwrap_or(0);
    // Names before blanks: of a channel they differ at their ends.
    let cells = rows.iter().flat_map(|(_, cells)| cells.iter().map(|cell| cell.chars().count()));
    let narrow = 1 + HEADS.iter().map(|head| head.len()).chain(cells).max().unwrap_or(0);
    let width = (style.width.saturating_sub(2 + name) / HEADS.len()).clamp(narrow.min(WIDTH), WIDTH);
    let label = name.min(style.width.saturating_sub(2 + width * HEADS.len()).max(10));
    let line = |name: &str, cells: &[&str]| {
        let cells: String = cells.iter().map(|cell| format!(" {cell:>w$}", w = width - 1)).collect();
        format!("  {:label$}{cells}\n", shortened_within(name, label))
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
        assert!(lines[0].ends_with("p99    times") && lines[1].ends_with("112.00        2"), "{text}");
        assert_eq!(lines[0].chars().count(), lines[1].chars().count());
        assert!(lines[1].starts_with("  a channel with a l… high "), "{text}");
    }

    #[test]
    fn a_name_that_needs_room_gets_that_of_blanks() {
        let text = intervals(&run("sim:bench/17", &[99_900, 112_000]), &Style::default()).unwrap();
        assert!(text.lines().nth(1).unwrap().starts_with("  sim:bench/17 high "), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
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
