//! Buckets of a native histogram: each is a fixed factor wider than the one before it
//! (<https://prometheus.io/docs/specs/native_histograms/>).

use std::sync::LazyLock;

/// 2^5 buckets for each doubling: an edge is 2.2 % above the one below it.
pub const SCHEMA: i32 = 5;
const PER_DOUBLING: f64 = 32.0;

/// Samples by the number of their bucket; those of 0 have one of their own.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Exponential {
    /// Samples of exactly 0.
    pub zero: u64,
    /// Number of the bucket, how many samples; in ascending order, none is empty.
    pub buckets: Vec<(i32, u64)>,
}

impl Exponential {
    /// Of values in ns, which ascend, with how often they came: each goes where the largest value of its bucket belongs,
    /// so that no percentile is better than it was.
    pub fn of(values: &[(u64, u64)]) -> Self {
        let mut all = Self::default();
        // The next value is most often in this bucket or a few further on: to walk there is faster than to search.
        let mut index = None;
        for (ns, count) in values.iter().filter(|(_, count)| *count > 0) {
            if *ns == 0 {
                all.zero += count;
                continue;
            }
            let value = *ns as f64 / 1e9;
            let at = index.map_or_else(|| first_not_below(value), |near| walk(near, value));
            index = Some(at);
            let number = FIRST + at as i32;
            match all.buckets.last_mut() {
                Some((last, there)) if *last == number => *there += count,
                _ => all.buckets.push((number, *count)),
            }
        }
        all
    }

    /// Runs of buckets: how many numbers are left out before each, and the counts in it.
    pub fn spans(&self) -> Vec<(i32, Vec<u64>)> {
        let mut spans: Vec<(i32, Vec<u64>)> = Vec::new();
        let mut next = 0;
        for (number, count) in &self.buckets {
            match spans.last_mut() {
                Some((_, counts)) if *number == next => counts.push(*count),
                _ => spans.push((number - next, vec![*count])),
            }
            next = number + 1;
        }
        spans
    }
}

/// The smallest number whose edge is not below a nanosecond, in seconds, and how many there are up to 2^64 of them.
const FIRST: i32 = -956;
const NUMBERS: i32 = 2_049;
/// Their edges: a power of 2 takes longer than to search for it.
static EDGES: LazyLock<Vec<f64>> = LazyLock::new(|| (FIRST..FIRST + NUMBERS).map(edge).collect());

/// The index of the smallest edge that is not below the value, which is a nanosecond at least.
fn first_not_below(value: f64) -> usize {
    EDGES.partition_point(|edge| *edge < value)
}

/// The same, from one of a smaller value.
fn walk(from: usize, value: f64) -> usize {
    let further = EDGES[from..].iter().take_while(|edge| **edge < value).count();
    from + further
}

fn edge(number: i32) -> f64 {
    (f64::from(number) / PER_DOUBLING).exp2()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn runs_are_cut_where_a_bucket_is_empty() {
        let all = Exponential { zero: 0, buckets: vec![(-3, 1), (-2, 5), (4, 2)] };
        assert_eq!(all.spans(), [(-3, vec![1, 5]), (5, vec![2])]);
        let all = Exponential::of(&[(0, 3), (1_000_000_000, 2), (2_000_000_000, 1), (7, 0)]);
        assert_eq!((all.zero, all.spans()), (3, vec![(0, vec![2]), (31, vec![1])]));
    }

    proptest! {
        #[test]
        fn the_edge_is_never_below_the_value_and_less_than_a_bucket_above(
            ns in prop_oneof![1u64..100, 1u64..1 << 45, Just(u64::MAX), any::<u64>().prop_map(|ns| ns.max(1))],
        ) {
            let value = ns as f64 / 1e9;
            let number = Exponential::of(&[(ns, 1)]).buckets[0].0;
            prop_assert!(edge(number) >= value && edge(number - 1) < value);
            let behind = Exponential::of(&[(1, 1), (ns, 1)]).buckets;
            prop_assert_eq!(behind.last().unwrap().0, number);
        }

        #[test]
        fn no_sample_is_lost(mut values in prop::collection::vec((0u64..1 << 40, 0u64..100), 0..50)) {
            values.sort_unstable();
            let all = Exponential::of(&values);
            let there: u64 = all.spans().iter().flat_map(|(_, counts)| counts).sum();
            prop_assert_eq!(there + all.zero, values.iter().map(|(_, count)| count).sum::<u64>());
        }
    }
}
