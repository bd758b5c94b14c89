//! The table of times between edges.

use ontick_record::Run;

use super::Style;
use super::lines::shortened;
use crate::intervals::{HEADS, UNIT, are_of, rows};
use crate::printable::printable;

const WIDTH: usize = 11;

/// The table; nothing of other runs.
pub(super) fn intervals(run: &Run, style: &Style) -> Option<String> {
    if !are_of(run) {
        return None;
    }
    let rows = rows(run);
    let longest = rows.iter().map(|(name, _)| printable(name).chars().count()).max().unwrap_or(0);
    let label = longest.min(style.width.saturating_sub(2 + WIDTH * HEADS.len()).max(10));
    let line = |name: &str, cells: &[&str]| {
        let cells: String = cells.iter().map(|cell| format!("{cell:>WIDTH$}")).collect();
        format!("  {:label$}{cells}\n", shortened(name, label))
    };
    let mut text = line("", &HEADS);
    for (name, cells) in &rows {
        text.push_str(&line(&printable(name), &cells.iter().map(String::as_str).collect::<Vec<_>>()));
    }
    text.push_str(&format!("  {UNIT}\n"));
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
}
