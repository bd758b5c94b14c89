//! A histogram of latencies that loses nothing: each bucket says which values it covers, so logarithmic
//! buckets (ontick's own) and linear ones (cyclictest's, jitterdebugger's) live in one type.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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

/// Latencies of one series.
///
/// Percentiles are the upper edge of the bucket that holds the rank (never flattering), and never
/// above the exact maximum.
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

    /// Fills in minimum and maximum from the buckets where nothing exact is known.
    fn with_edges(mut self) -> Self {
        self.min_ns = self.min_ns.or(self.buckets.first().map(|b| b.low_ns));
        if self.overflow == 0 {
            self.max_ns = self.max_ns.or(self.buckets.iter().map(Bucket::high_ns).max());
        }
        self
    }

    /// Adds `count` samples to the bucket `low_ns`, `width_ns` and widens minimum and maximum to it.
    pub fn add(&mut self, low_ns: u64, width_ns: u64, count: u64) {
        if count == 0 {
            return;
        }
        let bucket = Bucket { low_ns, width_ns: width_ns.max(1), count };
        match self.buckets.binary_search_by_key(&(low_ns, bucket.width_ns), |b| (b.low_ns, b.width_ns)) {
            Ok(i) => self.buckets[i].count = self.buckets[i].count.saturating_add(count),
            Err(i) => self.buckets.insert(i, bucket),
        }
        self.min_ns = Some(self.min_ns.map_or(low_ns, |m| m.min(low_ns)));
        self.max_ns = Some(self.max_ns.map_or(bucket.high_ns(), |m| m.max(bucket.high_ns())));
    }

    /// Adds another histogram's samples.
    pub fn merge(&mut self, other: &Histogram) {
        if other.count() == 0 {
            return;
        }
        let (mine, theirs) = (self.count() as f64, other.count() as f64);
        let mean_ns = match (self.mean_ns, other.mean_ns) {
            (None, mean) if mine == 0.0 => mean,
            (Some(a), Some(b)) => Some((a * mine + b * theirs) / (mine + theirs)),
            _ => None,
        };
        let narrow = |a: Option<u64>, b: Option<u64>, pick: fn(u64, u64) -> u64| match (a, b) {
            (Some(a), Some(b)) => Some(pick(a, b)),
            (a, b) => a.or(b),
        };
        let merged = Histogram::from_buckets(self.buckets.iter().chain(&other.buckets).copied());
        *self = Histogram {
            min_ns: narrow(self.min_ns, other.min_ns, u64::min),
            max_ns: narrow(self.max_ns, other.max_ns, u64::max),
            mean_ns,
            overflow: self.overflow.saturating_add(other.overflow),
            buckets: merged.buckets,
        };
    }

    /// The buckets that hold samples, ascending.
    pub fn buckets(&self) -> &[Bucket] {
        &self.buckets
    }

    /// Number of samples, those beyond the last bucket included.
    pub fn count(&self) -> u64 {
        self.buckets.iter().fold(self.overflow, |sum, b| sum.saturating_add(b.count))
    }

    /// The value that a share `q` (0 to 1) of the samples does not exceed: the ⌈q·n⌉-th smallest.
    /// `None` without samples, or where the rank lies beyond the last bucket and no maximum is known.
    pub fn quantile(&self, q: f64) -> Option<u64> {
        let rank = ((q * self.count() as f64).ceil() as u64).clamp(1, self.count().max(1));
        let mut seen = 0u64;
        for b in &self.buckets {
            seen = seen.saturating_add(b.count);
            if seen >= rank {
                return Some(self.max_ns.map_or(b.high_ns(), |max| b.high_ns().min(max)));
            }
        }
        if self.overflow > 0 { self.max_ns } else { None }
    }

    /// How many samples were certainly below `limit_ns`: whole buckets only, so never too many.
    pub fn below(&self, limit_ns: u64) -> u64 {
        self.buckets.iter().filter(|b| b.high_ns() < limit_ns).map(|b| b.count).sum()
    }

    /// [`below`](Self::below) as a share of all samples, 0 to 1; 0 without samples.
    pub fn share_below(&self, limit_ns: u64) -> f64 {
        match self.count() {
            0 => 0.0,
            n => self.below(limit_ns) as f64 / n as f64,
        }
    }

    /// What makes a histogram from outside unusable, if anything.
    pub fn check(&self) -> Result<(), String> {
        let sorted = self.buckets.windows(2).all(|w| (w[0].low_ns, w[0].width_ns) < (w[1].low_ns, w[1].width_ns));
        let total = self.buckets.iter().try_fold(self.overflow, |sum, b| sum.checked_add(b.count));
        match (sorted, total) {
            (false, _) => Err("the histogram's buckets are not in ascending order".into()),
            (_, None) => Err("the histogram counts more samples than fit 64 bits".into()),
            _ => Ok(()),
        }
    }
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
        assert_eq!((h.quantile(0.5), h.count(), h.share_below(3_000)), (None, 0, 0.0));
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
    fn a_straddling_bucket_is_not_below() {
        let mut h = Histogram::default();
        h.add(2_992, 16, 5);
        assert_eq!((h.below(3_000), h.below(3_007), h.below(3_008)), (0, 0, 5));
    }

    proptest! {
        #[test]
        fn percentiles_are_ranks(mut values in prop::collection::vec(0u64..1_000_000, 1..200), q in 0.0f64..=1.0) {
            let h = of(&values);
            values.sort_unstable();
            let rank = ((q * values.len() as f64).ceil() as usize).max(1);
            prop_assert_eq!(h.quantile(q), Some(values[rank - 1]));
        }

        #[test]
        fn json_loses_nothing(buckets in prop::collection::vec((0u64..1 << 40, 1u64..1 << 20, 1u64..1 << 30), 0..50)) {
            let h = Histogram::from_buckets(buckets.into_iter().map(Bucket::from));
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
