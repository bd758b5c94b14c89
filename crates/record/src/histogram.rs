//! A histogram of latencies that loses nothing: each bucket says which values it covers, so logarithmic
//! buckets (ontick's own) and linear ones (cyclictest's, jitterdebugger's) live in one type.

mod bucket;
mod deviation;
mod quantile;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::HistogramError;
use crate::moments::std_dev;

pub use bucket::Bucket;
pub use deviation::Deviation;

pub(crate) use quantile::rank;

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

    /// Number of samples, those beyond the last bucket included.
    pub fn count(&self) -> u64 {
        self.buckets.iter().fold(self.overflow, |sum, b| sum.saturating_add(b.count))
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

#[cfg(test)]
mod tests;
