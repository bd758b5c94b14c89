//! Where a moment lies among the windows of a gate.

use ontick_tsn::schedule::Schedule;

/// The windows of one gate, for ever.
#[derive(Debug, Clone)]
pub struct Windows {
    schedule: Schedule,
    /// Beginning and length within the cycle, ascending.
    within: Vec<(u64, u64)>,
}

/// Where a moment lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Position {
    /// The gate has no edges: it is always open, or the schedule is not in force yet.
    Unjudged,
    /// Within a window that opened at this time; earlier than that by no more than the tolerance.
    Inside {
        /// When it opened.
        opened_ns: u64,
        /// When it closes.
        closes_ns: u64,
    },
    /// Not within any.
    Outside {
        /// How far from the nearest edge.
        by_ns: u64,
        /// Whether that is the end of the window before; else the beginning of the next.
        late: bool,
        /// When that edge was.
        edge_ns: u64,
    },
}

impl Windows {
    /// Those of the gate of a queue.
    pub fn new(schedule: &Schedule, queue: usize) -> Self {
        Self { within: schedule.windows(queue), schedule: schedule.clone() }
    }

    /// Beginning and length of each within the cycle, ascending.
    pub fn within(&self) -> &[(u64, u64)] {
        &self.within
    }

    /// Where a moment lies: within a window from its opening (`guard_ns` earlier is early enough) until its closing
    /// (`guard_ns` later is late enough).
    pub fn place(&self, at_ns: u64, guard_ns: u64) -> Position {
        let cycle_ns = self.schedule.cycle_ns();
        if at_ns < self.schedule.base_ns() || self.within.iter().any(|window| window.1 >= cycle_ns) {
            return Position::Unjudged;
        }
        let offset_ns = self.schedule.offset_ns(at_ns);
        let (Some(first), Some(last)) = (self.within.first(), self.within.last()) else {
            // A gate that never opens: the schedule knows no edge that would be near.
            return Position::Outside { by_ns: cycle_ns, late: true, edge_ns: at_ns.saturating_sub(offset_ns) };
        };
        let after = self.within.partition_point(|window| window.0 <= offset_ns);
        let (begin_ns, length_ns) = match after {
            0 => (last.0 as i64 - cycle_ns as i64, last.1),
            n => (self.within[n - 1].0 as i64, self.within[n - 1].1),
        };
        let next_ns = self.within.get(after).map_or(first.0 + cycle_ns, |window| window.0);
        let next_length_ns = self.within.get(after).map_or(first.1, |window| window.1);
        let since_open_ns = (offset_ns as i64 - begin_ns) as u64;
        let early_ns = next_ns - offset_ns;
        let this = || {
            let opened_ns = at_ns.saturating_sub(since_open_ns);
            Position::Inside { opened_ns, closes_ns: (at_ns + length_ns).saturating_sub(since_open_ns) }
        };
        if since_open_ns < length_ns {
            return this();
        }
        let late_ns = since_open_ns - length_ns;
        match (late_ns < guard_ns, early_ns <= guard_ns) {
            (true, early) if !early || late_ns < early_ns => this(),
            (_, true) => {
                let opened_ns = at_ns + early_ns;
                Position::Inside { opened_ns, closes_ns: opened_ns + next_length_ns }
            }
            _ if late_ns <= early_ns => Position::Outside { by_ns: late_ns, late: true, edge_ns: at_ns - late_ns },
            _ => Position::Outside { by_ns: early_ns, late: false, edge_ns: at_ns + early_ns },
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use ontick_tsn::model::Entry;

    fn article() -> Schedule {
        Schedule::new(1_000_000, &[Entry { open: 1, for_ns: 800_000 }, Entry { open: 2, for_ns: 200_000 }])
    }

    #[test]
    fn the_article_s_windows() {
        let (blue, red) = (Windows::new(&article(), 0), Windows::new(&article(), 1));
        assert_eq!(blue.place(999_999, 0), Position::Unjudged);
        assert_eq!(blue.place(3_000_000, 0), Position::Inside { opened_ns: 3_000_000, closes_ns: 3_800_000 });
        assert_eq!(blue.place(3_800_000, 0), Position::Outside { by_ns: 0, late: true, edge_ns: 3_800_000 });
        assert_eq!(blue.place(3_800_999, 1_000), Position::Inside { opened_ns: 3_000_000, closes_ns: 3_800_000 });
        assert_eq!(blue.place(3_801_000, 1_000), Position::Outside { by_ns: 1_000, late: true, edge_ns: 3_800_000 });
        assert_eq!(red.place(3_799_000, 1_000), Position::Inside { opened_ns: 3_800_000, closes_ns: 4_000_000 });
        assert_eq!(red.place(3_798_999, 1_000), Position::Outside { by_ns: 1_001, late: false, edge_ns: 3_800_000 });
        assert_eq!(Windows::new(&article(), 5).place(3_000_500, 9).outside(), Some(1_000_000));
    }

    impl Position {
        fn outside(self) -> Option<u64> {
            match self {
                Position::Outside { by_ns, .. } => Some(by_ns),
                _ => None,
            }
        }
    }

    proptest! {
        #[test]
        fn inside_is_where_the_gate_is_open(
            list in prop::collection::vec((any::<u16>(), 1u64..1_000), 1..8),
            at_ns in 5_000u64..100_000,
            guard_ns in 0u64..40,
        ) {
            let list: Vec<Entry> = list.into_iter().map(|(open, for_ns)| Entry { open, for_ns }).collect();
            let schedule = Schedule::new(5_000, &list);
            for queue in 0..8 {
                let open = |ns: u64| ns >= 5_000 && schedule.at(ns).open & (1 << queue) != 0;
                let place = Windows::new(&schedule, queue).place(at_ns, guard_ns);
                // Before the schedule's beginning there is a window in the cycle's sense, though none in force.
                let near = |within: u64| {
                    (at_ns.saturating_sub(within)..=at_ns + within).filter(|ns| *ns >= 5_000).any(open)
                };
                match place {
                    Position::Unjudged => prop_assert!((0..schedule.cycle_ns()).all(|ns| open(5_000 + ns))),
                    Position::Inside { .. } => prop_assert!(near(guard_ns) || at_ns < 5_000 + guard_ns),
                    Position::Outside { by_ns, .. } => {
                        prop_assert!(!open(at_ns));
                        prop_assert!(by_ns >= schedule.cycle_ns() || !near(by_ns.saturating_sub(1)));
                        prop_assert!(by_ns >= guard_ns.min(schedule.cycle_ns()));
                    }
                }
            }
        }
    }
}
