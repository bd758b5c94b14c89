//! Times, counted by their length.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

use ontick_record::{Bucket, Histogram};
use ontick_rt::buckets;

/// Times, in the buckets of records.
#[derive(Debug, Clone)]
pub struct Distribution {
    counts: Vec<u32>,
    number: u64,
    extremes: (u64, u64),
    sum_ns: u128,
}

impl Default for Distribution {
    fn default() -> Self {
        Self { counts: Vec::new(), number: 0, extremes: (u64::MAX, 0), sum_ns: 0 }
    }
}

impl Distribution {
    /// With room for every length: counting allocates nothing.
    pub fn with_room() -> Self {
        Self { counts: vec![0; buckets::index(u64::MAX) + 1], ..Self::default() }
    }

    /// Counts one of so many ns.
    #[inline]
    pub fn add(&mut self, ns: u64) {
        self.number += 1;
        self.extremes = (self.extremes.0.min(ns), self.extremes.1.max(ns));
        self.sum_ns += u128::from(ns);
        let bucket = buckets::index(ns);
        if bucket >= self.counts.len() {
            self.counts.resize(bucket + 1, 0);
        }
        self.counts[bucket] = self.counts[bucket].saturating_add(1);
    }

    /// As records have it.
    pub fn histogram(&self) -> Histogram {
        let filled = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        let counted = filled.map(|(bucket, count)| {
            let (low_ns, width_ns) = buckets::range(bucket);
            Bucket { low_ns, width_ns, count: u64::from(*count) }
        });
        let mut histogram = Histogram::from_buckets(counted);
        if self.number > 0 {
            (histogram.min_ns, histogram.max_ns) = (Some(self.extremes.0), Some(self.extremes.1));
            histogram.mean_ns = Some(self.sum_ns as f64 / self.number as f64);
        }
        histogram
    }
}
