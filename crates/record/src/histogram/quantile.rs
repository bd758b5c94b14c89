//! Which value so many samples do not exceed, and how many are below a value.

use std::borrow::Cow;

use super::{Bucket, Histogram};

impl Histogram {
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
