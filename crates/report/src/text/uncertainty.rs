//! The uncertainty budget of a run, and the quantiles of its series with their uncertainties.

use ontick_record::Run;

use super::lines::{hanging, shortened};
use super::{Style, simulated};
use crate::printable::printable;
use crate::uncertainty::{BUDGET_HEADS, Budget, COLUMNS, LEGEND, budget, quantiles};

/// Names are not cut below this.
const NAME: usize = 10;

/// Both; a sentence where the record states no uncertainty.
pub fn uncertainty(run: &Run, style: &Style) -> String {
    let Some(budget) = budget(run) else {
        let sentence = "The record states no uncertainty: another tool measured it, or a version that did not.";
        return hanging("", "", sentence, style.width);
    };
    let mut text = simulated(run, style);
    text.push_str(&hanging("", "", &printable(&budget.title), style.width));
    text.push('\n');
    text.push_str(&budget_table(&budget, style));
    text.push('\n');
    text.push_str(&quantile_table(run, style));
    text.push_str(&hanging("  ", "", LEGEND, style.width));
    text
}

/// What stands left of its column: the component, and the distribution.
fn is_left(column: usize) -> bool {
    matches!(column, 0 | 2)
}

fn budget_table(budget: &Budget, style: &Style) -> String {
    let heads: [String; 6] = BUDGET_HEADS.map(Into::into);
    let rows = || std::iter::once(&heads).chain(&budget.rows);
    let wide = |column: usize| rows().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let all: usize = (0..heads.len()).map(|column| 2 + wide(column)).sum();
    // A narrow terminal has the component and its standard uncertainty.
    let columns: Vec<usize> = if all <= style.width { (0..heads.len()).collect() } else { vec![0, 5] };
    let mut text = String::new();
    for row in rows() {
        let cell = |column: &usize| match is_left(*column) {
            true => format!("  {:<1$}", row[*column], wide(*column)),
            false => format!("  {:>1$}", row[*column], wide(*column)),
        };
        text.push_str(columns.iter().map(cell).collect::<String>().trim_end());
        text.push('\n');
    }
    let end: usize = columns.iter().map(|column| 2 + wide(*column)).sum();
    for (words, ns) in &budget.sums {
        let room = end.saturating_sub(2 + words.chars().count());
        text.push_str(&match room > ns.len() {
            true => format!("  {words}{ns:>room$}\n"),
            false => hanging("  ", "", &format!("{words} {ns}"), style.width),
        });
    }
    text
}

fn quantile_table(run: &Run, style: &Style) -> String {
    let all = quantiles(run);
    // Fewer quantiles where a terminal is too narrow for all; the 99th percentile always.
    let room = style.width.saturating_sub(2 + NAME);
    let shown: &[usize] = match room {
        68.. => &[0, 1, 2],
        46..=67 => &[1, 2],
        _ => &[1],
    };
    let heads = |column: usize| [COLUMNS[column].1.to_owned(), "±".into(), "<=".into()];
    let wide = |column: usize, cell: usize| {
        let cells = all.iter().map(|(_, cells)| &cells[column][cell]);
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0).max(heads(column)[cell].chars().count())
    };
    let used: usize = shown.iter().flat_map(|column| (0..3).map(|cell| 1 + wide(*column, cell))).sum();
    let used = used + shown.len();
    let longest = all.iter().map(|(name, _)| printable(name).chars().count()).max().unwrap_or(0);
    let label = longest.min(style.width.saturating_sub(2 + used).max(NAME));
    let line = |name: &str, cells: &dyn Fn(usize) -> [String; 3]| {
        let mut line = format!("  {:<label$}", shortened(&printable(name), label));
        for column in shown {
            line.push(' ');
            for (n, cell) in cells(*column).iter().enumerate() {
                line.push_str(&format!(" {cell:>0$}", wide(*column, n)));
            }
        }
        line + "\n"
    };
    let rows = all.iter().map(|(name, cells)| line(name, &|column| cells[column].clone()));
    std::iter::once(line("", &heads)).chain(rows).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::uncertainty::tests::series;
    use ontick_record::Measurement;

    #[test]
    fn tables_fit_and_add_up() {
        let mut run = Run::new("ontick", Measurement::Timer);
        run.series = (0..3).map(|cpu| series(Some(cpu), 100_000)).collect();
        let simulated = Run { simulated: Some("lines".into()), ..run.clone() };
        assert!(uncertainty(&simulated, &Style::default()).starts_with("simulated lines\n"));
        let text = uncertainty(&run, &Style::default());
        let begin = "\
p99 of hybrid, together, 400ns ± 32ns

  component          type  distribution  value, ns  divisor  standard, ns
  clock resolution      B  rectangular   √2 × 0.50     1.73          0.41
  reading the clock     B  rectangular        15.0     1.73          8.66
  combined: root of the sum of squares                               8.67
  not corrected: too large on the average                            14.0
  expanded: 2 times the combined, and that                           31.3

                      p50    ±    <=    p99    ±    <=   p99.9    ±     <=
  hybrid, CPU 0     400ns 32ns 400ns  400ns 32ns 400ns  9.06us 86ns 9.06us
";
        assert!(text.starts_with(begin), "{text}");
        assert_eq!(text.matches("  hybrid, ").count(), 4, "a row for each CPU, and of all");
        for width in [40, 50, 60, 80] {
            let text = uncertainty(&run, &Style { width, ..Style::default() });
            assert!(text.lines().all(|line| line.chars().count() <= width), "{width}: {text}");
        }
    }

    #[test]
    fn a_record_without_says_so() {
        let run = Run::new("cyclictest 2.5", Measurement::Timer);
        assert!(uncertainty(&run, &Style::default()).starts_with("The record states no uncertainty"));
    }
}
