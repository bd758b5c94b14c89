//! Mean and standard deviation of samples, and of samples that come together.

/// How many samples there are, their mean, and their standard deviation where it is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Moments {
    pub count: u64,
    pub mean_ns: f64,
    pub std_dev_ns: Option<f64>,
}

impl Moments {
    /// Of all samples of both. Squares are taken around the common mean, so that nothing of a small deviation is lost
    /// beside a large mean.
    pub fn joined(self, other: Self) -> Self {
        let (mine, theirs) = (self.count as f64, other.count as f64);
        let all = mine + theirs;
        if self.count == 0 || other.count == 0 {
            return if self.count == 0 { other } else { self };
        }
        let mean_ns = (self.mean_ns * mine + other.mean_ns * theirs) / all;
        let square = |n: f64, mean: f64, std_dev: f64| n / all * (std_dev.powi(2) + (mean - mean_ns).powi(2));
        let std_dev_ns = self
            .std_dev_ns
            .zip(other.std_dev_ns)
            .map(|(a, b)| (square(mine, self.mean_ns, a) + square(theirs, other.mean_ns, b)).sqrt());
        Self { count: self.count.saturating_add(other.count), mean_ns, std_dev_ns }
    }
}

/// The standard deviation of `count` samples of this sum and sum of squares: exact but for the last rounding.
///
/// ```
/// // 2, 4, 4, 4, 5, 5, 7, 9
/// assert_eq!(ontick_record::std_dev(8, 40, 232), Some(2.0));
/// assert_eq!(ontick_record::std_dev(0, 0, 0), None);
/// ```
pub fn std_dev(count: u64, sum: u64, sum_of_squares: u128) -> Option<f64> {
    if count == 0 {
        return None;
    }
    let (n, square_of_sum) = (u128::from(count), u128::from(sum).pow(2));
    // n²·σ² = n·Σx² − (Σx)², in whole numbers as long as they fit.
    let scaled = match n.checked_mul(sum_of_squares) {
        Some(product) => product.saturating_sub(square_of_sum) as f64,
        None => (n as f64 * sum_of_squares as f64 - square_of_sum as f64).max(0.0),
    };
    Some(scaled.sqrt() / count as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// First the mean, then the squares around it.
    fn two_pass(values: &[u64]) -> (f64, f64) {
        let n = values.len() as f64;
        let mean = values.iter().map(|v| *v as f64).sum::<f64>() / n;
        (mean, (values.iter().map(|v| (*v as f64 - mean).powi(2)).sum::<f64>() / n).sqrt())
    }

    fn moments(values: &[u64]) -> Moments {
        let (sum, squares) = values.iter().fold((0, 0), |(s, q), v| (s + v, q + u128::from(*v).pow(2)));
        let count = values.len() as u64;
        let mean_ns = if count == 0 { 0.0 } else { sum as f64 / count as f64 };
        Moments { count, mean_ns, std_dev_ns: std_dev(count, sum, squares).or(Some(0.0)) }
    }

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-9 * a.abs().max(b.abs()) + 1e-6
    }

    #[test]
    fn a_small_deviation_beside_a_large_mean_is_not_lost() {
        // In floating point the squares would differ by less than their rounding.
        let values: Vec<u64> = (0..1_000).map(|i| 100_000_000_000 + i % 2).collect();
        assert_eq!(moments(&values).std_dev_ns, Some(0.5));
        let (a, b) = values.split_at(301);
        assert!(near(moments(a).joined(moments(b)).std_dev_ns.unwrap(), 0.5));
    }

    #[test]
    fn what_one_side_does_not_know_both_do_not_know() {
        let known = moments(&[1, 2]);
        let unknown = Moments { std_dev_ns: None, ..known };
        assert_eq!(known.joined(unknown).std_dev_ns, None);
        assert_eq!(unknown.joined(known).mean_ns, 1.5);
        let none = Moments { count: 0, mean_ns: 0.0, std_dev_ns: None };
        assert_eq!((known.joined(none), none.joined(known)), (known, known));
    }

    #[test]
    fn more_than_whole_numbers_hold_is_reckoned_in_floating_point() {
        // Half of 2⁶² samples are 0, half 2³³: n·Σx² does not fit into 128 bits.
        let (count, half, high) = (1u64 << 62, 1u128 << 61, 1u128 << 33);
        let deviation = std_dev(count, u64::MAX, half * high.pow(2)).unwrap();
        assert!(u128::from(count).checked_mul(half * high.pow(2)).is_none() && deviation.is_finite());
        assert!(near(deviation, (high.pow(2) as f64 / 2.0).sqrt()), "{deviation}");
    }

    proptest! {
        #[test]
        fn it_is_that_of_two_passes(values in prop::collection::vec(0u64..100_000_000_000, 1..200), at in 0usize..200) {
            let (mean, deviation) = two_pass(&values);
            let all = moments(&values);
            prop_assert!(near(all.mean_ns, mean) && near(all.std_dev_ns.unwrap(), deviation), "{all:?}, {deviation}");
            let (a, b) = values.split_at(at.min(values.len()));
            let joined = moments(a).joined(moments(b));
            prop_assert!(near(joined.mean_ns, mean) && near(joined.std_dev_ns.unwrap(), deviation), "{joined:?}");
        }
    }
}
