//! Critical values of the two tests that compare peaks with a fitted distribution, for which no formula is known.
//!
//! They are 99th percentiles under the null hypothesis, each of 4000 simulated samples; `examples/tail_critical.rs` makes
//! others in the same way with other random numbers. Between them a straight line is drawn, in the shape and in the
//! logarithm of the number of peaks.

/// Which test.
#[derive(Debug, Clone, Copy)]
pub(super) enum Table {
    Goodness,
    Mixture,
}

const SHAPES: [f64; 7] = [-1.0, -0.75, -0.5, -0.25, 0.0, 0.25, 0.5];
const COUNTS: [f64; 4] = [50.0, 100.0, 200.0, 400.0];

/// A row for each number of peaks, a column for each shape.
type Values = [[f64; SHAPES.len()]; COUNTS.len()];

const GOODNESS: Values = [
    [4.22, 2.17, 1.85, 1.58, 1.39, 1.28, 1.19],
    [3.64, 2.08, 1.72, 1.50, 1.36, 1.28, 1.19],
    [3.71, 2.03, 1.82, 1.66, 1.51, 1.31, 1.26],
    [3.49, 1.98, 1.78, 1.56, 1.42, 1.29, 1.19],
];

const MIXTURE: Values = [
    [9.4, 9.4, 11.1, 12.5, 13.1, 13.4, 13.4],
    [9.6, 10.4, 12.3, 13.0, 13.7, 13.9, 13.8],
    [10.5, 11.9, 13.3, 14.0, 14.3, 14.3, 14.2],
    [10.9, 13.1, 13.9, 13.8, 14.0, 13.8, 14.0],
];

/// What the statistic is above in one sample of a hundred that is of the fitted distribution.
pub(super) fn value(table: Table, shape: f64, count: f64) -> f64 {
    let values = match table {
        Table::Goodness => &GOODNESS,
        Table::Mixture => &MIXTURE,
    };
    let (row, down) = place(&COUNTS.map(f64::ln), count.ln());
    let (column, right) = place(&SHAPES, shape);
    let along = |row: &[f64]| row[column] + right * (row[column + 1] - row[column]);
    along(&values[row]) + down * (along(&values[row + 1]) - along(&values[row]))
}

/// Between which two steps a value lies, and how far from the first; beyond the ends, the ends.
fn place(steps: &[f64], value: f64) -> (usize, f64) {
    let above = steps.iter().take_while(|step| **step <= value).count();
    let index = above.clamp(1, steps.len() - 1) - 1;
    (index, ((value - steps[index]) / (steps[index + 1] - steps[index])).clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_those_of_the_table_and_between_them() {
        assert_eq!(value(Table::Goodness, -1.0, 50.0), GOODNESS[0][0]);
        assert!((value(Table::Mixture, 0.125, 400.0) - 0.5 * (MIXTURE[3][4] + MIXTURE[3][5])).abs() < 1e-9);
        let between = value(Table::Mixture, 0.0, 5_000f64.sqrt());
        assert!((between - 0.5 * (MIXTURE[0][4] + MIXTURE[1][4])).abs() < 1e-9, "{between}");
        // Beyond the table its edge holds.
        assert_eq!(value(Table::Goodness, 0.9, 1_000.0), GOODNESS[3][6]);
    }
}
