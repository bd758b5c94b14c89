//! Machines that are much later than machines like them.

use serde::Serialize;

use super::rows::median;

/// A machine that stands apart from its kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outlying {
    /// Its name.
    pub machine: String,
    /// Its own 99.99th percentile: the median of its records', in ns.
    pub p99_99_ns: u64,
    /// The median of all machines of its kind, in ns.
    pub median_ns: u64,
    /// How many machines there are of its kind, itself among them.
    pub alike: usize,
    /// How many deviations it lies above the median: the modified z-score of the logarithms.
    pub score: f64,
}

/// Fewer machines do not tell what is usual.
const FEWEST: usize = 5;
/// Above this score Iglewicz and Hoaglin (How to Detect and Handle Outliers, 1993) call a value an outlier.
const SCORE: f64 = 3.5;
/// Makes the median deviation one standard deviation of a normal distribution.
const NORMAL: f64 = 0.674_5;
/// Machines that are all alike to the bucket would otherwise make outliers of the smallest difference.
const LEAST_DEVIATION: f64 = 0.05;

/// Which of the machines' figures are outliers, with their scores, the largest first. By logarithms, as latencies are
/// spread over powers of ten, and upwards alone: a machine that is better needs no attention.
pub(super) fn outlying(figures: &[(u32, u64)]) -> (u64, Vec<(u32, u64, f64)>) {
    let mut sorted: Vec<u64> = figures.iter().map(|(_, figure)| *figure).collect();
    sorted.sort_unstable();
    let Some(middle) = median(&sorted).filter(|_| figures.len() >= FEWEST) else { return (0, Vec::new()) };
    let log = |figure: u64| (figure.max(1) as f64).ln();
    let mut deviations: Vec<f64> = sorted.iter().map(|figure| (log(*figure) - log(middle)).abs()).collect();
    deviations.sort_unstable_by(f64::total_cmp);
    let deviation = deviations[deviations.len() / 2].max(LEAST_DEVIATION);
    let scored = figures.iter().map(|(machine, figure)| {
        let score = NORMAL * (log(*figure) - log(middle)) / deviation;
        (*machine, *figure, score)
    });
    let mut above: Vec<(u32, u64, f64)> = scored.filter(|(_, _, score)| *score > SCORE).collect();
    above.sort_by(|a, b| b.2.total_cmp(&a.2).then(a.0.cmp(&b.0)));
    (middle, above)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(figures: &[u64]) -> Vec<u32> {
        let figures: Vec<(u32, u64)> = (0..).zip(figures.iter().copied()).collect();
        outlying(&figures).1.into_iter().map(|(machine, ..)| machine).collect()
    }

    #[test]
    fn a_machine_far_above_its_like_is_named_and_one_below_is_not() {
        assert_eq!(of(&[30_000, 31_000, 29_000, 30_500, 29_500, 410_000]), [5]);
        assert_eq!(of(&[30_000, 31_000, 29_000, 30_500, 29_500, 900]), [0u32; 0]);
        assert_eq!(of(&[30_000, 9_000_000, 29_000, 30_500, 410_000, 29_500, 30_000]), [1, 4], "the worst first");
    }

    #[test]
    fn what_differs_by_a_few_percent_among_equals_is_usual() {
        assert_eq!(of(&[30_000; 9]), [0u32; 0]);
        assert_eq!(of(&[30_000, 30_000, 30_000, 30_000, 30_000, 36_000]), [0u32; 0]);
        assert_eq!(of(&[30_000, 30_000, 30_000, 30_000, 30_000, 45_000]), [5]);
    }

    #[test]
    fn few_or_wide_spread_machines_have_no_outlier() {
        assert_eq!(of(&[30_000, 30_000, 30_000, 900_000]), [0u32; 0]);
        assert_eq!(of(&[1_000, 4_000, 16_000, 64_000, 256_000]), [0u32; 0]);
        assert_eq!(of(&[0, 0, 0, 0, 0]), [0u32; 0]);
    }
}
