//! Whether the largest excesses continue the tail of the others, or have a law of their own: a mixture, whose rare part
//! decides the bound and has too few peaks to be known by.
//!
//! In the manner of TailID (Manau and others, ECRTS 2025) candidates are taken point by point from the top. For each, one
//! law of all is held against two: one of the excesses up to the candidate, fitted to them alone (those above censored),
//! and another of what is above. The statistic is the largest gain in likelihood.

use super::critical::{self, Table};
use super::gpd::{Excesses, Gpd};

/// From so many on, those above have a shape of their own; fewer have a mean.
const WITH_SHAPE: usize = 10;

/// The candidates: how many are above. Between equal ones, of a coarse clock, no law ends and none begins: what is above an
/// end that is their own value would have a mean of 0, and a likelihood without bound.
fn candidates(values: &[f64]) -> impl Iterator<Item = usize> {
    let with_equal = |above: usize| {
        let lowest = values.len().checked_sub(above).map(|at| values[at])?;
        Some(values.len() - values.partition_point(|value| *value < lowest))
    };
    let all = [1, 2, 3, 4, 6, 8, 11, 16, 22, 32, 45, 64, 90, 128].into_iter().filter_map(with_equal);
    let mut all: Vec<usize> = all.take_while(|above| above * 3 <= values.len()).collect();
    all.dedup();
    all.into_iter()
}

/// Twice the largest gain in the logarithm of the likelihood by a second law, and for how many it is.
pub(super) fn gain(excesses: &Excesses) -> (f64, usize) {
    let one = excesses.fit().1;
    let gained = candidates(excesses.values()).map(|above| {
        let lower = excesses.censored(above);
        let from = lower.largest();
        let upper: Vec<f64> = excesses.values()[lower.values().len()..].iter().map(|y| y - from).collect();
        let mean = upper.iter().sum::<f64>() / above as f64;
        let exponential = -(above as f64) * (mean.ln() + 1.0);
        let upper = match above < WITH_SHAPE {
            true => exponential,
            false => Excesses::new(&upper).fit().1,
        };
        (2.0 * (lower.fit().1 + upper - one), above)
    });
    gained.fold((0.0, 0), |best, each| if each.0 > best.0 { each } else { best })
}

/// How many of the largest have a law of their own, at one chance in a hundred to find some where there are none.
pub(super) fn of_another_law(excesses: &Excesses, fit: &Gpd) -> Option<usize> {
    let (gain, above) = gain(excesses);
    (gain > critical::value(Table::Mixture, fit.shape, excesses.count())).then_some(above)
}
