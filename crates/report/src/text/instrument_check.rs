//! The program's figures beside an instrument's.

use ontick_record::Run;

use super::Style;
use super::lines::hanging;
use crate::instrument_check::{HEADS, notes, of, rows, title};
use crate::printable::printable;

/// A table for each series that was observed; nothing where there is none.
pub(super) fn instrument_check(run: &Run, style: &Style) -> String {
    let mut text = String::new();
    for (_, check) in of(run) {
        text.push('\n');
        text.push_str(&hanging("beside    ", "", &printable(&title(check)), style.width));
        let rows: Vec<_> = check.quantities.iter().flat_map(rows).collect();
        let label = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
        // A narrow terminal has the median and the longest.
        let columns: &[usize] = if style.width < 72 { &[2, 4] } else { &[0, 1, 2, 3, 4] };
        let line = |name: &str, cells: &[String]| {
            let cells: String = columns.iter().map(|column| format!("{:>11}", cells[*column])).collect();
            format!("  {name:label$}{cells}\n")
        };
        if !rows.is_empty() {
            text.push_str(&line("us", &HEADS.map(String::from)));
        }
        rows.iter().for_each(|(name, cells)| text.push_str(&line(name, cells)));
        notes(check).iter().for_each(|note| text.push_str(&hanging("  ", "", &printable(note), style.width)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instrument_check::tests::run;

    #[test]
    fn the_differences_stand_below_both() {
        let wanted = "
beside    sigrok:fx2lafw, channel D0 (24 MHz, ±41.7 ns)
  us                  shortest    average        p50        p99    longest
  width, ontick         99.990    100.053    100.050    100.950    120.550
  width, instrument     99.988    100.051    100.048    100.948    120.548
  difference            -0.041     -0.002      0.000     +0.040     +0.042
  Aligned by 1 998 edges: ontick's first is 1.234567890 s into the capture, and
  the instrument's clock is 39.980 ppm slower (±0.071, 95 % sure); the edges lie
  12ns about that.
  Edges of ontick's that the capture lacks: 1 (at 0.350100 s). Edges of the
  capture that ontick does not know of: none.
";
        let text = instrument_check(&run(), &Style::default());
        assert_eq!(text, wanted);
        let narrow = instrument_check(&run(), &Style { width: 44, ..Style::default() });
        assert!(narrow.lines().all(|line| line.chars().count() <= 44), "{narrow}");
        assert_eq!(instrument_check(&Run::new("ontick", "pulse"), &Style::default()), "");
    }
}
