//! The table of the shortest dips that are detected.

use ontick_record::Run;

use super::Style;
use super::lines::hanging;
use crate::dips::{HEADS, notes, of, row};
use crate::printable::printable;

/// The table; nothing where the run searched no dips.
pub(super) fn dips(run: &Run, style: &Style) -> Option<String> {
    let all = of(run);
    let label = all.iter().map(|(series, _)| printable(&series.name).chars().count()).max()?;
    let line = |name: &str, cells: [String; 3]| {
        let cells: String = cells.iter().map(|cell| format!("{cell:>12}")).collect();
        format!("  {name:label$}{cells}\n")
    };
    let mut text = line("", HEADS.map(String::from));
    for (series, dip) in all {
        text.push_str(&line(&printable(&series.name), row(dip)));
    }
    notes(run).iter().for_each(|note| text.push_str(&hanging("  ", "", note, style.width)));
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dips::tests::run;

    #[test]
    fn each_mechanism_has_a_row_that_fits() {
        let run = run(&[("interrupt-busy", Some(20_000), Some(1_000)), ("poll", Some(2_000), Some(2_000))]);
        let text = dips(&run, &Style::default()).unwrap();
        let rows: Vec<&str> = text.lines().take(3).map(str::trim).collect();
        assert_eq!(rows[0].split_whitespace().collect::<Vec<_>>(), ["both", "edges", "one", "edge", "dips"]);
        assert_eq!(
            rows[1].split_whitespace().collect::<Vec<_>>(),
            ["interrupt-busy,", "idle", "20us", "<=", "1us", "500"]
        );
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}
