//! The largest samples of a series, one by one and with their times.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How many are kept.
const MOST: usize = 1000;

/// A sample that is one of the largest; in JSON `[at_ns, latency_ns]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "(u64, u64)", into = "(u64, u64)")]
#[schemars(with = "(u64, u64)")]
pub struct Peak {
    /// When, since the series began, in ns; of a series in blocks, only the time within blocks counts.
    pub at_ns: u64,
    /// How late it was, in ns.
    pub latency_ns: u64,
}

impl From<(u64, u64)> for Peak {
    fn from((at_ns, latency_ns): (u64, u64)) -> Self {
        Self { at_ns, latency_ns }
    }
}

impl From<Peak> for (u64, u64) {
    fn from(peak: Peak) -> Self {
        (peak.at_ns, peak.latency_ns)
    }
}

/// Keeps the largest samples of those that come, in constant memory.
#[derive(Debug, Clone, Default)]
pub struct Peaks(BinaryHeap<Reverse<(u64, u64)>>);

impl Peaks {
    /// Takes the next sample in, if it is one of the largest so far.
    pub fn add(&mut self, peak: Peak) {
        if self.0.len() < MOST || peak.latency_ns > self.above_ns() {
            self.0.push(Reverse((peak.latency_ns, peak.at_ns)));
        }
        if self.0.len() > MOST {
            self.0.pop();
        }
    }

    /// A sample that is not above this is none of the largest.
    pub fn above_ns(&self) -> u64 {
        match self.0.peek() {
            Some(Reverse((least_ns, _))) if self.0.len() >= MOST => *least_ns,
            _ => 0,
        }
    }

    /// The largest, in the order of time.
    pub fn into_sorted(self) -> Vec<Peak> {
        let mut all: Vec<Peak> =
            self.0.into_iter().map(|Reverse((latency_ns, at_ns))| Peak { at_ns, latency_ns }).collect();
        all.sort_unstable_by_key(|peak| (peak.at_ns, peak.latency_ns));
        all
    }
}

/// Adds the peaks of a block that began when the series was `length_ns` long.
pub fn append_peaks(peaks: &mut Vec<Peak>, length_ns: u64, block: Vec<Peak>) {
    let mut largest = Peaks::default();
    let later = block.into_iter().map(|peak| Peak { at_ns: peak.at_ns.saturating_add(length_ns), ..peak });
    peaks.drain(..).chain(later).for_each(|peak| largest.add(peak));
    *peaks = largest.into_sorted();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peak(at_ns: u64, latency_ns: u64) -> Peak {
        Peak { at_ns, latency_ns }
    }

    #[test]
    fn the_largest_are_kept_in_time_order() {
        let mut peaks = Peaks::default();
        (0..MOST as u64).for_each(|i| peaks.add(peak(i, 100 + i)));
        assert_eq!(peaks.above_ns(), 100);
        // As large as the least of the largest is not larger.
        peaks.add(peak(5_000, 100));
        peaks.add(peak(6_000, 900_000));
        assert_eq!(peaks.above_ns(), 101);
        let all = peaks.into_sorted();
        assert_eq!((all.len(), all[0], all[MOST - 1]), (MOST, peak(1, 101), peak(6_000, 900_000)));
    }

    #[test]
    fn blocks_follow_each_other() {
        let mut all = vec![peak(3, 50), peak(8, 20)];
        append_peaks(&mut all, 10, vec![peak(0, 70), peak(9, 30)]);
        assert_eq!(all, [peak(3, 50), peak(8, 20), peak(10, 70), peak(19, 30)]);
    }

    #[test]
    fn a_file_has_them_as_pairs() {
        let text = serde_json::to_string(&[peak(3, 50)]).unwrap();
        assert_eq!(text, "[[3,50]]");
        assert_eq!(serde_json::from_str::<Vec<Peak>>(&text).unwrap(), [peak(3, 50)]);
    }
}
