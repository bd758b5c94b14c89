//! How sure a count makes us: exact one-sided upper bounds on a probability.

use statrs::function::beta::beta_reg;

/// The 95 % upper bound on the probability of an event that was seen `exceeded` times in `samples`.
///
/// Clopper and Pearson (1934): the p for which seeing `exceeded` or fewer has probability 5 %. Without
/// any event this is `1 - 0.05^(1/n)`, of which `3/n` (the rule of three) is the familiar
/// approximation. It takes the samples as independent; outliers that come in bursts make the truth
/// less certain than the bound says.
///
/// ```
/// use ontick_record::confidence::upper_95;
/// assert!((upper_95(0, 100_000) - 3e-5).abs() < 1e-7);
/// assert!((upper_95(1, 100) - 0.04656).abs() < 1e-5);
/// ```
pub fn upper_95(exceeded: u64, samples: u64) -> f64 {
    if exceeded >= samples {
        return 1.0;
    }
    if exceeded == 0 {
        return -(0.05f64.ln() / samples as f64).exp_m1();
    }
    // P(X <= k) = 1 - I_p(k + 1, n - k) falls from 1 to 0 as p rises: halve the interval.
    let (a, b) = (exceeded as f64 + 1.0, (samples - exceeded) as f64);
    let (mut low, mut high) = (exceeded as f64 / samples as f64, 1.0);
    for _ in 0..200 {
        let p = 0.5 * (low + high);
        if 1.0 - beta_reg(a, b, p) > 0.05 {
            low = p
        } else {
            high = p
        }
        if high - low <= high * 1e-12 {
            break;
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn agrees_with_the_binomial_sum() {
        // By halving on the binomial sum itself, term by term.
        for (k, n, bound) in [(0, 10, 0.2588656), (1, 10, 0.3941633), (5, 50, 0.1988330), (10, 1000, 0.01690318)] {
            assert!((upper_95(k, n) - bound).abs() < 1e-6, "{k} of {n}: {}", upper_95(k, n));
        }
    }

    #[test]
    fn nothing_known_is_one() {
        assert_eq!(upper_95(0, 0), 1.0);
        assert_eq!(upper_95(7, 7), 1.0);
    }

    /// Where the bound is so near 0 or 1 that halving needs many steps.
    #[test]
    fn rare_and_frequent_events_have_their_bound() {
        // By the chi-square quantile that the bound tends to for rare events, 4.7439 for one and 6.2958 for two.
        for (k, n, bound) in [(1, 1_000_000_000, 4.743865e-9), (2, 1_000_000_000, 6.295794e-9)] {
            assert!((upper_95(k, n) / bound - 1.0).abs() < 1e-6, "{k} of {n}: {}", upper_95(k, n));
        }
        // All but one: 1 - p^n = 0.05 turned round.
        assert!((upper_95(9, 10) - 0.95f64.powf(0.1)).abs() < 1e-9, "{}", upper_95(9, 10));
    }

    proptest! {
        #[test]
        fn lies_above_the_share_and_falls_with_more_samples(k in 0u64..500, n in 1_000u64..1_000_000_000) {
            let bound = upper_95(k, n);
            prop_assert!(bound > k as f64 / n as f64 && bound <= 1.0);
            prop_assert!(upper_95(k, n * 2) < bound);
            prop_assert!(upper_95(k + 1, n) > bound);
        }
    }
}
