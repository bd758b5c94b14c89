//! How long a run of many blocks takes on the clock: known before it starts, and kept while it goes on.

use crate::{Length, Limits, Load};

/// What a block needs beside its samples: a thread set up, memory locked.
pub const BESIDE_NS: u64 = 100_000_000;
/// Starting a load, and ending it.
const LOAD_NS: u64 = 2_000_000_000;

/// The parts of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timetable {
    /// Blocks, one after the other.
    pub blocks: u64,
    /// The shortest block that shows something, in ns.
    pub least_ns: u64,
    /// What a block needs beside its samples, in ns, until this run shows how much it is.
    pub beside_ns: u64,
    /// What comes once, whatever the blocks' length: looking for a phase, a load's start, in ns.
    pub once_ns: u64,
}

impl Timetable {
    /// What starting and ending this load takes, in ns.
    pub fn of_load(load: &Load) -> u64 {
        if *load == Load::None { 0 } else { LOAD_NS }
    }

    /// How long series take on the clock that are measured one after the other, each for these limits; `None` where
    /// that depends on what happens. A count takes so many intervals.
    pub fn of_series(series: usize, limits: Limits, interval_ns: Option<u64>, load: &Load) -> Option<u64> {
        let block_ns = match limits.length {
            Length::Duration(u64::MAX) => return None,
            Length::Duration(ns) => ns,
            Length::Count(count) => count.saturating_mul(interval_ns?),
        };
        // A warm-up ends after so many turns, or after its time.
        let turns_ns = interval_ns.map_or(u64::MAX, |ns| ns.saturating_mul(crate::session::WARM_UP.into()));
        let warm_up_ns = crate::session::warm_up_ns(limits.length).min(turns_ns);
        let each_ns = block_ns.saturating_add(warm_up_ns.min(block_ns)).saturating_add(BESIDE_NS);
        Some(each_ns.saturating_mul(series as u64).saturating_add(Self::of_load(load)))
    }

    /// How long it takes if this long is asked for: longer only where its blocks would be too short.
    pub fn takes_ns(&self, asked_ns: u64) -> u64 {
        asked_ns.max(self.once_ns + self.blocks * (self.least_ns + self.beside_ns))
    }

    /// Begins the run.
    pub fn start(self, asked_ns: u64, now_ns: u64) -> Pace {
        let end_ns = now_ns.saturating_add(self.takes_ns(asked_ns));
        Pace { table: self, end_ns, left: self.blocks, once_left_ns: self.once_ns, beside_ns: self.beside_ns }
    }
}

/// A run under way: gives each block its share of the time that is left.
#[derive(Debug, Clone)]
pub struct Pace {
    table: Timetable,
    end_ns: u64,
    left: u64,
    once_left_ns: u64,
    /// What a block needs beside its samples, as this run shows it.
    beside_ns: u64,
}

impl Pace {
    /// Of what comes once, this much is over.
    pub fn over(&mut self, once_ns: u64) {
        self.once_left_ns = self.once_left_ns.saturating_sub(once_ns);
    }

    /// How long the block takes that begins now.
    pub fn block(&self, now_ns: u64) -> Limits {
        let left_ns = self.end_ns.saturating_sub(now_ns).saturating_sub(self.once_left_ns);
        let share_ns = left_ns / self.left.max(1);
        Limits::new(Length::Duration(share_ns.saturating_sub(self.beside_ns).max(self.table.least_ns)))
    }

    /// Blocks that were not measured yet.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// So many of those blocks are not needed: the others have their time.
    pub fn skip(&mut self, blocks: u64) {
        self.left = self.left.saturating_sub(blocks);
    }

    /// A block of these limits ended after this time.
    pub fn took(&mut self, limits: Limits, elapsed_ns: u64) {
        self.left = self.left.saturating_sub(1);
        let Length::Duration(block_ns) = limits.length else { return };
        let beside_ns = elapsed_ns.saturating_sub(block_ns);
        self.beside_ns = (3 * self.beside_ns + beside_ns) / 4;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// A machine whose clock goes on by what each phase of a run takes.
    struct Model {
        once_ns: u64,
        beside_ns: fn(u64) -> u64,
    }

    impl Model {
        /// How long the run takes, and its shortest and longest block.
        fn run(&self, table: Timetable, asked_ns: u64) -> (u64, u64, u64) {
            let began_ns = 77 * MS;
            let mut pace = table.start(asked_ns, began_ns);
            let mut now_ns = began_ns + self.once_ns;
            pace.over(table.once_ns);
            let mut lengths = Vec::new();
            for turn in 0..table.blocks {
                let limits = pace.block(now_ns);
                let Length::Duration(block_ns) = limits.length else { unreachable!() };
                let elapsed_ns = block_ns + (self.beside_ns)(turn);
                now_ns += elapsed_ns;
                pace.took(limits, elapsed_ns);
                lengths.push(block_ns);
            }
            (now_ns - began_ns, *lengths.iter().min().unwrap(), *lengths.iter().max().unwrap())
        }
    }

    fn within_15_percent(took_ns: u64, stated_ns: u64) -> bool {
        took_ns.abs_diff(stated_ns) * 100 <= stated_ns * 15
    }

    #[test]
    fn a_run_takes_what_was_stated_whatever_its_blocks_need_besides() {
        let table = Timetable { blocks: 12, least_ns: 50 * MS, beside_ns: BESIDE_NS, once_ns: 2_500 * MS };
        let machines = [
            Model { once_ns: 2_000 * MS, beside_ns: |_| 40 * MS },
            Model { once_ns: 3_000 * MS, beside_ns: |_| 280 * MS },
            // The loaded half needs more, and now and then one needs much more.
            Model { once_ns: 2_500 * MS, beside_ns: |turn| if turn < 6 { 50 * MS } else { 300 * MS } },
            Model { once_ns: 2_500 * MS, beside_ns: |turn| if turn % 5 == 0 { 900 * MS } else { 60 * MS } },
        ];
        for asked_ms in [12_000, 60_000, 600_000] {
            for machine in &machines {
                let stated_ns = table.takes_ns(asked_ms * MS);
                assert_eq!(stated_ns, asked_ms * MS, "the whole time is what was asked for");
                let (took_ns, shortest_ns, _) = machine.run(table, asked_ms * MS);
                assert!(within_15_percent(took_ns, stated_ns), "{took_ns} {stated_ns}");
                assert!(shortest_ns >= table.least_ns);
            }
        }
    }

    #[test]
    fn a_duration_that_holds_no_blocks_is_stated_as_it_will_be() {
        let table = Timetable { blocks: 144, least_ns: 36 * MS, beside_ns: BESIDE_NS, once_ns: 2_000 * MS };
        let stated_ns = table.takes_ns(6_000 * MS);
        assert_eq!(stated_ns, (2_000 + 144 * 136) * MS);
        let (took_ns, shortest_ns, longest_ns) =
            Model { once_ns: 2_000 * MS, beside_ns: |_| 110 * MS }.run(table, 6_000 * MS);
        assert!(within_15_percent(took_ns, stated_ns), "{took_ns} {stated_ns}");
        assert_eq!((shortest_ns, longest_ns), (36 * MS, 36 * MS));
    }

    /// A search that halves a range needs as many blocks as it planned, or one less.
    #[test]
    fn the_time_of_blocks_that_are_not_needed_is_that_of_the_others() {
        let table = Timetable { blocks: 40, least_ns: 50 * MS, beside_ns: BESIDE_NS, once_ns: 0 };
        let (mut pace, mut now_ns, asked_ns) = (table.start(60_000 * MS, 0), 0, 60_000 * MS);
        for _search in 0..10 {
            for _ in 0..3 {
                let limits = pace.block(now_ns);
                let Length::Duration(block_ns) = limits.length else { unreachable!() };
                now_ns += block_ns + BESIDE_NS;
                pace.took(limits, block_ns + BESIDE_NS);
            }
            pace.skip(1);
        }
        assert_eq!(pace.left(), 0);
        assert!(within_15_percent(now_ns, asked_ns), "{now_ns}");
    }

    #[test]
    fn on_a_steady_machine_all_blocks_are_of_one_length() {
        let table = Timetable { blocks: 12, least_ns: 50 * MS, beside_ns: BESIDE_NS, once_ns: 0 };
        let (_, shortest_ns, longest_ns) = Model { once_ns: 0, beside_ns: |_| BESIDE_NS }.run(table, 12_000 * MS);
        assert!(longest_ns - shortest_ns < MS, "{shortest_ns} {longest_ns}");
    }

    #[test]
    fn several_series_take_their_warm_ups_and_a_load_too() {
        let of = |limits, interval_ns, load: &Load| Timetable::of_series(12, limits, interval_ns, load);
        let second = Limits::new(Length::Duration(1_000 * MS));
        assert_eq!(of(second, None, &Load::None), Some(12 * 1_200 * MS));
        assert_eq!(of(second, None, &Load::Mix("cpu")), Some(12 * 1_200 * MS + LOAD_NS));
        let count = Limits::new(Length::Count(10_000));
        // 200 turns of a millisecond; 200 of two would be longer than a warm-up may be.
        assert_eq!(of(count, Some(MS), &Load::None), Some(12 * 10_300 * MS));
        assert_eq!(of(count, Some(2 * MS), &Load::None), Some(12 * 20_350 * MS));
        assert_eq!(of(count, None, &Load::None), None);
        assert_eq!(of(Limits::new(Length::Duration(u64::MAX)), None, &Load::None), None);
    }
}
