//! The generalised Pareto distribution of excesses over a threshold, and its fit by maximum likelihood.
//!
//! `P(Y > y) = (1 + ξ·y/σ)^(−1/ξ)`. With `τ = ξ/σ` the log-likelihood of k excesses is `−k·ln σ − S(τ) − R(τ)/σ`, where
//! `S(τ) = Σ ln(1 + τ·y)` and `R(τ) = S(τ)/τ`: for each τ the best σ is `R/k`, so that one variable is left to search.

/// No shape is below: there the likelihood has no bound.
pub(super) const LEAST_SHAPE: f64 = -1.0;

/// Excesses over a threshold, ascending, none of them negative and the largest above 0. The largest may be censored: of
/// them it is known only that they are not smaller than the largest of the others.
#[derive(Debug, Clone, Copy)]
pub(super) struct Excesses<'a> {
    values: &'a [f64],
    censored: f64,
}

/// A fitted distribution.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Gpd {
    pub scale: f64,
    pub shape: f64,
}

impl<'a> Excesses<'a> {
    /// Of these, which are ascending.
    pub fn new(values: &'a [f64]) -> Self {
        debug_assert!(values.is_sorted());
        Self { values, censored: 0.0 }
    }

    /// The largest `count` censored.
    pub fn censored(self, count: usize) -> Self {
        Self { values: &self.values[..self.values.len() - count], censored: count as f64 }
    }

    pub fn values(&self) -> &'a [f64] {
        self.values
    }

    /// Those whose value is known.
    pub fn count(&self) -> f64 {
        self.values.len() as f64
    }

    pub fn largest(&self) -> f64 {
        self.values.last().copied().unwrap_or(0.0)
    }

    /// `τ` where `1 + τ·(largest excess)` is `e^s`: every s is a τ for which there is a likelihood.
    pub fn tau(&self, s: f64) -> f64 {
        s.exp_m1() / self.largest()
    }

    /// `S(τ)` of those whose value is known, and `R(τ)` of all.
    pub fn sums(&self, tau: f64) -> (f64, f64) {
        let largest = self.largest();
        if (tau * largest).abs() < 1e-7 {
            let first_order = |y: f64| y - 0.5 * tau * y * y;
            let known: f64 = self.values.iter().map(|y| first_order(*y)).sum();
            return (tau * known, known + self.censored * first_order(largest));
        }
        // One logarithm for eight factors, each of which is within e^±40.
        let log = |chunk: &[f64]| chunk.iter().map(|y| 1.0 + tau * y).product::<f64>().ln();
        let known: f64 = self.values.chunks(8).map(log).sum();
        (known, (known + self.censored * (tau * largest).ln_1p()) / tau)
    }

    /// The most likely distribution, and the logarithm of its likelihood.
    pub fn fit(&self) -> (Gpd, f64) {
        let k = self.count();
        let likelihood = |s: f64| {
            let (known, r) = self.sums(self.tau(s));
            let shape = self.tau(s) * r / k;
            if shape < LEAST_SHAPE { f64::NEG_INFINITY } else { -k * (r / k).ln() - known - k }
        };
        let grid: [f64; 46] = std::array::from_fn(|i| -8.0 + 0.5 * i as f64);
        let at = grid.map(likelihood);
        // A top within: at the ends the likelihood only rises towards what is excluded.
        let within = (1..grid.len() - 1).filter(|i| at[*i].is_finite() && at[*i] >= at[i - 1] && at[*i] >= at[i + 1]);
        let best = within.max_by(|a, b| at[*a].total_cmp(&at[*b]));
        let edge = self.fit_of_least_shape();
        let Some(best) = best else { return edge };
        let s = highest(likelihood, grid[best - 1], grid[best + 1]);
        let top = likelihood(s);
        if top < edge.1 {
            return edge;
        }
        let r = self.sums(self.tau(s)).1;
        (Gpd { scale: r / k, shape: self.tau(s) * r / k }, top)
    }

    /// The uniform distribution that ends with the largest of all, or at twice as much for each that is censored.
    fn fit_of_least_shape(&self) -> (Gpd, f64) {
        let k = self.count();
        let scale = self.largest() * (k + self.censored) / k;
        let beyond = match self.censored {
            0.0 => 0.0,
            censored => censored * (1.0 - self.largest() / scale).ln(),
        };
        (Gpd { scale, shape: LEAST_SHAPE }, -k * scale.ln() + beyond)
    }
}

/// Where a function with one top between `low` and `high` is highest (golden section).
fn highest(f: impl Fn(f64) -> f64, mut low: f64, mut high: f64) -> f64 {
    const SECTION: f64 = 0.618_033_988_749_894_9;
    let (mut a, mut b) = (high - SECTION * (high - low), low + SECTION * (high - low));
    let (mut at_a, mut at_b) = (f(a), f(b));
    while high - low > 1e-6 {
        if at_a > at_b {
            (high, b, at_b) = (b, a, at_a);
            a = high - SECTION * (high - low);
            at_a = f(a);
        } else {
            (low, a, at_a) = (a, b, at_b);
            b = low + SECTION * (high - low);
            at_b = f(b);
        }
    }
    0.5 * (low + high)
}

impl Gpd {
    /// `−ln P(Y > y)`, which has an exponential distribution with mean 1 if y has this one; infinite beyond its end.
    pub fn hazard(&self, y: f64) -> f64 {
        let scaled = y / self.scale;
        if self.shape.abs() < 1e-9 { scaled } else { (self.shape * scaled).max(-1.0).ln_1p() / self.shape }
    }

    /// The excess that is exceeded with the probability `e^−log_times`.
    pub fn excess(&self, log_times: f64) -> f64 {
        let scaled = self.shape * log_times;
        self.scale * if scaled.abs() < 1e-9 { log_times } else { scaled.exp_m1() / self.shape }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fits of pyextremes, by scipy, of the same excesses: `tests/judges/tail.py` made them.
    #[test]
    fn fits_are_those_of_pyextremes() {
        let text = include_str!("../../tests/judges/tail-pyextremes.json");
        let fixture: serde_json::Value = serde_json::from_str(text).unwrap();
        let numbers =
            |v: &serde_json::Value| -> Vec<f64> { v.as_array().unwrap().iter().map(|n| n.as_f64().unwrap()).collect() };
        let cases = fixture["cases"].as_array().unwrap();
        assert_eq!(cases.len(), 3);
        for case in cases {
            let excesses = numbers(&case["excesses"]);
            let (fit, _) = Excesses::new(&excesses).fit();
            let near = |ours: f64, theirs: &serde_json::Value, within: f64| {
                let theirs = theirs.as_f64().unwrap();
                assert!((ours - theirs).abs() <= within * theirs.abs(), "{ours}, {theirs} ({fit:?})");
            };
            near(fit.scale, &case["scale"], 1e-3);
            near(fit.shape, &case["shape"], 5e-3);
            for level in case["levels"].as_array().unwrap() {
                let peaks = case["peaks_a_year"].as_f64().unwrap() * level[0].as_f64().unwrap();
                near(fit.excess(peaks.ln()), &level[1], 3e-3);
            }
        }
    }

    fn of_law(law: Gpd, count: usize) -> Vec<f64> {
        // The quantiles of the law itself.
        let share = |i: usize| 1.0 - (i as f64 + 0.5) / count as f64;
        (0..count).map(|i| law.excess(-share(i).ln())).collect()
    }

    #[test]
    fn the_law_that_excesses_are_of_is_found() {
        for shape in [-0.4, -0.1, 0.0, 0.2, 0.6] {
            let law = Gpd { scale: 250.0, shape };
            let (fit, _) = Excesses::new(&of_law(law, 2_000)).fit();
            assert!((fit.shape - shape).abs() < 0.02 && (fit.scale / 250.0 - 1.0).abs() < 0.03, "{fit:?} of {law:?}");
        }
    }

    #[test]
    fn a_uniform_law_has_the_least_shape_and_its_end() {
        let (fit, likelihood) = Excesses::new(&of_law(Gpd { scale: 80.0, shape: -1.0 }, 400)).fit();
        assert!((fit.shape + 1.0).abs() < 0.03 && fit.scale > 79.0 && fit.scale < 81.0, "{fit:?}");
        assert!((likelihood + 400.0 * 80f64.ln()).abs() < 5.0, "{likelihood}");
    }

    /// Censored, the largest say only that they are large.
    #[test]
    fn the_largest_may_be_anything_where_they_are_censored() {
        let law = Gpd { scale: 100.0, shape: 0.1 };
        let mut excesses = of_law(law, 1_000);
        excesses.iter_mut().skip(980).for_each(|y| *y *= 50.0);
        let whole = Excesses::new(&excesses);
        let (fit, _) = whole.censored(20).fit();
        assert!((fit.shape - 0.1).abs() < 0.05 && (fit.scale / 100.0 - 1.0).abs() < 0.05, "{fit:?}");
        assert!(whole.fit().0.shape > 0.4);
    }

    #[test]
    fn a_hazard_is_that_of_the_excess() {
        for shape in [-0.5, 0.0, 1e-12, 0.4] {
            let law = Gpd { scale: 3.0, shape };
            assert!((law.hazard(law.excess(4.0)) - 4.0).abs() < 1e-9, "{shape}");
        }
        assert_eq!(Gpd { scale: 3.0, shape: -1.0 }.hazard(5.0), f64::INFINITY);
    }
}
