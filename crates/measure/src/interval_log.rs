//! Times that a timed thread keeps one by one, for an instrument to be held against.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU64, AtomicUsize};

use ontick_record::instrument_check::Interval;

/// The most that are kept: those of some minutes.
const MOST: usize = 1 << 18;

/// Intervals in the order in which they were added, by one thread; those after the most are only counted.
pub struct IntervalLog {
    /// When each began, twice, plus one where a rising edge began it; and how long it was.
    kept: Box<[(AtomicU64, AtomicU64)]>,
    added: AtomicUsize,
}

impl Default for IntervalLog {
    fn default() -> Self {
        Self::with_room(MOST)
    }
}

impl IntervalLog {
    /// For so many. The memory is written to here, so that the timed thread finds it there.
    pub fn with_room(most: usize) -> Self {
        Self { kept: (0..most).map(|_| Default::default()).collect(), added: AtomicUsize::new(0) }
    }

    /// Keeps another one.
    #[inline]
    pub fn add(&self, interval: Interval) {
        let added = self.added.load(Relaxed);
        if let Some((from, ns)) = self.kept.get(added) {
            from.store(interval.from_ns << 1 | u64::from(interval.rising), Relaxed);
            ns.store(interval.ns, Relaxed);
        }
        self.added.store(added + 1, Release);
    }

    /// Those that were kept.
    pub fn intervals(&self) -> Vec<Interval> {
        let kept = self.added.load(Acquire).min(self.kept.len());
        let interval = |(from, ns): &(AtomicU64, AtomicU64)| {
            let from = from.load(Relaxed);
            Interval { from_ns: from >> 1, ns: ns.load(Relaxed), rising: from & 1 == 1 }
        };
        self.kept[..kept].iter().map(interval).collect()
    }

    /// How many came when no more could be kept.
    pub fn left_out(&self) -> usize {
        self.added.load(Acquire).saturating_sub(self.kept.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_are_kept_and_the_others_counted() {
        let log = IntervalLog::default();
        let interval = |n: u64| Interval { from_ns: 1_000 + n, ns: n, rising: n % 3 == 0 };
        (0..MOST as u64 + 2).for_each(|n| log.add(interval(n)));
        let kept = log.intervals();
        assert_eq!((kept.len(), log.left_out()), (MOST, 2));
        assert!((0..MOST).all(|n| kept[n] == interval(n as u64)));
    }
}
