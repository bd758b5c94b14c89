//! Durations in buckets about 3 % wide, of which any number fits.

use std::collections::BTreeMap;

use ontick_record::inspection::Cost;

/// Parts of each power of two.
const PARTS: u64 = 32;

/// How often something took how long.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Durations {
    buckets: BTreeMap<u64, u64>,
    count: u64,
    worst_ns: u64,
}

/// The upper end of the bucket of a duration, never below it.
fn upper(ns: u64) -> u64 {
    let width = (ns.max(1).ilog2().saturating_sub(PARTS.ilog2())).min(58);
    ((ns >> width) + 1).saturating_mul(1 << width).saturating_sub(1)
}

impl Durations {
    /// Counts one.
    pub fn add(&mut self, ns: u64) {
        *self.buckets.entry(upper(ns)).or_default() += 1;
        self.count += 1;
        self.worst_ns = self.worst_ns.max(ns);
    }

    /// Counts another's too.
    pub fn merge(&mut self, other: &Self) {
        for (upper, count) in &other.buckets {
            *self.buckets.entry(*upper).or_default() += count;
        }
        self.count += other.count;
        self.worst_ns = self.worst_ns.max(other.worst_ns);
    }

    /// `None` if there were none.
    pub fn cost(&self) -> Option<Cost> {
        (self.count > 0).then(|| Cost {
            p50_ns: self.quantile(50),
            p99_ns: self.quantile(99),
            worst_ns: self.worst_ns,
            estimated: false,
        })
    }

    /// The smallest upper end that so many of a hundred are not above.
    fn quantile(&self, percent: u64) -> u64 {
        let wanted = (self.count * percent).div_ceil(100);
        let mut passed = 0;
        for (upper, count) in &self.buckets {
            passed += count;
            if passed >= wanted {
                return (*upper).min(self.worst_ns);
            }
        }
        self.worst_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quantiles_are_those_of_the_sorted_list() {
        let mut durations = Durations::default();
        assert_eq!(durations.cost(), None);
        (1..=100).for_each(|n| durations.add(n * 1_000));
        let cost = durations.cost().unwrap();
        assert!((50_000..52_000).contains(&cost.p50_ns) && (99_000..=100_000).contains(&cost.p99_ns), "{cost:?}");
        assert_eq!(cost.worst_ns, 100_000);
        let mut twice = durations.clone();
        twice.merge(&durations);
        assert_eq!(twice.cost(), durations.cost());
    }

    proptest! {
        #[test]
        fn a_bucket_is_never_below_and_at_most_a_part_above(ns: u64) {
            let upper = upper(ns);
            prop_assert!(upper >= ns && upper - ns <= ns / PARTS);
        }
    }
}
