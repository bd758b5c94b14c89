//! Where the percentile of what the samples were drawn from lies: by ranks alone, whatever the distribution.

use serde::Serialize;
use statrs::function::beta::beta_reg;

use crate::histogram::Histogram;

/// A time, known within bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Bounds {
    /// Not less than this.
    pub low_ns: u64,
    /// Not more than this; `None` where the samples are too few to bound it.
    pub high_ns: Option<u64>,
}

/// The chance that a bound does not hold.
const WRONG: f64 = 0.025;

/// The bounds of quantile `q`, each wrong in one of forty, if there were `n` samples distributed as these are.
///
/// Of n samples, those not above the quantile are binomial with probability q, so the sample of rank l lies above it with
/// the probability that fewer than l are (David and Nagaraja, Order Statistics, 7.1).
pub fn bounds(histogram: &Histogram, q: f64, n: u64) -> Bounds {
    let here = |rank: u64| (u128::from(rank) * u128::from(histogram.count())).div_ceil(u128::from(n.max(1))) as u64;
    let (below, above) = ranks(q, n);
    let low_ns = below.and_then(|rank| lowest_at(histogram, here(rank)));
    let high_ns = above.and_then(|rank| highest_at(histogram, here(rank)));
    Bounds { low_ns: low_ns.unwrap_or(0), high_ns }
}

/// How many samples have one at least that is above quantile `q`. Rounded, as 1 - 0.9999 is a little less than a ten
/// thousandth.
pub fn fewest(q: f64) -> u64 {
    (1.0 / (1.0 - q)).round().max(1.0) as u64
}

/// The ranks, of 1 to `n`, of the samples that quantile `q` lies between, each wrong in one of forty; none where so few
/// samples bound it not.
pub fn ranks(q: f64, n: u64) -> (Option<u64>, Option<u64>) {
    // The lowest rank that is too high to be below.
    let too_high = first(n, |rank| at_most(rank - 1, n, q) > WRONG);
    ((too_high > 1).then(|| too_high - 1), upper_rank(q, n, WRONG))
}

/// The lowest rank, of 1 to `n`, of the sample that quantile `q` is above with a chance of `wrong` at most; none where so
/// few samples bound it not.
pub fn upper_rank(q: f64, n: u64, wrong: f64) -> Option<u64> {
    let above = first(n, |rank| 1.0 - at_most(rank - 1, n, q) <= wrong);
    (above <= n).then_some(above)
}

/// The chance that at most `k` of `n` samples are not above the quantile.
fn at_most(k: u64, n: u64, q: f64) -> f64 {
    match k >= n {
        true => 1.0,
        false => beta_reg((n - k) as f64, k as f64 + 1.0, 1.0 - q),
    }
}

/// The first rank of 1 to `n` for which it holds, which it does for all above; `n + 1` if for none.
fn first(n: u64, holds: impl Fn(u64) -> bool) -> u64 {
    let (mut low, mut high) = (1, n + 1);
    while low < high {
        let middle = low + (high - low) / 2;
        match holds(middle) {
            true => high = middle,
            false => low = middle + 1,
        }
    }
    low
}

/// What the sample of this rank was at most: the upper edge of its bucket; the maximum beyond all buckets.
pub fn highest_at(histogram: &Histogram, rank: u64) -> Option<u64> {
    histogram.most_of_rank(rank).or(histogram.max_ns)
}

/// What the sample of this rank was at least. Beyond all buckets only the last one's value is known, the maximum; of the
/// others it is known that none is below the minimum.
fn lowest_at(histogram: &Histogram, rank: u64) -> Option<u64> {
    let beyond = if rank >= histogram.count() { histogram.max_ns } else { None };
    histogram.least_of_rank(rank).or(beyond).or(histogram.min_ns)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Samples of 1, 2, 3 … ns.
    pub(crate) fn numbered(count: u64) -> Histogram {
        let mut h = Histogram::default();
        (1..=count).for_each(|i| h.add(i, 1, 1));
        h
    }

    /// Ranks as tables of order statistics have them: for the median of 100 the 40th and the 61st, of 10 the 2nd and the 9th.
    #[test]
    fn medians_lie_between_the_ranks_of_the_tables() {
        assert_eq!(bounds(&numbered(100), 0.5, 100), Bounds { low_ns: 40, high_ns: Some(61) });
        assert_eq!(bounds(&numbered(10), 0.5, 10), Bounds { low_ns: 2, high_ns: Some(9) });
    }

    /// 0.99 to the power of n is at most 0.025 from n = 368 on.
    #[test]
    fn a_high_percentile_of_few_samples_has_no_upper_bound() {
        assert_eq!(bounds(&numbered(367), 0.99, 367).high_ns, None);
        assert_eq!(bounds(&numbered(368), 0.99, 368).high_ns, Some(368));
    }

    #[test]
    fn more_of_the_same_samples_bound_closer() {
        let (once, often) = (bounds(&numbered(100), 0.5, 100), bounds(&numbered(100), 0.5, 10_000));
        assert!(often.low_ns > once.low_ns && often.high_ns < once.high_ns, "{often:?}");
        assert_eq!(bounds(&Histogram::default(), 0.5, 0), Bounds { low_ns: 0, high_ns: None });
    }

    #[test]
    fn a_bucket_is_bounded_by_its_edges() {
        let mut h = Histogram::default();
        h.add(1_000, 128, 1_000);
        assert_eq!(bounds(&h, 0.5, 1_000), Bounds { low_ns: 1_000, high_ns: Some(1_127) });
    }

    /// As intervals of a log have them that differ in precision.
    #[test]
    fn where_buckets_overlap_each_bound_is_of_an_edge_of_its_own() {
        let mut h = Histogram::default();
        h.add(8_192, 8_192, 50_000);
        h.add(9_000, 8, 25_000);
        h.add(10_000, 8, 25_000);
        assert_eq!(bounds(&h, 0.9, 100_000), Bounds { low_ns: 10_000, high_ns: Some(16_383) });
        assert_eq!(bounds(&h, 0.25, 100_000), Bounds { low_ns: 8_192, high_ns: Some(10_007) });
    }

    proptest! {
        #[test]
        fn a_quantile_lies_within_its_bounds(
            buckets in prop::collection::vec((0u64..2_000, 1u64..1_000, 1u64..400), 1..20),
            q in 0.01f64..0.999,
        ) {
            let mut h = Histogram::default();
            buckets.iter().for_each(|(low, width, count)| h.add(*low, *width, *count));
            let of_samples = h.quantile(q).unwrap();
            let bounds = bounds(&h, q, h.count());
            prop_assert!(bounds.high_ns.is_none_or(|high_ns| high_ns >= of_samples), "{bounds:?}, {of_samples}");
            prop_assert!(bounds.low_ns <= of_samples, "{bounds:?}, {of_samples}");
            let within = h.bucket_of_quantile(q);
            prop_assert!(within.is_none_or(|(low_ns, high_ns)| low_ns >= bounds.low_ns && high_ns == of_samples));
        }
    }

    #[test]
    fn beyond_the_buckets_only_minimum_and_maximum_bound_a_percentile() {
        let mut h = numbered(900);
        (h.overflow, h.max_ns) = (100, Some(5_000));
        assert_eq!(bounds(&h, 0.5, 1_000), Bounds { low_ns: 469, high_ns: Some(532) });
        assert_eq!(bounds(&h, 0.95, 1_000), Bounds { low_ns: 1, high_ns: Some(5_000) });
        h.max_ns = None;
        assert_eq!(bounds(&h, 0.95, 1_000), Bounds { low_ns: 1, high_ns: None });
    }
}
