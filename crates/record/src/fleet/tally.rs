//! Histograms added up by the thousand.

use std::collections::HashMap;

use crate::{Bucket, Histogram};

/// The sum of histograms. What one of them does not know, the sum does not know.
#[derive(Debug, Default)]
pub(super) struct Tally {
    counts: HashMap<(u64, u64), u64>,
    overflow: u64,
    extremes: Option<(Option<u64>, Option<u64>)>,
}

impl Tally {
    pub fn add(&mut self, histogram: &Histogram) {
        if histogram.is_empty() {
            return;
        }
        for bucket in histogram.buckets() {
            let count = self.counts.entry((bucket.low_ns, bucket.width_ns)).or_default();
            *count = count.saturating_add(bucket.count);
        }
        self.overflow = self.overflow.saturating_add(histogram.overflow);
        let both = |a: Option<u64>, b: Option<u64>, of: fn(u64, u64) -> u64| a.zip(b).map(|(a, b)| of(a, b));
        self.extremes = Some(match self.extremes {
            None => (histogram.min_ns, histogram.max_ns),
            Some((min, max)) => (both(min, histogram.min_ns, u64::min), both(max, histogram.max_ns, u64::max)),
        });
    }

    pub fn sum(self) -> Histogram {
        let buckets = self.counts.into_iter().map(|((low_ns, width_ns), count)| Bucket { low_ns, width_ns, count });
        let mut sum = Histogram::from_buckets(buckets);
        (sum.min_ns, sum.max_ns) = self.extremes.unwrap_or_default();
        sum.overflow = self.overflow;
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// As if merged one by one, but for the moments, which no ranking asks for.
        #[test]
        fn the_sum_is_that_of_merging(all in prop::collection::vec(
            (prop::collection::vec((0u64..5_000, 1u64..9), 0..20), 0u64..3, any::<bool>()), 0..6,
        )) {
            let (mut tally, mut merged) = (Tally::default(), Histogram::default());
            for (buckets, overflow, knows) in all {
                let buckets = buckets.into_iter().map(|(low_ns, count)| Bucket { low_ns, width_ns: 1, count });
                let mut one = Histogram::from_buckets(buckets);
                one.overflow = overflow;
                one.max_ns = one.max_ns.filter(|_| knows);
                tally.add(&one);
                merged.merge(&one);
            }
            (merged.mean_ns, merged.std_dev_ns) = (None, None);
            prop_assert_eq!(tally.sum(), merged);
        }
    }
}
