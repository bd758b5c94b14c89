//! How far the true value may be from the fitted one: the posterior of scale, shape and rate, by quadrature.
//!
//! With the prior density `h(ξ)/σ` that of τ and σ is `h(τσ) · σ^−k · e^(−R(τ)/σ) · e^(−S(τ))`: given τ, `R/σ` has a gamma
//! distribution, and what remains is a sum over τ. The share of samples above the threshold is that of an order statistic.

use super::gpd::{Excesses, Gpd, LEAST_SHAPE};

/// Points of each variable.
const TAUS: usize = 96;
const SCALES: usize = 25;
const RATES: usize = 9;
/// No shape is above.
const LARGEST_SHAPE: f64 = 3.0;
/// The heights of the density that count, as a logarithm below the top.
const DEPTH: f64 = 16.0;

/// Weighted points of the posterior.
pub(super) struct Posterior {
    shapes: Vec<(Gpd, f64)>,
    /// Logarithms of the share of samples above the threshold.
    rates: Vec<(f64, f64)>,
}

/// The prior of the shape, chosen by the coverage that it gives: `docs/metrics.md` has the formula and the table. The first
/// factor is for distributions that end, up to the uniform one; the second makes up for what is lost by a skewed likelihood.
fn prior(shape: f64, count: f64) -> f64 {
    if shape <= LEAST_SHAPE || shape > LARGEST_SHAPE {
        return 0.0;
    }
    (1.0 + shape).powf(-0.75) * (0.004 * count * shape.min(1.0)).exp()
}

/// Points of the logarithm of a gamma variable of this shape, with weights that sum to one.
fn log_gamma_points<const N: usize>(shape: f64) -> [(f64, f64); N] {
    let (centre, deviation) = (shape.ln(), 1.0 / shape.sqrt());
    let at = |i: usize| centre + deviation * 4.5 * (2.0 * i as f64 / (N - 1) as f64 - 1.0);
    let density = |u: f64| (shape * (u - centre) - u.exp() + shape).exp();
    let sum: f64 = (0..N).map(|i| density(at(i))).sum();
    std::array::from_fn(|i| (at(i), density(at(i)) / sum))
}

impl Posterior {
    /// That of the excesses over the largest of the other `samples`.
    pub fn new(excesses: &Excesses, samples: f64) -> Self {
        let k = excesses.count();
        let scales = log_gamma_points::<SCALES>(k - 1.0);
        // The logarithm of the density in s, but for the prior, which the points at this s have.
        let points = |s: f64| {
            let tau = excesses.tau(s);
            let (known, r) = excesses.sums(tau);
            let of = move |(u, weight): (f64, f64)| {
                let scale = r / u.exp();
                (Gpd { scale, shape: tau * scale }, weight * prior(tau * scale, k))
            };
            (s - known - (k - 1.0) * r.ln(), scales.map(of))
        };
        let height = |s: f64| {
            let (log, points) = points(s);
            log + points.iter().map(|p| p.1).sum::<f64>().ln()
        };
        let coarse = || (0..=170).map(|i| -18.0 + 0.2 * f64::from(i));
        let heights: Vec<(f64, f64)> = coarse().map(|s| (s, height(s))).collect();
        let top = heights.iter().map(|(_, h)| *h).fold(f64::NEG_INFINITY, f64::max);
        let mut within = heights.iter().filter(|(_, h)| *h > top - DEPTH).map(|(s, _)| *s);
        let low = within.next().unwrap_or(0.0);
        let (low, high) = (low - 0.2, within.next_back().unwrap_or(low) + 0.2);
        let mut shapes = Vec::with_capacity(TAUS * SCALES);
        for i in 0..TAUS {
            let (log, points) = points(low + (high - low) * i as f64 / (TAUS - 1) as f64);
            shapes.extend(points.map(|(gpd, weight)| (gpd, weight * (log - top).exp())));
        }
        let sum: f64 = shapes.iter().map(|p| p.1).sum();
        shapes.iter_mut().for_each(|p| p.1 /= sum);
        shapes.retain(|p| p.1 > 1e-8);
        let rates = log_gamma_points::<RATES>(k + 1.0).map(|(u, weight)| (u - samples.ln(), weight));
        Self { shapes, rates: rates.to_vec() }
    }

    /// Excesses that the one exceeded once in `times` samples is below with these probabilities, which are ascending.
    pub fn level<const N: usize>(&self, times: f64, probabilities: [f64; N]) -> [f64; N] {
        let log_times = times.ln();
        let each = |(gpd, weight): &(Gpd, f64)| {
            let (gpd, weight) = (*gpd, *weight);
            self.rates.iter().map(move |(log_rate, w)| (gpd.excess(log_rate + log_times), weight * w))
        };
        let mut all: Vec<(f64, f64)> = self.shapes.iter().flat_map(each).collect();
        all.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let (mut below, mut at) = (0.0, 0);
        probabilities.map(|p| {
            while at + 1 < all.len() && below + all[at].1 < p {
                below += all[at].1;
                at += 1;
            }
            all.get(at).map_or(0.0, |(excess, _)| *excess)
        })
    }
}
