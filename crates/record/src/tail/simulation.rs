//! Samples of known distributions, to try the bounds on: `examples/tail_coverage.rs` and `examples/tail_critical.rs`.

use super::estimate;
use super::goodness;
use super::gpd::{Excesses, Gpd};
use super::mixture;
use crate::bounds::{Bound, Refusal};

/// Numbers by chance that are the same in each run (splitmix64).
#[derive(Debug, Clone)]
pub struct Random(pub u64);

impl Random {
    /// Above 0 and below 1.
    pub fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let n = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (((n ^ (n >> 31)) >> 12) as f64 + 0.5) / (1u64 << 52) as f64
    }

    /// Of mean 1.
    pub fn exponential(&mut self) -> f64 {
        -self.uniform().ln()
    }

    fn normal(&mut self) -> f64 {
        (2.0 * self.exponential()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// The shares of a distribution above each of its `count` largest of so many samples, smallest first: only the largest
    /// are made, however many samples there are.
    fn shares(&mut self, count: usize, samples: f64) -> Vec<f64> {
        let mut sum = 0.0;
        let sums: Vec<f64> = (0..count)
            .map(|_| {
                sum += self.exponential();
                sum
            })
            .collect();
        let rest = samples + 1.0 - count as f64;
        let all = sum + rest + rest.sqrt() * self.normal();
        sums.into_iter().map(|sum| sum / all).collect()
    }
}

/// A distribution by the value that this share of its samples is above.
pub type Distribution = fn(f64) -> f64;

/// The largest of `samples` of this distribution at times by chance, in the order of time.
pub fn peaks(random: &mut Random, distribution: Distribution, samples: f64, count: usize) -> Vec<(f64, f64)> {
    let shares = random.shares(count, samples);
    let mut peaks: Vec<(f64, f64)> =
        shares.into_iter().map(|share| (random.uniform() * samples, distribution(share))).collect();
    peaks.sort_by(|a, b| a.0.total_cmp(&b.0));
    peaks
}

/// The bound from peaks.
pub fn bound(peaks: &[(f64, f64)], samples: f64, once_in: f64) -> Result<Bound, Refusal> {
    estimate::bound(peaks, samples, once_in, 1)
}

/// The statistics of both tests on `count` excesses of this shape.
pub fn statistics(random: &mut Random, shape: f64, count: usize) -> (f64, f64) {
    let law = Gpd { scale: 1.0, shape };
    let mut values: Vec<f64> = (0..count).map(|_| law.excess(random.exponential())).collect();
    values.sort_by(f64::total_cmp);
    let excesses = Excesses::new(&values);
    (goodness::statistic(&excesses, &excesses.fit().0), mixture::gain(&excesses).0)
}

/// Scale of the distributions, in ns.
const SCALE: f64 = 1e9;

/// Known distributions, which have a tail of each kind.
pub const DISTRIBUTIONS: [(&str, Distribution); 6] = [
    ("exponential", |p| -SCALE * p.ln()),
    ("Pareto, 4", |p| SCALE * p.powf(-0.25)),
    ("Pareto, 2", |p| SCALE * p.powf(-0.5)),
    // That of the largest of many that end: ξ = −¼.
    ("bounded", |p| 100.0 * SCALE * (1.0 - (-(-p).ln_1p()).powf(0.25))),
    ("lognormal", |p| SCALE * (0.25 * normal_above(p)).exp()),
    ("uniform", |p| 100.0 * SCALE * (1.0 - p)),
];

/// Known distributions that the prior was not chosen by.
pub const OTHERS: [(&str, Distribution); 3] = [
    ("gamma, 2", |p| SCALE * gamma_above(p)),
    ("lognormal, 1", |p| SCALE * normal_above(p).exp()),
    ("Weibull, 1/2", |p| SCALE * p.ln().powi(2)),
];

/// The value of a gamma variable with shape 2 and scale 1 that this share is above: `(1 + x)·e^−x` is the share.
fn gamma_above(p: f64) -> f64 {
    let hazard = -p.ln();
    (0..60).fold(hazard + 1.0, |x, _| hazard + x.ln_1p())
}

/// The value of a normal variable that this share is above.
fn normal_above(p: f64) -> f64 {
    std::f64::consts::SQRT_2 * statrs::function::erf::erfc_inv(2.0 * p)
}

/// A tail of two laws: how many of the second there are in a run, the value from which it begins, and its scale, both in
/// times of the scale of the first, which is exponential.
#[derive(Debug, Clone, Copy)]
pub struct Mixture {
    often: f64,
    from: f64,
    scale: f64,
}

/// Known mixtures: of the second law there are too few for a bound of its own.
pub const MIXTURES: [(&str, Mixture); 4] = [
    ("5 peaks from 40 on", Mixture { often: 5.0, from: 40.0, scale: 10.0 }),
    ("10 peaks from 30 on", Mixture { often: 10.0, from: 30.0, scale: 3.0 }),
    ("30 peaks from 20 on", Mixture { often: 30.0, from: 20.0, scale: 2.0 }),
    ("60 peaks from 16 on", Mixture { often: 60.0, from: 16.0, scale: 2.0 }),
];

/// Mixtures whose laws overlap, so that one law fits both.
pub const OVERLAPPING: [(&str, Mixture); 2] = [
    ("10 peaks from 20 on", Mixture { often: 10.0, from: 20.0, scale: 3.0 }),
    ("30 peaks from 8 on", Mixture { often: 30.0, from: 8.0, scale: 4.0 }),
];

impl Mixture {
    /// What is exceeded once in so many, if the second law has its peaks in so many samples.
    pub fn exceeded_once_in(&self, once_in: f64, samples: f64) -> f64 {
        let share = |x: f64| (-x).exp() + self.often / samples * (-(x - self.from).max(0.0) / self.scale).exp();
        let (mut low, mut high) = (0.0, 1_000.0);
        for _ in 0..100 {
            let x = 0.5 * (low + high);
            if share(x) > 1.0 / once_in { low = x } else { high = x }
        }
        SCALE * high
    }
}

/// The largest of samples of which some are of the second law, in the order of time.
pub fn mixed(random: &mut Random, mixture: Mixture, samples: f64, count: usize) -> Vec<(f64, f64)> {
    let mut all = peaks(random, DISTRIBUTIONS[0].1, samples, count);
    // As many as chance has it (Poisson).
    let mut until = random.exponential();
    while until < mixture.often {
        all.push((random.uniform() * samples, SCALE * (mixture.from + mixture.scale * random.exponential())));
        until += random.exponential();
    }
    all.sort_by(|a, b| b.1.total_cmp(&a.1));
    all.truncate(count);
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bounds::Reason;

    #[test]
    fn a_gamma_variable_is_above_its_value_as_often_as_it_should() {
        for p in [0.9, 0.1, 1e-3, 1e-9] {
            let x = gamma_above(p);
            assert!(((1.0 + x) * (-x).exp() / p - 1.0).abs() < 1e-9, "{p}: {x}");
        }
    }

    /// A short form of `examples/tail_coverage.rs`: the same numbers in each run.
    #[test]
    fn the_bound_covers_the_true_value_of_known_distributions() {
        const RUNS: usize = 40;
        for (name, distribution) in DISTRIBUTIONS {
            let truth = distribution(1e-9);
            let mut random = Random(3);
            let found: Vec<_> =
                (0..RUNS).filter_map(|_| bound(&peaks(&mut random, distribution, 1e5, 250), 1e5, 1e9).ok()).collect();
            let covered = found.iter().filter(|b| b.upper_ns as f64 >= truth.round()).count();
            assert!(found.len() >= RUNS * 9 / 10, "{name}: {} of {RUNS} have a bound", found.len());
            assert!(covered * 8 >= found.len() * 7, "{name}: {covered} of {}", found.len());
            // A bound that is always above would be of no use.
            assert!(found.iter().any(|b| (b.fitted_ns as f64) < truth), "{name}");
        }
    }

    #[test]
    fn mixtures_are_refused() {
        for (name, mixture) in MIXTURES {
            let mut random = Random(4);
            let refused = (0..12).filter(|_| bound(&mixed(&mut random, mixture, 1e6, 1000), 1e6, 1e9).is_err()).count();
            assert!(refused >= 11, "{name}: {refused} of 12");
        }
        let found = bound(&mixed(&mut Random(4), MIXTURES[0].1, 1e6, 1000), 1e6, 1e9).unwrap_err();
        assert_eq!(found.reason, Reason::Mixture);
        assert!((5..=16).contains(&found.count.unwrap()), "{found:?}");
    }

    /// A clock of 10 ns makes equal samples of many, as it does where there is one law.
    #[test]
    fn equal_samples_are_no_mixture() {
        let mut random = Random(5);
        let uniform: Distribution = |p| 400_000.0 + 20_000.0 * (1.0 - p * 1e3);
        let refused = (0..40).filter(|_| {
            let mut all = peaks(&mut random, uniform, 1e6, 1000);
            all.iter_mut().for_each(|(_, ns)| *ns = (*ns / 10.0).floor() * 10.0);
            bound(&all, 1e6, 1e9).is_err()
        });
        let refused = refused.count();
        assert!(refused <= 2, "{refused} of 40");
    }

    #[test]
    fn the_largest_sample_may_come_twice() {
        for (name, distribution) in DISTRIBUTIONS {
            let mut all = peaks(&mut Random(7), distribution, 1e6, 1000);
            assert!(bound(&all, 1e6, 1e9).is_ok(), "{name}");
            let mut heights: Vec<f64> = all.iter().map(|peak| peak.1).collect();
            heights.sort_unstable_by(f64::total_cmp);
            let [.., second, largest] = heights[..] else { panic!("{name}") };
            all.iter_mut().filter(|peak| peak.1 == second).for_each(|peak| peak.1 = largest);
            let found = bound(&all, 1e6, 1e9);
            assert!(found.is_ok(), "{name}: {found:?}");
        }
    }

    /// Events that last the same each time are of a law of their own.
    #[test]
    fn equal_samples_far_above_are_a_mixture() {
        let mut random = Random(9);
        let mut all = peaks(&mut random, DISTRIBUTIONS[0].1, 1e6, 1000);
        all.iter_mut().step_by(200).for_each(|peak| peak.1 = 60.0 * SCALE);
        let found = bound(&all, 1e6, 1e9).unwrap_err();
        assert_eq!((found.reason, found.count), (Reason::Mixture, Some(5)));
    }

    /// A second law with as many peaks as the tail is tall is the tail.
    #[test]
    fn a_second_law_with_enough_peaks_has_the_bound() {
        let second = Mixture { often: 2_000.0, from: 20.0, scale: 2.0 };
        let all = mixed(&mut Random(6), second, 1e6, 1000);
        let found = bound(&all, 1e6, 1e9).unwrap();
        assert!(found.threshold_ns as f64 > 20.0 * SCALE, "{found:?}");
        assert!((found.scale_ns / SCALE - 2.0).abs() < 0.4, "{found:?}");
    }
}
