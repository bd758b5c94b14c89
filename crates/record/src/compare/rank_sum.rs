//! How many times one set of values another is, by the ranks of all pairs, whatever the distribution (Mann and Whitney's
//! test; Hollander, Wolfe and Chicken, Nonparametric Statistical Methods, 4.2 and 4.3).

/// The chance that a bound does not hold.
const WRONG: f64 = 0.05;
/// The quantile of the normal distribution that leaves [`WRONG`] above it.
const NORMAL: f64 = 1.644_853_6;

/// The least and the most times `before` that `after` is, each wrong in one of twenty, where each value was had `often`
/// times. `None` where the values are too few.
pub fn ratio_bounds(before: &[u64], after: &[u64], often: u64) -> Option<(f64, f64)> {
    let (n, m) = (before.len() as u64 * often, after.len() as u64 * often);
    let outside = match often {
        1 => exactly_outside(n as usize, m as usize),
        _ => roughly_outside(n as f64, m as f64),
    }?;
    let mut ratios: Vec<f64> = after.iter().flat_map(|new| before.iter().map(move |base| ratio(*new, *base))).collect();
    ratios.sort_unstable_by(f64::total_cmp);
    // The ratio of this rank of all pairs, each of which is there that often squared.
    let at = |rank: u64| ratios[(rank / (often * often)) as usize];
    Some((at(outside), at(n * m - 1 - outside)))
}

/// Nothing takes no time, so a base of 0 is below the clock's step.
fn ratio(new: u64, base: u64) -> f64 {
    new as f64 / base.max(1) as f64
}

/// The smallest number of values on each side that has bounds at all.
pub fn fewest() -> u64 {
    (1..).find(|n| exactly_outside(*n, *n).is_some()).expect("the chance of the outermost rank falls with their number")
        as u64
}

/// How many pairs lie outside each bound: the most for which the chance of a bound that does not hold is small enough.
fn exactly_outside(n: usize, m: usize) -> Option<u64> {
    let ways = ways(n, m);
    let all: f64 = ways.iter().sum();
    let mut below = 0.0;
    let outside = ways.iter().take_while(|ways| {
        below += **ways;
        below <= WRONG * all
    });
    (outside.count() as u64).checked_sub(1)
}

/// As [`exactly_outside`], by the normal distribution, for many.
fn roughly_outside(n: f64, m: f64) -> Option<u64> {
    let rank = n * m / 2.0 - NORMAL * (n * m * (n + m + 1.0) / 12.0).sqrt();
    (rank >= 1.0).then_some(rank as u64 - 1)
}

/// In how many orders of `n` and `m` values just 0, 1, 2, … pairs are the other way round: the coefficients of Gauss's
/// binomial. Those up to the middle are had, by which the others are.
fn ways(n: usize, m: usize) -> Vec<f64> {
    let mut ways = vec![0.0; n * m + 1];
    ways[0] = 1.0;
    for i in 1..=n {
        for u in (m + i..ways.len()).rev() {
            ways[u] -= ways[u - m - i];
        }
        for u in i..ways.len() {
            ways[u] += ways[u - i];
        }
    }
    ways
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_counted_as_tables_of_the_test_have_them() {
        assert_eq!(ways(2, 2), [1.0, 1.0, 2.0, 1.0, 1.0]);
        assert_eq!(ways(3, 4).iter().sum::<f64>(), 35.0);
        // Critical values of U, one-sided 5 %: none for 2 and 4; 0 for 3 and 3; 1 for 4 and 4; 27 for 10 and 10.
        assert_eq!(exactly_outside(2, 4), None);
        assert_eq!(exactly_outside(3, 3), Some(0));
        assert_eq!(exactly_outside(4, 4), Some(1));
        assert_eq!(exactly_outside(10, 10), Some(27));
        assert_eq!(fewest(), 3);
    }

    #[test]
    fn for_many_the_normal_distribution_is_near() {
        let (exact, rough) = (exactly_outside(30, 20).unwrap(), roughly_outside(30.0, 20.0).unwrap());
        assert!(exact.abs_diff(rough) <= 2, "{exact} {rough}");
    }

    #[test]
    fn bounds_are_ratios_of_pairs() {
        let (before, after) = ([100, 110, 120], [200, 220, 240]);
        assert_eq!(ratio_bounds(&before, &after, 1), Some((200.0 / 120.0, 2.4)));
        let (low, high) = ratio_bounds(&before, &after, 100).unwrap();
        assert!((1.9..=2.0).contains(&low) && (2.0..2.1).contains(&high), "{low} {high}");
        assert_eq!(ratio_bounds(&before, &after[..2], 1), None);
    }
}
