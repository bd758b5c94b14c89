//! The chance of what was observed, or of more, if nothing is wrong.

use statrs::function::beta::beta_reg;
use statrs::function::erf::erfc;
use statrs::function::gamma::gamma_ur;

/// Of a normal variable that is this far from its mean, in standard deviations, on either side.
pub(super) fn normal(z: f64) -> f64 {
    erfc(z.abs() / std::f64::consts::SQRT_2)
}

/// Of `hits` or more of `trials` where each is one with probability `p`.
pub(super) fn binomial(hits: usize, trials: usize, p: f64) -> f64 {
    match hits {
        0 => 1.0,
        _ if hits > trials => 0.0,
        _ => beta_reg(hits as f64, (trials - hits) as f64 + 1.0, p),
    }
}

/// Of a χ² statistic.
pub(super) fn chi_square(statistic: f64, degrees: f64) -> f64 {
    gamma_ur(0.5 * degrees, 0.5 * statistic)
}

/// Of values from 0 to 1, ascending, that lie so far from evenly (Kolmogorov and Smirnov; Stephens's correction).
pub(super) fn uniform(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let apart = |(i, v): (usize, &f64)| (v - i as f64 / n).max((i + 1) as f64 / n - v);
    let distance = values.iter().enumerate().map(apart).fold(0.0, f64::max);
    let scaled = distance * (n.sqrt() + 0.12 + 0.11 / n.sqrt());
    if scaled < 0.2 {
        return 1.0;
    }
    let term = |j: i32| f64::from(1 - 2 * ((j - 1) % 2)) * (-2.0 * f64::from(j * j) * scaled * scaled).exp();
    (2.0 * (1..=20).map(term).sum::<f64>()).clamp(0.0, 1.0)
}

/// Of two lists that follow each other so far (Spearman's rank correlation).
pub(super) fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let n = a.len() as f64;
    let (a, b) = (ranks(a), ranks(b));
    let mean = 0.5 * (n - 1.0);
    let (mut together, mut of_a, mut of_b) = (0.0, 0.0, 0.0);
    for (x, y) in a.iter().zip(&b) {
        together += (x - mean) * (y - mean);
        of_a += (x - mean).powi(2);
        of_b += (y - mean).powi(2);
    }
    match of_a * of_b {
        0.0 => 1.0,
        both => normal(together / both.sqrt() * (n - 1.0).sqrt()),
    }
}

/// Ranks from 0; equal values share theirs.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    let mut from = 0;
    for equal in order.chunk_by(|a, b| values[*a] == values[*b]) {
        let shared = from as f64 + 0.5 * (equal.len() - 1) as f64;
        equal.iter().for_each(|i| ranks[*i] = shared);
        from += equal.len();
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Figures of SciPy 1.17.1: `2 * norm.sf`, `binom.sf(hits - 1, …)`, `chi2.sf`, `kstest`, `spearmanr`.
    #[test]
    fn they_are_those_of_scipy() {
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-6 + 1e-4 * b, "{a}, {b}");
        near(normal(-2.5), 0.0124193307);
        near(binomial(7, 20, 0.1), 0.0023860976);
        near(binomial(0, 20, 0.1), 1.0);
        near(binomial(20, 20, 0.9), 0.1215766546);
        near(chi_square(30.0, 15.0), 0.0119215093);
    }

    #[test]
    fn uneven_values_are_found() {
        let even: Vec<f64> = (0..100).map(|i| (i as f64 + 0.5) / 100.0).collect();
        assert!(uniform(&even) > 0.999);
        let uneven: Vec<f64> = even.iter().map(|v| v * v).collect();
        assert!(uniform(&uneven) < 0.001);
        // D of 0.1 of 100 values: `kstwobign.sf(0.1 * (10 + 0.12 + 0.011))` of SciPy is 0.2565.
        let shifted: Vec<f64> = even.iter().map(|v| (v - 0.095).max(0.0)).collect();
        assert!((uniform(&shifted) - 0.2565).abs() < 0.003, "{}", uniform(&shifted));
    }

    #[test]
    fn ranks_that_are_shared_are_halved() {
        assert_eq!(ranks(&[3.0, 1.0, 3.0, 0.0]), [2.5, 1.0, 2.5, 0.0]);
        let rising: Vec<f64> = (0..50).map(f64::from).collect();
        let falling: Vec<f64> = rising.iter().map(|v| -v).collect();
        assert!(correlation(&rising, &falling) < 1e-9);
        assert_eq!(correlation(&rising, &[1.0; 50]), 1.0);
        // `spearmanr(range(30), [i * 7 % 30 for …])` has 0.11902; of that, `2 * norm.sf(0.11902 * 29**0.5)` is 0.52156.
        let turned: Vec<f64> = (0..30).map(|i| f64::from(i * 7 % 30)).collect();
        let chance = correlation(&rising[..30], &turned);
        assert!((chance - 0.52156).abs() < 1e-4, "{chance}");
    }
}
