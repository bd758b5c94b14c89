//! The histogram's bucket layout: exact up to 255 ns, then 128 buckets per octave (width at most
//! 1/128 = 0.8 % of the value) up to 100 s. It is the layout of an HdrHistogram with two digits.

const SUB_BITS: u32 = 7;
const SUB: u64 = 1 << SUB_BITS;
/// Longest latency that has a bucket of its own; longer ones share the last bucket.
pub const LIMIT_NS: u64 = 100_000_000_000;
/// Number of buckets.
pub const COUNT: usize = index(LIMIT_NS) + 1;

/// The bucket that holds `ns`.
pub const fn index(ns: u64) -> usize {
    let ns = if ns > LIMIT_NS { LIMIT_NS } else { ns };
    if ns < SUB {
        return ns as usize;
    }
    let shift = 63 - ns.leading_zeros() - SUB_BITS;
    ((shift as u64 + 1) * SUB + ((ns >> shift) - SUB)) as usize
}

/// Smallest value of a bucket and how many nanoseconds it covers.
pub const fn range(index: usize) -> (u64, u64) {
    let (octave, sub) = (index as u64 / SUB, index as u64 % SUB);
    if octave == 0 { (sub, 1) } else { ((SUB + sub) << (octave - 1), 1 << (octave - 1)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_value_lies_in_its_bucket(ns in 0u64..=LIMIT_NS) {
            let (low, width) = range(index(ns));
            prop_assert!(low <= ns && ns < low + width);
            prop_assert!(width == 1 || (width as f64) <= 0.01 * low as f64);
        }
    }

    #[test]
    fn buckets_follow_each_other_without_gap() {
        for i in 1..COUNT {
            let (low, width) = range(i - 1);
            assert_eq!(low + width, range(i).0);
            assert_eq!(index(range(i).0), i);
        }
        assert_eq!(index(u64::MAX), COUNT - 1);
    }
}
