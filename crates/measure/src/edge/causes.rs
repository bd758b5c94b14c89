//! Edges as whoever makes them tells of them.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Edges whose time is remembered: a power of two.
const REMEMBERED: usize = 4096;

/// When each edge was made. Edges are numbered from 1; odd ones rise.
pub struct Causes {
    newest: AtomicU64,
    /// Time of an edge in ns, by its number.
    at_ns: Box<[AtomicU64]>,
    /// The edges may begin.
    pub go: AtomicBool,
    /// There are to be no more.
    pub stop: AtomicBool,
    /// The driven line stopped answering.
    pub gone: AtomicBool,
}

/// An edge that was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cause {
    pub number: u64,
    pub at_ns: u64,
}

impl Causes {
    pub fn new() -> Self {
        Self::remembering(REMEMBERED)
    }

    /// The times of so many edges, a power of two.
    pub fn remembering(edges: usize) -> Self {
        Self {
            newest: AtomicU64::new(0),
            at_ns: (0..edges).map(|_| AtomicU64::new(0)).collect(),
            go: AtomicBool::new(false),
            stop: AtomicBool::new(false),
            gone: AtomicBool::new(false),
        }
    }

    /// Announced just before the line is driven, so that whoever sees the edge finds its cause.
    pub fn publish(&self, number: u64, at_ns: u64) {
        self.slot(number).store(at_ns, Ordering::Relaxed);
        self.newest.store(number, Ordering::Release);
    }

    /// Brings what the next edge is announced by to the CPU that makes it, and changes nothing.
    pub fn touch(&self, next: u64) {
        // Beyond the newest nobody reads.
        self.slot(next).store(0, Ordering::Relaxed);
        self.newest.store(next - 1, Ordering::Release);
    }

    /// The newest edge to this level that was made by `until_ns` and after number `after`.
    pub fn of(&self, level: bool, until_ns: u64, after: u64) -> Option<Cause> {
        let newest = self.newest.load(Ordering::Acquire);
        let oldest = newest.saturating_sub(self.at_ns.len() as u64 / 2).max(after);
        (oldest + 1..=newest)
            .rev()
            .filter(|number| (number % 2 == 1) == level)
            .map(|number| Cause { number, at_ns: self.slot(number).load(Ordering::Relaxed) })
            .find(|cause| cause.at_ns <= until_ns)
    }

    fn slot(&self, number: u64) -> &AtomicU64 {
        &self.at_ns[number as usize % self.at_ns.len()]
    }

    /// Whether the driven line stopped answering.
    pub fn gone(&self) -> bool {
        self.gone.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edge_is_that_of_its_level_made_before_it_was_seen() {
        let causes = Causes::new();
        for number in 1..=4 {
            causes.publish(number, number * 1000);
        }
        let of = |level, until_ns, after| causes.of(level, until_ns, after).map(|cause| cause.number);
        assert_eq!(of(false, 9_999, 0), Some(4));
        assert_eq!(of(true, 9_999, 0), Some(3));
        assert_eq!(of(true, 2_500, 0), Some(1), "the third was not made yet");
        assert_eq!(of(true, 9_999, 3), None, "seen before");
        assert_eq!(Causes::new().of(true, 9_999, 0), None);
    }

    #[test]
    fn an_edge_that_is_prepared_is_none_yet() {
        let causes = Causes::new();
        causes.touch(1);
        assert_eq!(causes.of(true, u64::MAX, 0), None);
        causes.publish(1, 1_000);
        causes.touch(2);
        assert_eq!(causes.of(true, u64::MAX, 0), Some(Cause { number: 1, at_ns: 1_000 }));
        assert_eq!(causes.of(false, u64::MAX, 0), None);
    }

    #[test]
    fn one_far_behind_finds_a_recent_edge() {
        let causes = Causes::new();
        for number in 1..=3 * REMEMBERED as u64 {
            causes.publish(number, number * 1000);
        }
        let newest = 3 * REMEMBERED as u64;
        assert_eq!(causes.of(false, u64::MAX, 5), Some(Cause { number: newest, at_ns: newest * 1000 }));
        assert_eq!(causes.of(false, 1_000, 0), None, "forgotten");
    }
}
