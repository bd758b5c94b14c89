//! Whether excesses are of the fitted distribution (Anderson and Darling's test).

use super::critical::{self, Table};
use super::gpd::{Excesses, Gpd};

/// Anderson and Darling's A² of excesses and the distribution that was fitted to them.
pub(super) fn statistic(excesses: &Excesses, fit: &Gpd) -> f64 {
    let k = excesses.count();
    // The largest may be where the fitted distribution ends: it counts as very far out, not as impossible.
    let farthest = k.ln() + 4.0;
    let hazards = || excesses.values().iter().map(|y| fit.hazard(*y).clamp(1e-12, farthest));
    // ln F of the i-th smallest and ln (1 − F) of the i-th largest.
    let terms = hazards().zip(hazards().rev()).enumerate();
    let sum: f64 = terms.map(|(i, (low, high))| (2.0 * i as f64 + 1.0) * ((-(-low).exp_m1()).ln() - high)).sum();
    -k - sum / k
}

/// Whether they may be of it, at one chance in a hundred to say that they are not where they are.
pub(super) fn fits(excesses: &Excesses, fit: &Gpd) -> bool {
    statistic(excesses, fit) <= critical::value(Table::Goodness, fit.shape, excesses.count())
}
