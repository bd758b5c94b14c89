//! What debounces a simulated line, as the kernel does for chips that cannot (`debounce_work_func` in
//! drivers/gpio/gpiolib-cdev.c): every edge sets a timer anew, and the level that the line has when it runs out counts.

use std::collections::VecDeque;

use crate::{Debounce, Edge, Edges};

/// Edges that are kept for who takes them late, as many as the kernel keeps.
const KEPT: usize = 1024;

/// One change of the line's own level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    pub rising: bool,
    pub time_ns: u64,
    /// Whether an interrupt would tell of it: a wire's dead time hides one that follows another closely.
    pub notified: bool,
    /// Whether there were others just before it of which nothing is known any more.
    pub after_gap: bool,
}

/// The level that counts, and the edges of that.
#[derive(Debug)]
pub struct Filter {
    period_ns: u64,
    wanted: Edges,
    level: bool,
    /// The line's own level after the last change.
    raw: bool,
    /// When the timer runs out.
    due_ns: Option<u64>,
    kept: VecDeque<Edge>,
    /// Edges that were lost since the last that was kept.
    lost: u32,
}

impl Filter {
    /// What the line shows now counts.
    pub fn new(debounce: Debounce, wanted: Edges, level: bool) -> Self {
        let kept = VecDeque::with_capacity(if wanted == Edges::None { 0 } else { KEPT });
        Self { period_ns: debounce.ns(), wanted, level, raw: level, due_ns: None, kept, lost: 0 }
    }

    /// The level that counts.
    pub fn level(&self) -> bool {
        self.level
    }

    /// The line's own.
    pub fn raw(&self) -> bool {
        self.raw
    }

    /// When the level may count, if nothing changes until then, in ns.
    pub fn due_ns(&self) -> Option<u64> {
        self.due_ns
    }

    /// The oldest edge that nobody took yet.
    pub fn take(&mut self) -> Option<Edge> {
        self.kept.pop_front()
    }

    /// The next change of the line.
    pub fn change(&mut self, change: Change) {
        if change.after_gap {
            self.due_ns = None;
        }
        self.passed(change.time_ns);
        self.raw = change.rising;
        if change.notified {
            self.due_ns = Some(change.time_ns.saturating_add(self.period_ns));
        }
    }

    /// Nothing more has changed until `now_ns`.
    pub fn passed(&mut self, now_ns: u64) {
        let Some(due_ns) = self.due_ns.filter(|due_ns| *due_ns <= now_ns) else { return };
        self.due_ns = None;
        if self.raw == self.level {
            return;
        }
        self.level = self.raw;
        if self.wanted.wants(self.level) {
            self.keep(due_ns);
        }
    }

    /// So many of the line's own edges were forgotten before they were looked at: all of them might have counted.
    pub fn lost(&mut self, edges: u32) {
        self.lost = self.lost.saturating_add(edges);
    }

    /// Of too many the newest are kept.
    fn keep(&mut self, time_ns: u64) {
        let dropped = if self.kept.len() >= KEPT { self.kept.pop_front() } else { None };
        if let (Some(dropped), Some(oldest)) = (dropped, self.kept.front_mut()) {
            oldest.lost = oldest.lost.saturating_add(dropped.lost).saturating_add(1);
        }
        let lost = std::mem::take(&mut self.lost);
        self.kept.push_back(Edge { rising: self.level, time_ns, lost });
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PERIOD_NS: u64 = 10_000;

    fn filter(wanted: Edges) -> Filter {
        Filter::new(Debounce::from_ns(PERIOD_NS).unwrap(), wanted, false)
    }

    fn change(rising: bool, time_ns: u64) -> Change {
        Change { rising, time_ns, notified: true, after_gap: false }
    }

    fn all(mut filter: Filter) -> Vec<(bool, u64, u32)> {
        std::iter::from_fn(|| filter.take()).map(|edge| (edge.rising, edge.time_ns, edge.lost)).collect()
    }

    #[test]
    fn a_level_counts_once_it_has_lasted() {
        let mut bouncing = filter(Edges::Both);
        for (n, time_ns) in [1_000, 3_000, 4_000, 9_000, 12_000].into_iter().enumerate() {
            bouncing.change(change(n % 2 == 0, time_ns));
        }
        bouncing.passed(21_999);
        assert!(!bouncing.level() && bouncing.raw() && bouncing.due_ns() == Some(22_000));
        bouncing.passed(50_000);
        assert!(bouncing.level() && bouncing.due_ns().is_none());
        // A pulse down that is too short, and one that is not.
        for (rising, time_ns) in [(false, 60_000), (true, 69_999), (false, 80_000), (true, 90_000)] {
            bouncing.change(change(rising, time_ns));
        }
        bouncing.passed(u64::MAX);
        assert_eq!(all(bouncing), [(true, 22_000, 0), (false, 90_000, 0), (true, 100_000, 0)]);
    }

    #[test]
    fn only_wanted_edges_are_notified_and_every_level_counts() {
        let mut rising = filter(Edges::Rising);
        for n in 0..4u64 {
            rising.change(change(n % 2 == 0, 100_000 * (n + 1)));
        }
        rising.passed(350_000);
        assert!(rising.level());
        rising.passed(450_000);
        assert!(!rising.level());
        assert_eq!(all(rising), [(true, 110_000, 0), (true, 310_000, 0)]);
    }

    #[test]
    fn what_no_interrupt_tells_of_sets_no_timer_but_is_read_when_one_runs_out() {
        let hidden = |rising, time_ns| Change { notified: false, ..change(rising, time_ns) };
        let mut blind = filter(Edges::Both);
        blind.change(change(true, 1_000));
        blind.change(hidden(false, 1_500));
        blind.passed(50_000);
        assert!(!blind.level() && blind.due_ns().is_none());
        blind.change(hidden(true, 60_000));
        blind.passed(100_000);
        assert!(!blind.level(), "nothing looked");
    }

    #[test]
    fn edges_before_a_gap_count_for_nothing() {
        let mut gap = filter(Edges::Both);
        gap.change(change(true, 1_000));
        gap.lost(3);
        gap.change(Change { after_gap: true, ..change(true, 30_000) });
        gap.passed(50_000);
        assert_eq!(all(gap), [(true, 40_000, 3)]);
    }

    #[test]
    fn of_too_many_edges_the_newest_are_kept_and_the_others_counted() {
        let mut full = filter(Edges::Both);
        let edges = KEPT as u64 + 100;
        for n in 0..edges {
            full.change(change(n % 2 == 0, 100_000 * (n + 1)));
        }
        full.passed(u64::MAX);
        let kept = all(full);
        assert_eq!((kept.len(), kept[0].2), (KEPT, 100));
        assert_eq!(kept[KEPT - 1].1, 100_000 * edges + PERIOD_NS);
        assert_eq!(kept.iter().map(|(.., lost)| u64::from(*lost) + 1).sum::<u64>(), edges);
    }

    proptest! {
        /// Against the rule itself: a stretch of one level counts if it lasts, and if it is another level than counted last.
        #[test]
        fn stretches_that_last_count_and_no_others(lengths in prop::collection::vec(1u64..25_000, 1..60)) {
            let mut tried = filter(Edges::Both);
            let (mut now_ns, mut level, mut expected) = (1_000, false, Vec::new());
            for (n, length_ns) in lengths.iter().enumerate() {
                let rising = n % 2 == 0;
                tried.change(change(rising, now_ns));
                if *length_ns >= PERIOD_NS && rising != level {
                    level = rising;
                    expected.push((level, now_ns + PERIOD_NS, 0));
                }
                now_ns += length_ns;
            }
            tried.passed(now_ns);
            prop_assert_eq!(tried.level(), level);
            prop_assert_eq!(all(tried), expected);
        }
    }
}
