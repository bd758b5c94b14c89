//! Times that become a series: their histogram, the largest with their moments, and the largest over time.

use super::counts::Counts;
use crate::Series;
use crate::run::{Maxima, Peak, Peaks};

/// The shortest stretch of which the largest is kept.
const SHORTEST_NS: u64 = 1_000_000;
/// Stretches that are kept; when there are more, each becomes twice as long.
const STRETCHES: usize = 1024;

#[derive(Debug)]
pub(super) struct Tally {
    counts: Counts,
    peaks: Peaks,
    step_ns: u64,
    max_ns: Vec<u64>,
}

impl Default for Tally {
    fn default() -> Self {
        Self { counts: Counts::default(), peaks: Peaks::default(), step_ns: SHORTEST_NS, max_ns: Vec::new() }
    }
}

impl Tally {
    /// Takes in a time that began so long after the capture did.
    #[inline]
    pub fn add(&mut self, at_ns: u64, ns: u64) {
        self.counts.add(ns);
        self.peaks.add(Peak { at_ns, latency_ns: ns });
        let mut place = at_ns / self.step_ns;
        while place >= STRETCHES as u64 {
            self.max_ns = self.max_ns.chunks(2).map(|pair| pair.iter().copied().max().unwrap_or(0)).collect();
            self.step_ns = self.step_ns.saturating_mul(2);
            place = at_ns / self.step_ns;
        }
        if self.max_ns.len() <= place as usize {
            self.max_ns.resize(place as usize + 1, 0);
        }
        let max_ns = &mut self.max_ns[place as usize];
        *max_ns = ns.max(*max_ns);
    }

    /// Times are told apart in steps of so many nanoseconds.
    pub fn grain_ns(&self) -> u64 {
        self.counts.grain_ns()
    }

    /// The series of this name.
    pub fn into_series(mut self, name: String) -> Series {
        let latency = self.counts.histogram();
        let maxima = Maxima { step_ns: self.step_ns, max_ns: self.max_ns, ..Maxima::default() };
        Series { latency, maxima, peaks: self.peaks.into_sorted(), ..Series::from(name) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_of_each_stretch_is_kept_however_long_the_capture_is() {
        let mut tally = Tally::default();
        for i in 0..5_000u64 {
            tally.add(i * 1_000_000, 100 + i % 7);
        }
        tally.add(5_000_000_000_000, 900);
        let series = tally.into_series("D0".into());
        assert_eq!((series.latency.count(), series.latency.max_ns), (5_001, Some(900)));
        assert!(series.maxima.max_ns.len() <= STRETCHES);
        let stretches: Vec<_> = series.maxima.stretches().filter(|s| s.max_ns > 0).collect();
        assert_eq!((stretches[0].max_ns, stretches.last().unwrap().max_ns), (106, 900));
        assert!(stretches.last().unwrap().from_ns <= 5_000_000_000_000);
        assert_eq!(series.peaks.last().map(|peak| peak.latency_ns), Some(900));
    }
}
