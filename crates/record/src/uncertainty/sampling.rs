//! How far above the quantile of the samples that of what they were drawn from may lie.

use crate::Histogram;
use crate::quantile_bounds::{highest_at, upper_rank};

/// The chance that the bound does not hold.
const WRONG: f64 = 0.05;

/// The upper bound of quantile `q` with 95 % confidence, in ns; none where the samples are too few to bound it.
///
/// Of n samples, those not above the quantile are binomial with probability q, so the sample of rank r lies below it with
/// the probability that r or more are: r is the lowest for which that is 5 % at most (David and Nagaraja, Order
/// Statistics, 7.1). It takes the samples as independent; late ones that come in bursts leave more doubt.
///
/// ```
/// use ontick_record::{Histogram, uncertainty::upper_bound};
/// let mut h = Histogram::default();
/// (1..=1_000).for_each(|latency_ns| h.add(latency_ns, 1, 1));
/// assert_eq!(upper_bound(&h, 0.99), Some(996));
/// assert_eq!(upper_bound(&h, 0.999), None);
/// ```
pub fn upper_bound(latency: &Histogram, q: f64) -> Option<u64> {
    let rank = upper_rank(q, latency.count(), WRONG)?;
    let high_ns = highest_at(latency, rank)?;
    Some(latency.max_ns.map_or(high_ns, |max_ns| high_ns.min(max_ns)))
}

/// The standard deviation of the median of these samples, in ns: half of the distance of the samples whose ranks are half
/// of √n below and above it, between which the median is with the probability of one standard deviation on both sides.
/// None without samples.
pub fn median_deviation(of: &Histogram) -> Option<f64> {
    let half = 0.5 / (of.count().max(1) as f64).sqrt();
    let [low_ns, high_ns] = [0.5 - half, 0.5 + half].map(|q| of.quantile(q.clamp(0.0, 1.0)));
    Some((high_ns? - low_ns?) as f64 / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quantile_bounds::tests::numbered;

    /// By the binomial sum, term by term: of 100 samples the 59th bounds the median (P[X ≥ 59] = 4.43 %, P[X ≥ 58] = 6.66 %).
    #[test]
    fn ranks_are_those_of_the_binomial_sum() {
        assert_eq!(upper_bound(&numbered(100), 0.5), Some(59));
        let tail = |n: u64, q: f64, from: u64| -> f64 {
            let mut term = (1.0 - q).powi(n as i32);
            let mut sum = if from == 0 { term } else { 0.0 };
            for k in 1..=n {
                term *= (n - k + 1) as f64 / k as f64 * q / (1.0 - q);
                sum += if k >= from { term } else { 0.0 };
            }
            sum
        };
        for (n, q) in [(100, 0.5), (150, 0.97), (250, 0.9), (333, 0.75)] {
            let rank = upper_bound(&numbered(n), q).unwrap();
            assert!(tail(n, q, rank) <= 0.05 && tail(n, q, rank - 1) > 0.05, "{n} at {q}: {rank}");
        }
    }

    /// Of 1 to 10 000, ranks 4 950 and 5 050.
    #[test]
    fn a_median_of_many_is_known_well() {
        assert_eq!(median_deviation(&numbered(10_000)), Some(50.0));
        assert_eq!((median_deviation(&numbered(1)), median_deviation(&Histogram::default())), (Some(0.0), None));
    }

    /// 0.99 to the power of n is 5 % at most from n = 299 on.
    #[test]
    fn too_few_samples_bound_nothing() {
        assert_eq!((upper_bound(&numbered(298), 0.99), upper_bound(&numbered(299), 0.99)), (None, Some(299)));
        assert_eq!(upper_bound(&Histogram::default(), 0.5), None);
    }

    /// As intervals of a log have them that differ in precision.
    #[test]
    fn where_buckets_overlap_the_bound_is_of_upper_edges() {
        let mut h = Histogram::default();
        for (low_ns, width_ns, count) in [(8_192, 8_192, 50_000), (9_000, 8, 25_000), (10_000, 8, 25_000)] {
            h.add(low_ns, width_ns, count);
            let seen = h.quantile(0.9);
            assert!(upper_bound(&h, 0.9) >= seen, "{seen:?}");
        }
        assert_eq!(upper_bound(&h, 0.9), Some(16_383));
    }

    /// Of many runs, each of samples equally distributed between 0 and 1 000 000, the bound is above the true quantile in 95 % at
    /// least.
    #[test]
    fn the_bound_holds_as_often_as_it_says() {
        let mut state = 7u64;
        let mut next = || {
            // SplitMix64 (Steele, Lea and Flood 2014).
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = state;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            (z ^ (z >> 31)) % 1_000_000
        };
        let mut held = 0;
        for _ in 0..400 {
            let mut h = Histogram::default();
            (0..500).for_each(|_| h.add(next(), 1, 1));
            held += u32::from(upper_bound(&h, 0.99).unwrap() >= 990_000);
        }
        assert!(held >= 380 - 12, "held in {held} of 400");
        assert!(held < 400, "it is not the maximum that is stated");
    }
}
