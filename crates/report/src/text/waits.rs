//! Loops of several waits: a sum beside one wait, and so many times one wait.

use ontick_record::Run;

use super::Style;
use super::lines::{hanging, shortened};
use crate::figures::latency;
use crate::printable::printable;
use crate::waits::{HEADS, of};

/// A table for each loop; nothing where there is none.
pub(super) fn waits(run: &Run, style: &Style) -> String {
    let mut text = String::new();
    for of_loop in of(run) {
        let head = printable(&format!("{}, {} waits", of_loop.method, of_loop.waits));
        let rows = of_loop.rows().map(|(name, figures)| (name, figures.map(latency)));
        let wide =
            rows.iter().flat_map(|(_, cells)| cells).map(|cell| cell.chars().count()).max().unwrap_or(0).max(5) + 2;
        let longest = rows.iter().map(|(name, _)| name.len()).chain([head.len()]).max().unwrap_or(0);
        // The longest name goes before the figures do.
        let label = longest.min(style.width.saturating_sub(2 + HEADS.len() * wide)).max(8);
        let line = |name: &str, cells: &[String]| {
            let cells: String = cells.iter().map(|cell| format!("{cell:>wide$}")).collect();
            format!("  {:label$}{cells}\n", shortened(name, label))
        };
        text.push_str(&format!("\n{}", line(&head, &HEADS.map(String::from))));
        rows.iter().for_each(|(name, cells)| text.push_str(&line(name, cells)));
        text.extend(of_loop.note().map(|note| hanging("  ", "", &note, style.width)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::waits::tests::run;

    #[test]
    fn a_sum_stands_below_the_waits_that_it_is_made_of() {
        let run = run(&[&[1_000, 2_000, 3_000], &[1_000, 41_000, 1_500]]);
        let wanted = "
  hybrid, 3 waits        p50     p99   p99.9     max
  one wait            1.50us  41.0us  41.0us  41.0us
  largest of a cycle  3.00us  41.0us  41.0us  41.0us
  second largest      1.50us  2.00us  2.00us  2.00us
  sum of a cycle      6.00us  43.5us  43.5us  43.5us
  3 times one wait    4.50us   123us   123us   123us
  More than half of the worst wait was reached by one wait in 1 cycle, and by
  two in none: the second-largest wait of a cycle was 2.00us at most.
";
        let text = waits(&run, &Style::default());
        assert_eq!(text, wanted);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let narrow = waits(&run, &Style { width: 44, ..Style::default() });
        assert!(narrow.lines().all(|line| line.chars().count() <= 44), "{narrow}");
    }

    #[test]
    fn a_run_without_a_loop_has_no_table() {
        assert_eq!(waits(&Run::new("ontick", "timer"), &Style::default()), "");
    }
}
