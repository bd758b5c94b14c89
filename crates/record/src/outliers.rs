//! Outliers of a run of any length in bounded memory: the worst, and a fair sample of all.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use serde::{Deserialize, Serialize};

use crate::run::Outlier;

/// How many of each are kept.
const MOST: usize = 1000;

/// Latency, moment and cause of an outlier, in the order in which the worst is the largest.
type Ordered = (u64, u64, Option<u32>);

/// The worst outliers, and a sample in which each that ever came has the same chance to be.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(from = "Stored", into = "Stored")]
pub(crate) struct Outliers {
    worst: BinaryHeap<Reverse<Ordered>>,
    sample: Vec<Outlier>,
    seen: u64,
}

/// As a file has them.
#[derive(Serialize, Deserialize)]
struct Stored {
    worst: Vec<Outlier>,
    sample: Vec<Outlier>,
    seen: u64,
}

/// What became of an outlier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Admission {
    /// It is one of the worst.
    pub worst: bool,
    /// Its place in the sample.
    pub place: Option<u32>,
}

impl Outliers {
    /// Takes the next outlier in, where it is one to keep.
    pub fn admit(&mut self, outlier: Outlier) -> Admission {
        let place = self.draw();
        if let Some(place) = place {
            self.put(place, outlier);
        }
        Admission { worst: self.admit_to_worst(outlier), place }
    }

    /// Keeps it if it is one of the worst.
    pub fn admit_to_worst(&mut self, outlier: Outlier) -> bool {
        let ordered = Reverse((outlier.latency_ns, outlier.at_ns, outlier.cause));
        // The heap's largest is the least of the worst.
        if self.worst.len() >= MOST && self.worst.peek().is_some_and(|least| ordered >= *least) {
            return false;
        }
        self.worst.push(ordered);
        if self.worst.len() > MOST {
            self.worst.pop();
        }
        true
    }

    /// Puts an outlier in its place in the sample; places begin to be used in their order.
    pub fn put(&mut self, place: u32, outlier: Outlier) {
        if let Some(old) = self.sample.get_mut(place as usize) {
            *old = outlier;
        } else if self.sample.len() < MOST {
            self.sample.push(outlier);
        }
    }

    /// The place of the next outlier, if it gets one (Vitter's algorithm R).
    fn draw(&mut self) -> Option<u32> {
        self.seen += 1;
        match self.seen <= MOST as u64 {
            true => Some((self.seen - 1) as u32),
            false => Some(mixed(self.seen) % self.seen).filter(|place| *place < MOST as u64).map(|place| place as u32),
        }
    }

    /// The sample: all of them, where there were no more than it holds.
    pub fn sample(&self) -> &[Outlier] {
        &self.sample
    }

    /// All that are kept, each once, in the order of time.
    pub fn all(&self) -> Vec<Outlier> {
        let worst = self.worst.iter().map(|Reverse((latency_ns, at_ns, cause))| (*at_ns, *latency_ns, *cause));
        let all: BTreeSet<_> = worst.chain(self.sample.iter().map(|o| (o.at_ns, o.latency_ns, o.cause))).collect();
        all.into_iter().map(|(at_ns, latency_ns, cause)| Outlier { at_ns, latency_ns, cause }).collect()
    }
}

/// A number without a pattern from one with (splitmix64): the same run always keeps the same.
fn mixed(n: u64) -> u64 {
    let n = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ (n >> 31)
}

impl From<Stored> for Outliers {
    fn from(stored: Stored) -> Self {
        let mut outliers = Self { sample: stored.sample, seen: stored.seen, ..Self::default() };
        outliers.sample.truncate(MOST);
        for outlier in stored.worst {
            outliers.admit_to_worst(outlier);
        }
        outliers
    }
}

impl From<Outliers> for Stored {
    fn from(outliers: Outliers) -> Self {
        let worst = outliers.worst.into_iter();
        let worst = worst.map(|Reverse((latency_ns, at_ns, cause))| Outlier { at_ns, latency_ns, cause }).collect();
        Self { worst, sample: outliers.sample, seen: outliers.seen }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outlier(at_ns: u64, latency_ns: u64) -> Outlier {
        Outlier { at_ns, latency_ns, cause: None }
    }

    #[test]
    fn few_are_all_kept() {
        let mut outliers = Outliers::default();
        for n in 0..MOST as u64 {
            outliers.admit(outlier(n, 7));
        }
        assert_eq!(outliers.all().len(), MOST);
        assert_eq!(outliers.sample().len(), MOST);
    }

    #[test]
    fn places_of_the_sample_are_used_in_their_order() {
        let mut outliers = Outliers::default();
        let places: Vec<_> = (0..MOST as u64).map(|n| outliers.admit(outlier(n, n)).place).collect();
        assert!(places.iter().copied().eq((0..MOST as u32).map(Some)));
        // From here on one replaces another, or has no place.
        assert!((0..MOST as u64).all(|n| outliers.admit(outlier(n, n)).place.is_none_or(|place| place < MOST as u32)));
        assert_eq!(outliers.sample().len(), MOST);
    }

    #[test]
    fn of_many_the_worst_and_a_fair_sample_are_kept() {
        const ALL: u64 = 200_000;
        let mut outliers = Outliers::default();
        // The worst come in the middle.
        for n in 0..ALL {
            outliers.admit(outlier(n, ALL - n.abs_diff(ALL / 2)));
        }
        assert_eq!(outliers.worst.len(), MOST);
        assert!(outliers.all().len() <= 2 * MOST);
        let least = outliers.worst.iter().map(|Reverse((latency, ..))| *latency).min();
        assert_eq!(least, Some(ALL - MOST as u64 / 2), "the worst thousand are there");
        // Each tenth of the run has its tenth of the sample: five standard deviations of a binomial are 48.
        for tenth in 0..10 {
            let share = outliers.sample().iter().filter(|o| o.at_ns * 10 / ALL == tenth).count();
            assert!(share.abs_diff(MOST / 10) < 48, "{share} of tenth {tenth}");
        }
    }

    #[test]
    fn what_is_stored_goes_on_as_if_it_had_not_been() {
        let mut whole = Outliers::default();
        for n in 0..5_000 {
            whole.admit(outlier(n, mixed(n) % 1_000_000));
        }
        let mut stored: Outliers = serde_json::from_str(&serde_json::to_string(&whole).unwrap()).unwrap();
        (5_000..9_000).for_each(|n| {
            let next = outlier(n, mixed(n) % 1_000_000);
            assert_eq!(whole.admit(next), stored.admit(next));
        });
        assert_eq!(whole.all(), stored.all());
    }
}
