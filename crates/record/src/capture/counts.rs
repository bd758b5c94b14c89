//! How often each length of time came, in bounded memory.

use std::collections::HashMap;

use crate::Histogram;
use crate::histogram::Bucket;

/// Lengths that are told apart.
const MOST: usize = 1 << 14;

/// Counts of times, each by itself while there are not too many; then by twos, fours and so on.
#[derive(Debug, Default)]
pub(super) struct Counts {
    counts: HashMap<u64, u64>,
    /// A key stands for 2^shift nanoseconds.
    shift: u32,
    /// The key that came last, which mostly comes again.
    last: Option<(u64, u64)>,
    extremes: Option<(u64, u64)>,
    sum_ns: u64,
    squares: u128,
}

impl Counts {
    #[inline]
    pub fn add(&mut self, ns: u64) {
        self.extremes = Some(self.extremes.map_or((ns, ns), |(min, max)| (min.min(ns), max.max(ns))));
        self.sum_ns = self.sum_ns.saturating_add(ns);
        self.squares = self.squares.saturating_add(u128::from(ns) * u128::from(ns));
        let key = ns >> self.shift;
        match &mut self.last {
            Some((last, count)) if *last == key => *count += 1,
            _ => self.change_to(key),
        }
    }

    fn change_to(&mut self, key: u64) {
        let shift = self.shift;
        self.settle();
        self.last = Some((key >> (self.shift - shift), 1));
    }

    /// Puts what came last among the others.
    fn settle(&mut self) {
        let Some((key, count)) = self.last.take() else { return };
        *self.counts.entry(key).or_default() += count;
        while self.counts.len() > MOST {
            self.shift += 1;
            let finer = std::mem::take(&mut self.counts);
            for (key, count) in finer {
                *self.counts.entry(key >> 1).or_default() += count;
            }
        }
    }

    /// Lengths are told apart in steps of so many nanoseconds.
    pub fn grain_ns(&self) -> u64 {
        1u64.checked_shl(self.shift).unwrap_or(u64::MAX)
    }

    pub fn histogram(&mut self) -> Histogram {
        self.settle();
        let (shift, width_ns) = (self.shift, self.grain_ns());
        let buckets = self.counts.iter().map(|(key, count)| Bucket { low_ns: key << shift, width_ns, count: *count });
        Histogram::recorded(buckets, self.extremes, self.sum_ns, self.squares)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(all: impl IntoIterator<Item = u64>) -> Histogram {
        let mut counts = Counts::default();
        all.into_iter().for_each(|ns| counts.add(ns));
        counts.histogram()
    }

    #[test]
    fn few_lengths_are_each_told_apart() {
        let histogram = of([100, 100, 101, 100, 7]);
        let rows: Vec<_> = histogram.buckets().iter().map(|b| (b.low_ns, b.width_ns, b.count)).collect();
        assert_eq!(rows, [(7, 1, 1), (100, 1, 3), (101, 1, 1)]);
        assert_eq!((histogram.min_ns, histogram.max_ns, histogram.mean_ns), (Some(7), Some(101), Some(81.6)));
    }

    #[test]
    fn many_lengths_take_bounded_memory_and_none_is_lost() {
        let all = (0..100_000u64).map(|i| i * 3);
        let histogram = of(all);
        assert_eq!((histogram.count(), histogram.min_ns, histogram.max_ns), (100_000, Some(0), Some(299_997)));
        assert!(histogram.buckets().len() <= MOST && histogram.check().is_ok());
        assert!(histogram.buckets().iter().all(|b| b.width_ns == 32), "{:?}", histogram.buckets()[0]);
    }

    proptest! {
        #[test]
        fn each_lies_in_a_bucket(all in prop::collection::vec(any::<u64>(), 1..300)) {
            let histogram = of(all.iter().copied());
            prop_assert!(histogram.check().is_ok());
            prop_assert_eq!(histogram.count(), all.len() as u64);
            for ns in all {
                prop_assert!(histogram.buckets().iter().any(|b| (b.low_ns..=b.high_ns()).contains(&ns)));
            }
        }
    }
}
