//! Mean and standard deviation: exact where they are known, else out of the buckets.

use super::{Bucket, Histogram};
use crate::moments::Moments;

/// A standard deviation, and how exactly it is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Deviation {
    /// The standard deviation, in ns.
    pub ns: f64,
    /// Width of the widest bucket that it was taken from, in ns; 0 where it is exact.
    pub resolution_ns: u64,
}

impl Deviation {
    /// What it is at most: within their buckets samples lie half of the width from the middle at most, and so does their
    /// deviation from that of the middles.
    pub fn at_most_ns(&self) -> f64 {
        self.ns + self.resolution_ns as f64 / 2.0
    }
}

impl Histogram {
    /// The mean: exact where it is known, else with every sample at its bucket's upper edge.
    pub fn mean(&self) -> Option<f64> {
        let samples: u64 = self.buckets.iter().map(|b| b.count).sum();
        let sum: f64 = self.buckets.iter().map(|b| b.high_ns() as f64 * b.count as f64).sum();
        self.mean_ns.or((samples > 0).then(|| sum / samples as f64))
    }

    /// Where the mean is known.
    pub(crate) fn moments(&self) -> Option<Moments> {
        Some(Moments { count: self.count(), mean_ns: self.mean_ns?, std_dev_ns: self.std_dev_ns })
    }

    /// The standard deviation (of all samples, so that squares are divided by their number): exact where it is known,
    /// else out of the buckets where all samples have one.
    pub fn deviation(&self) -> Option<Deviation> {
        if let Some(ns) = self.std_dev_ns.filter(|ns| ns.is_finite() && *ns >= 0.0) {
            return Some(Deviation { ns, resolution_ns: 0 });
        }
        let samples = self.count();
        if samples == 0 || self.overflow > 0 {
            return None;
        }
        let middle = |b: &Bucket| b.low_ns as f64 + (b.width_ns.max(1) - 1) as f64 / 2.0;
        let share = |b: &Bucket| b.count as f64 / samples as f64;
        let mean: f64 = self.buckets.iter().map(|b| middle(b) * share(b)).sum();
        let square: f64 = self.buckets.iter().map(|b| (middle(b) - mean).powi(2) * share(b)).sum();
        let widest = self.buckets.iter().filter(|b| b.count > 0).map(|b| b.width_ns).max()?;
        // Buckets of one value each lose nothing.
        Some(Deviation { ns: square.sqrt(), resolution_ns: if widest <= 1 { 0 } else { widest } })
    }
}
