//! A histogram of latencies that loses nothing: each bucket says which values it covers, so logarithmic
//! buckets (ontick's own) and linear ones (cyclictest's, jitterdebugger's) live in one type.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::HistogramError;
use crate::moments::{Moments, std_dev};

/// `count` values in `low_ns ..= low_ns + width_ns - 1`; in JSON `[low_ns, width_ns, count]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "(u64, u64, u64)", into = "(u64, u64, u64)")]
#[schemars(with = "(u64, u64, u64)")]
pub struct Bucket {
    /// Smallest value that the bucket covers.
    pub low_ns: u64,
    /// How many nanoseconds it covers.
    pub width_ns: u64,
    /// How many samples fell into it.
    pub count: u64,
}

impl Bucket {
    /// Largest value that the bucket covers.
    pub fn high_ns(&self) -> u64 {
        self.low_ns.saturating_add(self.width_ns.max(1) - 1)
    }
}

impl From<(u64, u64, u64)> for Bucket {
    fn from((low_ns, width_ns, count): (u64, u64, u64)) -> Self {
        Self { low_ns, width_ns: width_ns.max(1), count }
    }
}

impl From<Bucket> for (u64, u64, u64) {
    fn from(b: Bucket) -> Self {
        (b.low_ns, b.width_ns, b.count)
    }
}

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

/// Latencies of one series.
///
/// Percentiles are the upper edge of the bucket that holds the rank (never flattering), and never
/// above the exact maximum. Of samples beyond the last bucket only the maximum can bound them; where
/// no sample has a bucket (a summary such as `Min: 3 Avg: 5 Max: 95`), percentiles are unknown.
///
/// ```
/// use ontick_record::Histogram;
/// let mut h = Histogram::default();
/// for latency_ns in [400, 500, 600, 90_000] {
///     h.add(latency_ns, 1, 1);
/// }
/// assert_eq!(h.quantile(0.5), Some(500));
/// assert_eq!(h.below(3_000), 3);
/// assert_eq!(h.max_ns, Some(90_000));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Histogram {
    /// Exact smallest value, where it is known.
    pub min_ns: Option<u64>,
    /// Exact largest value, where it is known.
    pub max_ns: Option<u64>,
    /// Exact arithmetic mean, where it is known.
    pub mean_ns: Option<f64>,
    /// Exact standard deviation, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub std_dev_ns: Option<f64>,
    /// Samples that were larger than the last bucket of the tool that recorded them.
    pub overflow: u64,
    /// The buckets that hold samples, ascending.
    buckets: Vec<Bucket>,
}

impl Histogram {
    /// Builds from buckets in any order; equal ones are added up.
    pub fn from_buckets(buckets: impl IntoIterator<Item = Bucket>) -> Self {
        let mut sorted = BTreeMap::new();
        for b in buckets.into_iter().filter(|b| b.count > 0) {
            let count = sorted.entry((b.low_ns, b.width_ns.max(1))).or_insert(0u64);
            *count = count.saturating_add(b.count);
        }
        let buckets: Vec<Bucket> =
            sorted.into_iter().map(|((low_ns, width_ns), count)| Bucket { low_ns, width_ns, count }).collect();
        Self { buckets, ..Self::default() }.with_edges()
    }

    /// What a recorder counted: its buckets, smallest and largest latency, and the sums of the latencies and of their
    /// squares.
    pub fn recorded(
        buckets: impl IntoIterator<Item = Bucket>,
        extremes: Option<(u64, u64)>,
        sum_ns: u64,
        sum_of_squares: u128,
    ) -> Self {
        let counted = Self::from_buckets(buckets);
        let count = counted.count();
        Self {
            min_ns: extremes.map(|(min_ns, _)| min_ns),
            max_ns: extremes.map(|(_, max_ns)| max_ns),
            mean_ns: (count > 0).then(|| sum_ns as f64 / count as f64),
            std_dev_ns: std_dev(count, sum_ns, sum_of_squares),
            ..counted
        }
    }

    /// Fills in minimum and maximum from the buckets where nothing exact is known.
    fn with_edges(mut self) -> Self {
        self.min_ns = self.min_ns.or(self.buckets.first().map(|b| b.low_ns));
        if self.overflow == 0 {
            self.max_ns = self.max_ns.or(self.buckets.iter().map(Bucket::high_ns).max());
        }
        self
    }

    /// Adds `count` samples to the bucket `low_ns`, `width_ns` and widens minimum and maximum to it,
    /// where they are known. A mean and a standard deviation that were known are not any more.
    pub fn add(&mut self, low_ns: u64, width_ns: u64, count: u64) {
        if count == 0 {
            return;
        }
        let bucket = Bucket { low_ns, width_ns: width_ns.max(1), count };
        if self.is_empty() {
            (self.min_ns, self.max_ns) = (Some(low_ns), Some(bucket.high_ns()));
        } else {
            self.min_ns = self.min_ns.map(|m| m.min(low_ns));
            self.max_ns = self.max_ns.map(|m| m.max(bucket.high_ns()));
        }
        (self.mean_ns, self.std_dev_ns) = (None, None);
        match self.buckets.binary_search_by_key(&(low_ns, bucket.width_ns), |b| (b.low_ns, b.width_ns)) {
            Ok(i) => self.buckets[i].count = self.buckets[i].count.saturating_add(count),
            Err(i) => self.buckets.insert(i, bucket),
        }
    }

    /// Adds another histogram's samples. What only one of the two knows, the sum does not know.
    pub fn merge(&mut self, other: &Histogram) {
        if other.is_empty() {
            return;
        }
        if self.is_empty() {
            *self = other.clone();
            return;
        }
        let moments = self.moments().zip(other.moments()).map(|(mine, theirs)| mine.joined(theirs));
        let merged = Histogram::from_buckets(self.buckets.iter().chain(&other.buckets).copied());
        *self = Histogram {
            min_ns: self.min_ns.zip(other.min_ns).map(|(a, b)| a.min(b)),
            max_ns: self.max_ns.zip(other.max_ns).map(|(a, b)| a.max(b)),
            mean_ns: moments.map(|moments| moments.mean_ns),
            std_dev_ns: moments.and_then(|moments| moments.std_dev_ns),
            overflow: self.overflow.saturating_add(other.overflow),
            buckets: merged.buckets,
        };
    }

    /// Whether there is no sample at all.
    pub fn is_empty(&self) -> bool {
        self.overflow == 0 && self.buckets.iter().all(|b| b.count == 0)
    }

    /// The buckets that hold samples, ascending.
    pub fn buckets(&self) -> &[Bucket] {
        &self.buckets
    }

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

    /// Number of samples, those beyond the last bucket included.
    pub fn count(&self) -> u64 {
        self.buckets.iter().fold(self.overflow, |sum, b| sum.saturating_add(b.count))
    }

    /// The value that a share `q` (0 to 1) of the samples does not exceed: the ⌈q·n⌉-th smallest.
    /// `None` without samples, where none has a bucket (unless the rank is the last one, whose value is
    /// the maximum), or where the rank lies beyond the last bucket and no maximum is known.
    pub fn quantile(&self, q: f64) -> Option<u64> {
        let count = self.count();
        if count == 0 {
            return None;
        }
        let rank = rank(q, count);
        if rank == count && self.max_ns.is_some() {
            return self.max_ns;
        }
        if let Some(high_ns) = self.most_of_rank(rank) {
            return Some(self.max_ns.map_or(high_ns, |max| high_ns.min(max)));
        }
        if self.overflow > 0 && !self.buckets.is_empty() { self.max_ns } else { None }
    }

    /// The smallest and the largest value that the sample of quantile `q` may have had, the largest being what
    /// [`quantile`](Self::quantile) gives; `None` where it has no bucket, or is the maximum, which is exact.
    pub fn bucket_of_quantile(&self, q: f64) -> Option<(u64, u64)> {
        let (value_ns, rank) = (self.quantile(q)?, rank(q, self.count()));
        if rank == self.count() {
            return None;
        }
        let low_ns = self.least_of_rank(rank)?;
        Some((self.min_ns.map_or(low_ns, |min| low_ns.max(min)).min(value_ns), value_ns))
    }

    /// Whether it is known where the sample of quantile `q` lies: in a bucket, or at the maximum. Of one beyond the buckets
    /// [`quantile`](Self::quantile) knows only that the maximum bounds it.
    pub fn holds_quantile(&self, q: f64) -> bool {
        let (count, rank) = (self.count(), rank(q, self.count()));
        count > 0 && ((rank == count && self.max_ns.is_some()) || self.least_of_rank(rank).is_some())
    }

    /// What the sample of this rank, 1 being the smallest, was at least: as if all lay at their low edges. `None` beyond all
    /// buckets.
    pub(crate) fn least_of_rank(&self, rank: u64) -> Option<u64> {
        of_rank(&self.buckets, rank).map(|bucket| bucket.low_ns)
    }

    /// What it was at most: as if all lay at their upper edges. Where buckets overlap, it may be another bucket's.
    pub(crate) fn most_of_rank(&self, rank: u64) -> Option<u64> {
        of_rank(&self.by_upper_edge(), rank).map(Bucket::high_ns)
    }

    /// The buckets in the order of their upper edges, in which their samples are certainly below. Only where
    /// histograms of different tools were merged, buckets overlap and this is another order than their own.
    pub fn by_upper_edge(&self) -> Cow<'_, [Bucket]> {
        if self.buckets.is_sorted_by_key(Bucket::high_ns) {
            return Cow::Borrowed(&self.buckets);
        }
        let mut buckets = self.buckets.clone();
        buckets.sort_by_key(Bucket::high_ns);
        Cow::Owned(buckets)
    }

    /// How many samples were certainly below `limit_ns`: whole buckets only, so never too many; all of
    /// them where the maximum is.
    pub fn below(&self, limit_ns: u64) -> u64 {
        if self.max_ns.is_some_and(|max| max < limit_ns) {
            return self.count();
        }
        self.buckets.iter().filter(|b| b.high_ns() < limit_ns).fold(0, |sum, b| sum.saturating_add(b.count))
    }

    /// [`below`](Self::below) for each of these limits, which ascend, in one pass.
    pub fn below_each(&self, limits_ns: &[u64]) -> Vec<u64> {
        let all = self.count();
        let ascending = self.by_upper_edge();
        let mut buckets = ascending.iter().peekable();
        let mut sum = 0u64;
        let below = limits_ns.iter().map(|limit| {
            while let Some(bucket) = buckets.next_if(|bucket| bucket.high_ns() < *limit) {
                sum = sum.saturating_add(bucket.count);
            }
            if self.max_ns.is_some_and(|max| max < *limit) { all } else { sum }
        });
        below.collect()
    }

    /// What makes a histogram from outside unusable, if anything.
    pub fn check(&self) -> Result<(), HistogramError> {
        let sorted = self.buckets.windows(2).all(|w| (w[0].low_ns, w[0].width_ns) < (w[1].low_ns, w[1].width_ns));
        let total = self.buckets.iter().try_fold(self.overflow, |sum, b| sum.checked_add(b.count));
        match (sorted, total) {
            (false, _) => Err(HistogramError::Order),
            (_, None) => Err(HistogramError::Count),
            _ if self.buckets.iter().any(|b| self.lies_beyond(b)) => Err(HistogramError::Extremes),
            _ => Ok(()),
        }
    }

    /// Whether a bucket contradicts minimum or maximum by more than its width, which rounding does not.
    fn lies_beyond(&self, bucket: &Bucket) -> bool {
        let above = self.max_ns.is_some_and(|max| bucket.low_ns.saturating_sub(bucket.width_ns) > max);
        let below = self.min_ns.is_some_and(|min| bucket.high_ns().saturating_add(bucket.width_ns) < min);
        bucket.count > 0 && (above || below)
    }
}

/// The bucket with which as many samples as this rank has are reached, in the order of these.
fn of_rank(buckets: &[Bucket], rank: u64) -> Option<&Bucket> {
    let mut seen = 0u64;
    buckets.iter().find(|bucket| {
        seen = seen.saturating_add(bucket.count);
        seen >= rank
    })
}

/// ⌈q·n⌉ within 1 to n. `0.07 * 100.0` is 7.000000000000001, so a product that is a whole number but
/// for the rounding of its factors counts as that number.
pub(crate) fn rank(q: f64, count: u64) -> u64 {
    if q >= 1.0 {
        return count;
    }
    let exact = q * count as f64;
    let whole = exact.round();
    let near = (exact - whole).abs() <= exact.abs() * (4.0 * f64::EPSILON);
    (if near { whole } else { exact.ceil() } as u64).clamp(1, count.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(values: &[u64]) -> Histogram {
        let mut h = Histogram::default();
        values.iter().for_each(|v| h.add(*v, 1, 1));
        h
    }

    #[test]
    fn empty_has_no_percentile() {
        let h = Histogram::default();
        assert_eq!((h.quantile(0.5), h.count(), h.below(3_000)), (None, 0, 0));
    }

    /// A record may state a maximum of no samples.
    #[test]
    fn buckets_without_samples_have_no_percentile() {
        let h: Histogram = serde_json::from_str(r#"{"max_ns":95,"buckets":[[3,1,0]]}"#).unwrap();
        assert!(h.is_empty());
        for q in [0.0, 0.5, 1.0] {
            assert_eq!(h.quantile(q), None, "{q}");
        }
    }

    #[test]
    fn a_percentile_beyond_the_last_bucket_is_the_maximum_or_unknown() {
        let mut h = of(&[10; 98]);
        h.overflow = 2;
        h.max_ns = None;
        assert_eq!(h.quantile(0.99), None);
        h.max_ns = Some(5_000);
        assert_eq!(h.quantile(0.99), Some(5_000));
        assert_eq!(h.count(), 100);
    }

    #[test]
    fn a_summary_knows_its_maximum_but_no_percentile() {
        let h =
            Histogram { overflow: 1000, min_ns: Some(3), max_ns: Some(95), mean_ns: Some(5.0), ..Histogram::default() };
        assert_eq!((h.quantile(0.5), h.quantile(0.999), h.quantile(1.0)), (None, None, Some(95)));
        assert_eq!((h.below(95), h.below(96)), (0, 1000));
    }

    #[test]
    fn a_quantile_is_held_by_a_bucket_or_is_the_maximum() {
        let mut h = of(&[10; 98]);
        (h.overflow, h.max_ns) = (2, Some(5_000));
        assert_eq!([0.5, 0.98, 0.99, 1.0].map(|q| h.holds_quantile(q)), [true, true, false, true]);
        h.max_ns = None;
        assert!(!h.holds_quantile(1.0) && !Histogram::default().holds_quantile(0.5));
    }

    #[test]
    fn a_quantile_lies_within_its_bucket() {
        let mut h = Histogram::default();
        h.add(100, 8, 50);
        h.add(200, 8, 49);
        h.add(300, 8, 1);
        h.max_ns = Some(303);
        assert_eq!([0.5, 0.99, 1.0].map(|q| h.bucket_of_quantile(q)), [Some((100, 107)), Some((200, 207)), None]);
        h.min_ns = Some(103);
        assert_eq!(h.bucket_of_quantile(0.5), Some((103, 107)));
        assert_eq!(Histogram::default().bucket_of_quantile(0.5), None);
    }

    #[test]
    fn ranks_are_not_moved_by_rounding() {
        let hundred = of(&(1..=100).collect::<Vec<_>>());
        for percent in 1..=100u64 {
            assert_eq!(hundred.quantile(percent as f64 / 100.0), Some(percent));
        }
        let thousand = of(&(1..=1000).collect::<Vec<_>>());
        // As a requirement writes it: 99.9 / 100 is 0.9990000000000001.
        assert_eq!(thousand.quantile(99.9 / 100.0), Some(999));
    }

    #[test]
    fn percentiles_rise_where_buckets_overlap() {
        let mut fine = of(&[15_000, 16_000]);
        let coarse = Histogram::from_buckets([Bucket { low_ns: 14_000, width_ns: 500_000, count: 1 }]);
        fine.merge(&coarse);
        assert_eq!([0.3, 0.6, 0.9].map(|q| fine.quantile(q)), [Some(15_000), Some(16_000), Some(513_999)]);
        // The smallest of them may be the coarse one.
        assert_eq!(fine.bucket_of_quantile(0.3), Some((14_000, 15_000)));
        assert_eq!(fine.bucket_of_quantile(0.6), Some((15_000, 16_000)));
    }

    #[test]
    fn more_samples_than_a_float_can_count() {
        let mut h = Histogram::default();
        h.add(1, 1, (1 << 60) - 1);
        h.add(7, 1, 1);
        assert_eq!((h.quantile(1.0), h.quantile(0.5)), (Some(7), Some(1)));
    }

    #[test]
    fn a_maximum_that_one_side_does_not_know_stays_unknown() {
        let mut h = of(&[10]);
        let mut overflown = of(&[20]);
        (overflown.overflow, overflown.max_ns) = (1, None);
        h.merge(&overflown);
        assert_eq!((h.min_ns, h.max_ns, h.count()), (Some(10), None, 3));
        h.add(30, 1, 1);
        assert_eq!((h.max_ns, h.quantile(1.0)), (None, None));
        let mut empty = Histogram::default();
        empty.merge(&h);
        assert_eq!(empty, h);
    }

    #[test]
    fn samples_beyond_the_extremes_are_unsound() {
        let of = |text: &str| serde_json::from_str::<Histogram>(text).unwrap().check();
        assert_eq!(of(r#"{"max_ns":100,"buckets":[[9000000,1,5000]]}"#), Err(HistogramError::Extremes));
        assert_eq!(of(r#"{"min_ns":9000000,"max_ns":9000000,"buckets":[[7,1,1]]}"#), Err(HistogramError::Extremes));
        // The extremes lie within their buckets, or beside them by rounding.
        assert_eq!(of(r#"{"min_ns":1100,"max_ns":2010,"buckets":[[1000,128,1],[2000,128,1]]}"#), Ok(()));
        assert_eq!(of(r#"{"min_ns":1130,"max_ns":1999,"buckets":[[1000,128,1],[2000,128,1]]}"#), Ok(()));
        assert_eq!(of(r#"{"max_ns":95,"buckets":[[9000000,1,0]]}"#), Ok(()));
    }

    #[test]
    fn adding_after_the_mean_was_set_forgets_it() {
        let mut h = of(&[10]);
        (h.mean_ns, h.std_dev_ns) = (Some(10.0), Some(0.0));
        h.add(20, 1, 1);
        assert_eq!((h.mean_ns, h.std_dev_ns), (None, None));
    }

    #[test]
    fn a_straddling_bucket_is_not_below() {
        let mut h = Histogram::default();
        h.add(2_992, 16, 5);
        assert_eq!((h.below(3_000), h.below(3_007), h.below(3_008)), (0, 0, 5));
    }

    #[test]
    fn means_are_weighed_by_their_samples() {
        let with = |count, mean_ns| {
            let mut h = Histogram::default();
            h.add(10, 1, count);
            h.mean_ns = Some(mean_ns);
            h
        };
        let mut sum = with(1, 2.0);
        sum.merge(&with(3, 10.0));
        assert_eq!((sum.mean_ns, sum.mean()), (Some(8.0), Some(8.0)));
        // Where none is known, each sample counts as its bucket's upper edge.
        let mut edges = of(&[5]);
        edges.add(8, 4, 3);
        assert_eq!((edges.mean_ns, edges.mean()), (None, Some((5.0 + 3.0 * 11.0) / 4.0)));
        assert_eq!(Histogram::default().mean(), None);
    }

    #[test]
    fn a_deviation_out_of_buckets_states_their_resolution() {
        let us = |us: u64, count| Bucket { low_ns: us * 1_000, width_ns: 1_000, count };
        let mut rows = Histogram::from_buckets([us(2, 1), us(4, 3), us(5, 2), us(7, 1), us(9, 1)]);
        assert_eq!(rows.deviation(), Some(Deviation { ns: 2_000.0, resolution_ns: 1_000 }));
        rows.std_dev_ns = Some(2_113.0);
        assert_eq!(rows.deviation(), Some(Deviation { ns: 2_113.0, resolution_ns: 0 }));
        // Where the others lie is not known.
        (rows.std_dev_ns, rows.overflow) = (None, 1);
        assert_eq!((rows.deviation(), Histogram::default().deviation()), (None, None));
        assert_eq!(of(&[1, 3]).deviation(), Some(Deviation { ns: 1.0, resolution_ns: 0 }));
    }

    #[test]
    fn deviations_are_merged_around_the_common_mean() {
        let with = |values: &[u64], mean_ns, std_dev_ns| {
            let mut h = of(values);
            (h.mean_ns, h.std_dev_ns) = (Some(mean_ns), Some(std_dev_ns));
            h
        };
        let mut sum = with(&[2, 4, 4, 4], 3.5, 0.75f64.sqrt());
        sum.merge(&with(&[5, 5, 7, 9], 6.5, 2.75f64.sqrt()));
        assert_eq!(sum.mean_ns, Some(5.0));
        assert!((sum.std_dev_ns.unwrap() - 2.0).abs() < 1e-12, "{sum:?}");
        // A record of before has none.
        let old: Histogram =
            serde_json::from_str(r#"{"min_ns":1,"max_ns":1,"mean_ns":1.0,"overflow":0,"buckets":[[1,1,1]]}"#).unwrap();
        sum.merge(&old);
        assert_eq!((sum.std_dev_ns, sum.mean_ns.is_some()), (None, true));
    }

    proptest! {
        #[test]
        fn one_pass_counts_what_each_limit_would(
            values in prop::collection::vec((0u64..2_000, 1u64..300), 0..40),
            mut limits in prop::collection::vec(0u64..2_500, 0..10),
            overflow in 0u64..3,
        ) {
            let mut h = Histogram::default();
            values.iter().for_each(|(low, width)| h.add(*low, *width, 2));
            h.overflow = overflow;
            limits.sort_unstable();
            let each: Vec<u64> = limits.iter().map(|limit| h.below(*limit)).collect();
            prop_assert_eq!(h.below_each(&limits), each);
        }
    }

    proptest! {
        #[test]
        fn percentiles_are_ranks(mut values in prop::collection::vec(0u64..1_000_000, 1..200), q in 0.0f64..=1.0) {
            let h = of(&values);
            values.sort_unstable();
            let rank = rank(q, values.len() as u64);
            prop_assert!(rank as f64 >= q * values.len() as f64 * (1.0 - 1e-12));
            prop_assert!(rank == 1 || ((rank - 1) as f64) < q * values.len() as f64);
            prop_assert_eq!(h.quantile(q), Some(values[rank as usize - 1]));
        }

        #[test]
        fn json_loses_nothing(
            buckets in prop::collection::vec((0u64..1 << 40, 1u64..1 << 20, 1u64..1 << 30), 0..50),
            mean in prop::option::of(0.0f64..1e11),
        ) {
            let mut h = Histogram::from_buckets(buckets.into_iter().map(Bucket::from));
            h.mean_ns = mean;
            let text = serde_json::to_string(&h).unwrap();
            let back: Histogram = serde_json::from_str(&text).unwrap();
            prop_assert!(back.check().is_ok());
            prop_assert_eq!(back, h);
        }

        #[test]
        fn merging_is_adding(a in prop::collection::vec(0u64..9_999, 0..50), b in prop::collection::vec(0u64..9_999, 0..50)) {
            let mut merged = of(&a);
            merged.merge(&of(&b));
            let both: Vec<u64> = a.into_iter().chain(b).collect();
            prop_assert_eq!(merged, of(&both));
        }
    }
}
