//! Gates in time: which are open at a moment, and until when.
//!
//! Before its base time a list is not in force, and all gates are open (AdminGateStates as Linux has it:
//! tc-taprio(8)).

use std::num::NonZeroU32;

use crate::model::{Base, CLASSES, Entry, Gates, Guard, Port, Switch};
use crate::wire;

/// A look that follows another one finds what it looks for so few slots further on, mostly.
const SLOTS_AHEAD: usize = 4;

/// No gate closes that is open so long.
pub const NEVER: u64 = u64::MAX;

/// A gate control list, made ready to be looked up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    base_ns: u64,
    cycle_ns: u64,
    slots: Vec<Slot>,
    /// Of slots that need it.
    windows: Vec<Windows>,
    longest_ns: Box<[u64; CLASSES]>,
}

/// A stretch of the cycle in which no gate moves. Long lists are looked up while frames wait: it is kept short, so that
/// they stay in the processor's cache.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Slot {
    /// Where it begins and ends in the cycle.
    begin_ns: u64,
    end_ns: u64,
    open: u16,
    /// Gates that open where it ends.
    opens: u16,
    /// Where its windows are; nowhere, if all gates that are open here open where it begins and close where it ends.
    windows: Option<NonZeroU32>,
}

/// The windows in which gates are open in a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Windows {
    /// For each gate that is open, after how much time from the slot's beginning it closes.
    closes_after_ns: [u64; CLASSES],
    /// How long the window is in which each gate is open here.
    length_ns: [u64; CLASSES],
}

/// The gates at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View {
    /// From when on this holds, on the switch's clock.
    pub from_ns: u64,
    /// Until when.
    pub until_ns: u64,
    /// Open gates, one bit for each queue.
    pub open: u16,
    /// Gates that open at its end.
    pub opens: u16,
    /// When each of the open gates closes; [`NEVER`] for one that is always open.
    pub closes_ns: [u64; CLASSES],
    /// How long each of the open gates is open, from its opening on; [`NEVER`] for one that is always open.
    pub window_ns: [u64; CLASSES],
}

impl View {
    /// All gates open, for ever.
    pub const OPEN: View = View {
        from_ns: 0,
        until_ns: NEVER,
        open: u16::MAX,
        opens: 0,
        closes_ns: [NEVER; CLASSES],
        window_ns: [NEVER; CLASSES],
    };
    /// All gates closed, for ever.
    pub const CLOSED: View = View { open: 0, closes_ns: [0; CLASSES], window_ns: [0; CLASSES], ..View::OPEN };
}

impl Schedule {
    /// From entries that sum up to a cycle above zero. Entries of no length are left out.
    pub fn new(base_ns: u64, entries: &[Entry]) -> Self {
        let mut slots: Vec<Slot> = Vec::new();
        let mut begin_ns = 0;
        for entry in entries.iter().filter(|entry| entry.for_ns > 0) {
            let end_ns = begin_ns + entry.for_ns;
            match slots.last_mut() {
                // Where no gate moves there is no edge.
                Some(last) if last.open == entry.open => last.end_ns = end_ns,
                _ => slots.push(Slot { begin_ns, end_ns, open: entry.open, opens: 0, windows: None }),
            }
            begin_ns = end_ns;
        }
        let cycle_ns = begin_ns.max(1);
        let longest_ns = Box::new([NEVER; CLASSES]);
        let mut schedule = Self { base_ns, cycle_ns, slots, windows: Vec::new(), longest_ns };
        for slot in 0..schedule.slots.len() {
            let next = schedule.slots[(slot + 1) % schedule.slots.len()].open;
            schedule.slots[slot].opens = next & !schedule.slots[slot].open;
            let windows = Windows {
                closes_after_ns: std::array::from_fn(|queue| schedule.closes_after_ns(slot, queue)),
                length_ns: std::array::from_fn(|queue| schedule.window_ns(slot, queue)),
            };
            if !schedule.slots[slot].are_its_own(&windows) {
                schedule.windows.push(windows);
                schedule.slots[slot].windows = u32::try_from(schedule.windows.len()).ok().and_then(NonZeroU32::new);
            }
        }
        // Whoever follows the list asks for it while frames wait.
        schedule.longest_ns = Box::new(std::array::from_fn(|queue| schedule.longest_window_ns(queue)));
        schedule
    }

    fn longest_window_ns(&self, queue: usize) -> u64 {
        if self.slots.iter().all(|slot| slot.open & (1 << queue) != 0) {
            return NEVER;
        }
        self.windows(queue).into_iter().map(|(_, length_ns)| length_ns).max().unwrap_or(0)
    }

    fn closes_after_ns(&self, slot: usize, queue: usize) -> u64 {
        let open = |slot: &Slot| slot.open & (1 << queue) != 0;
        let mut after_ns = 0;
        for ahead in self.slots.iter().cycle().skip(slot).take(self.slots.len()) {
            if !open(ahead) {
                return after_ns;
            }
            after_ns += ahead.length_ns();
        }
        NEVER
    }

    /// The length of the window of a queue that a slot is in: what is left of it where it opens.
    fn window_ns(&self, slot: usize, queue: usize) -> u64 {
        let of = self.slots.len();
        let back = (0..of).take_while(|back| self.slots[(slot + of - back) % of].open & (1 << queue) != 0);
        back.last().map_or(0, |back| self.closes_after_ns((slot + of - back) % of, queue))
    }

    /// When its first cycle begins.
    #[inline]
    pub fn base_ns(&self) -> u64 {
        self.base_ns
    }

    /// Length of a cycle, in ns.
    pub fn cycle_ns(&self) -> u64 {
        self.cycle_ns
    }

    /// How far into its cycle a moment is; before the base time too.
    #[inline]
    pub fn offset_ns(&self, now_ns: u64) -> u64 {
        let cycle = i128::from(self.cycle_ns);
        (i128::from(now_ns) - i128::from(self.base_ns)).rem_euclid(cycle) as u64
    }

    /// The gates at a moment.
    #[inline]
    pub fn at(&self, now_ns: u64) -> View {
        self.at_near(now_ns, &mut 0)
    }

    /// The gates at a moment, for who looks again and again: `near` is where the last look found them, and becomes where
    /// this one does. What comes next in the cycle is found without a search.
    #[inline]
    pub fn at_near(&self, now_ns: u64, near: &mut usize) -> View {
        if now_ns < self.base_ns {
            return View { until_ns: self.base_ns, closes_ns: [self.base_ns; CLASSES], ..View::OPEN };
        }
        let offset_ns = (now_ns - self.base_ns) % self.cycle_ns;
        *near = self.slot_near(offset_ns, *near);
        let Some(slot) = self.slots.get(*near) else { return View::OPEN };
        let from_ns = now_ns - (offset_ns - slot.begin_ns);
        let until_ns = from_ns + slot.length_ns();
        let (closes_ns, window_ns) = match slot.windows {
            None => ([until_ns; CLASSES], [slot.length_ns(); CLASSES]),
            Some(place) => {
                let Windows { closes_after_ns, length_ns } = self.windows[place.get() as usize - 1];
                (closes_after_ns.map(|after_ns| from_ns.saturating_add(after_ns)), length_ns)
            }
        };
        View { from_ns, until_ns, open: slot.open, opens: slot.opens, closes_ns, window_ns }
    }

    #[inline]
    fn slot_near(&self, offset_ns: u64, near: usize) -> usize {
        let is_in = |slot: &Slot| (slot.begin_ns..slot.end_ns).contains(&offset_ns);
        let first = self.slots.first().filter(|slot| is_in(slot)).map(|_| 0);
        let ahead = self.slots.get(near..).unwrap_or_default().iter().take(SLOTS_AHEAD).position(is_in);
        let found = ahead.map(|ahead| near + ahead).or(first);
        found.unwrap_or_else(|| self.slots.partition_point(|slot| slot.end_ns <= offset_ns))
    }

    /// The windows of a queue within one cycle, as beginning and length; one that goes on over the end of the cycle
    /// is one window and begins where it opens. A gate that never closes is one window of the whole cycle.
    pub fn windows(&self, queue: usize) -> Vec<(u64, u64)> {
        let open = |slot: &Slot| slot.open & (1 << queue) != 0;
        if self.slots.iter().all(open) {
            return vec![(0, self.cycle_ns)];
        }
        let before = |i: usize| &self.slots[(i + self.slots.len() - 1) % self.slots.len()];
        let begins = |&i: &usize| open(&self.slots[i]) && !open(before(i));
        let window = |i: usize| (self.slots[i].begin_ns, self.closes_after_ns(i, queue));
        (0..self.slots.len()).filter(begins).map(window).collect()
    }
}

impl Slot {
    #[inline]
    fn length_ns(&self) -> u64 {
        self.end_ns - self.begin_ns
    }

    /// Whether each gate that is open here opens where it begins and closes where it ends.
    fn are_its_own(&self, windows: &Windows) -> bool {
        let own = |ns: &[u64; CLASSES], queue: usize| ns[queue] == self.length_ns();
        let mut open = (0..CLASSES).filter(|queue| self.open & (1 << queue) != 0);
        open.all(|queue| own(&windows.closes_after_ns, queue) && own(&windows.length_ns, queue))
    }
}

impl Schedule {
    /// The gates of a port with their guard bands, on a link of this rate; none where all are always open.
    pub fn of(switch: &Switch, port: &Port, base_ns: u64, rate: u64) -> Option<Self> {
        port.gates.as_ref().map(|gates| Self::new(base_ns, &gates.guarded(switch, port, rate)))
    }

    /// How long each gate is open at most, in ns: 0 for one that never opens, [`NEVER`] for one that never closes.
    pub fn longest_ns(&self) -> [u64; CLASSES] {
        *self.longest_ns
    }
}

/// For how long the gates are open in a cycle, and which of them together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shares {
    /// The cycle, in ns.
    pub cycle_ns: u64,
    /// For how long the gate of each queue is open in it, in ns (GateOpenTime, IEEE 802.1Q-2022 clause 8.6.8.2).
    pub open_ns: [u64; CLASSES],
    /// Gates that are open at a time when the gate of each queue is, one bit for each queue.
    pub open_with: [u16; CLASSES],
}

impl Schedule {
    /// For how long the gates are open in a cycle.
    pub fn shares(&self) -> Shares {
        let mut shares = Shares { cycle_ns: self.cycle_ns, open_ns: [0; CLASSES], open_with: [0; CLASSES] };
        for slot in &self.slots {
            for queue in (0..CLASSES).filter(|queue| slot.open & (1 << queue) != 0) {
                shares.open_ns[queue] += slot.end_ns - slot.begin_ns;
                shares.open_with[queue] |= slot.open;
            }
        }
        shares
    }

    /// For how long a gate is open between two moments, in ns; before the base time it is.
    pub fn open_between_ns(&self, queue: usize, from_ns: u64, until_ns: u64) -> u64 {
        let before_ns = until_ns.min(self.base_ns).saturating_sub(from_ns);
        let since_base = |ns: u64| self.open_since_base_ns(queue, ns.saturating_sub(self.base_ns));
        before_ns + since_base(until_ns.max(from_ns)).saturating_sub(since_base(from_ns))
    }

    fn open_since_base_ns(&self, queue: usize, since_ns: u64) -> u64 {
        let (cycles, offset_ns) = (since_ns / self.cycle_ns, since_ns % self.cycle_ns);
        let (mut cycle_ns, mut part_ns) = (0, 0);
        for slot in self.slots.iter().filter(|slot| slot.open & (1 << queue) != 0) {
            cycle_ns += slot.end_ns - slot.begin_ns;
            part_ns += slot.end_ns.min(offset_ns).saturating_sub(slot.begin_ns);
        }
        cycles * cycle_ns + part_ns
    }
}

/// Entries in which each gate closes earlier by its guard band: `guard_ns` says for each queue by how much.
/// A gate that is open for less is not opened at all.
pub fn with_guards(entries: &[Entry], guard_ns: &[u64; CLASSES]) -> Vec<Entry> {
    let plain = Schedule::new(0, entries);
    let cycle_ns = plain.cycle_ns;
    // Wherever a gate may move: at the slots' edges and where guard bands begin.
    let mut edges: Vec<u64> = plain.slots.iter().map(|slot| slot.begin_ns).collect();
    for (queue, guard_ns) in guard_ns.iter().enumerate() {
        let closing = plain.windows(queue).into_iter().filter(|(_, length_ns)| *length_ns < cycle_ns);
        edges.extend(closing.map(|(begin_ns, length_ns)| (begin_ns + length_ns.saturating_sub(*guard_ns)) % cycle_ns));
    }
    edges.push(0);
    edges.sort_unstable();
    edges.dedup();
    let ends = edges.iter().skip(1).copied().chain([cycle_ns]);
    let entry = |(begin_ns, end_ns): (u64, u64)| {
        let view = plain.at(begin_ns);
        let allowed = |queue: &usize| {
            let left_ns = view.closes_ns[*queue].saturating_sub(begin_ns);
            view.open & (1 << queue) != 0 && (view.closes_ns[*queue] == NEVER || left_ns > guard_ns[*queue])
        };
        Entry { open: (0..CLASSES).filter(allowed).fold(0, |open, queue| open | 1 << queue), for_ns: end_ns - begin_ns }
    };
    edges.iter().copied().zip(ends).map(entry).collect()
}

/// Setting everything up takes less than this, in ns.
const LEAD_NS: u64 = 200_000_000;
const SECOND_NS: u64 = 1_000_000_000;

impl Base {
    /// The base time, in ns on the switch's clock, when everything is set up from `now_ns` on.
    pub fn resolve(self, now_ns: u64) -> u64 {
        match self {
            Base::At(ns) => ns,
            Base::NextSecond => (now_ns + LEAD_NS).next_multiple_of(SECOND_NS),
        }
    }

    /// The base time where the next second came to `second_ns`.
    pub fn at_second(self, second_ns: u64) -> u64 {
        match self {
            Base::At(ns) => ns,
            Base::NextSecond => second_ns,
        }
    }
}

impl Gates {
    /// The entries with the guard bands of a port whose link has this rate.
    pub fn guarded(&self, switch: &Switch, port: &Port, rate: u64) -> Vec<Entry> {
        let mut guards = [0; CLASSES];
        for (class, max_sdu) in switch.classes.iter().zip(&port.max_sdu) {
            guards[usize::from(class.queue)] = guard_ns(self.guard, max_sdu.unwrap_or(wire::LARGEST_SDU), rate);
        }
        with_guards(&self.entries, &guards)
    }
}

/// The guard band of a class, in ns, with its largest service data unit on a link of this rate.
pub fn guard_ns(guard: Guard, largest_sdu: u32, rate: u64) -> u64 {
    match guard {
        Guard::None => 0,
        Guard::Fixed(ns) => ns,
        Guard::LargestFrame => wire::largest_frame_ns(largest_sdu, rate),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn entries() -> impl Strategy<Value = Vec<Entry>> {
        let entry = (any::<u16>(), 1u64..1_000).prop_map(|(open, for_ns)| Entry { open, for_ns });
        prop::collection::vec(entry, 1..8)
    }

    /// The gates at an offset, found by counting from the beginning.
    fn counted(entries: &[Entry], mut offset_ns: u64) -> u16 {
        for entry in entries {
            if offset_ns < entry.for_ns {
                return entry.open;
            }
            offset_ns -= entry.for_ns;
        }
        unreachable!("the offset is within the cycle")
    }

    proptest! {
        #[test]
        fn open_time_is_the_sum_of_open_moments(
            entries in entries(), base_ns in 0u64..3_000, from_ns in 0u64..5_000, length_ns in 0u64..5_000, queue in 0usize..CLASSES,
        ) {
            let schedule = Schedule::new(base_ns, &entries);
            let open = |ns: &u64| schedule.at(*ns).open & (1 << queue) != 0;
            let counted = (from_ns..from_ns + length_ns).filter(open).count() as u64;
            prop_assert_eq!(schedule.open_between_ns(queue, from_ns, from_ns + length_ns), counted);
            let shares = schedule.shares();
            let cycle = base_ns..base_ns + shares.cycle_ns;
            prop_assert_eq!(shares.open_ns[queue], cycle.clone().filter(open).count() as u64);
            let with = cycle.filter(open).fold(0, |with, ns| with | schedule.at(ns).open);
            prop_assert_eq!(shares.open_with[queue], with);
        }
    }

    #[test]
    fn the_article_s_list() {
        // Source 004: blue (queue 0) for 800 us, red (queue 1) for 200 us.
        let list = [Entry { open: 1, for_ns: 800_000 }, Entry { open: 2, for_ns: 200_000 }];
        let schedule = Schedule::new(5_000_000, &list);
        assert_eq!(schedule.at(4_999_999).open, u16::MAX);
        let view = schedule.at(6_800_000);
        assert_eq!((view.open, view.from_ns, view.until_ns, view.closes_ns[1]), (2, 6_800_000, 7_000_000, 7_000_000));
        assert_eq!(schedule.windows(0), [(0, 800_000)]);
        assert_eq!(schedule.windows(1), [(800_000, 200_000)]);
        assert_eq!(schedule.windows(2), []);
    }

    #[test]
    fn a_window_over_the_end_of_the_cycle_is_one() {
        let list = [(1, 100), (2, 300), (1, 50)].map(|(open, for_ns)| Entry { open, for_ns });
        let schedule = Schedule::new(0, &list);
        assert_eq!(schedule.windows(0), [(400, 150)]);
        assert_eq!(schedule.at(420).closes_ns[0], 550);
    }

    proptest! {
        #[test]
        fn a_look_finds_the_same_wherever_the_last_one_was(
            opens in prop::collection::vec((any::<u16>(), 1u64..50), 1..40),
            looks in prop::collection::vec((0u64..3_000, 0usize..50), 1..20),
        ) {
            let entries: Vec<Entry> = opens.iter().map(|&(open, for_ns)| Entry { open, for_ns }).collect();
            let schedule = Schedule::new(1_000, &entries);
            let mut last = 0;
            for (now_ns, mut near) in looks {
                let view = schedule.at_near(now_ns, &mut near);
                prop_assert_eq!(schedule.at_near(now_ns, &mut last), view);
                prop_assert!(view.from_ns <= now_ns && now_ns < view.until_ns);
                if now_ns >= 1_000 {
                    prop_assert_eq!(view.open, counted(&entries, (now_ns - 1_000) % schedule.cycle_ns()));
                }
            }
        }

        #[test]
        fn a_view_is_as_counted(list in entries(), base_ns in 0u64..10_000, after_ns in 0u64..100_000) {
            let schedule = Schedule::new(base_ns, &list);
            let now_ns = base_ns + after_ns;
            let view = schedule.at(now_ns);
            prop_assert_eq!(view.open, counted(&list, after_ns % schedule.cycle_ns()));
            prop_assert!(view.from_ns <= now_ns && now_ns < view.until_ns);
            if view.until_ns != NEVER {
                prop_assert_eq!(view.opens, schedule.at(view.until_ns).open & !view.open);
            }
            for queue in 0..CLASSES {
                let open = |ns: u64| counted(&list, (ns - base_ns) % schedule.cycle_ns()) & (1 << queue) != 0;
                if open(now_ns) && view.closes_ns[queue] != NEVER {
                    prop_assert!(!open(view.closes_ns[queue]));
                    prop_assert!((now_ns..view.closes_ns[queue]).all(open));
                    // One that is open through a cycle's end may have opened before time 0.
                    let opened_ns = view.closes_ns[queue].saturating_sub(view.window_ns[queue]);
                    prop_assert!((opened_ns.max(base_ns)..now_ns).all(open));
                    prop_assert!(opened_ns <= base_ns || !open(opened_ns - 1));
                }
            }
        }

        #[test]
        fn guards_shorten_each_window_at_its_end(list in entries(), guard in 0u64..500) {
            let (plain, guarded) = (Schedule::new(0, &list), with_guards(&list, &[guard; CLASSES]));
            prop_assert_eq!(guarded.iter().map(|entry| entry.for_ns).sum::<u64>(), plain.cycle_ns());
            for offset_ns in 0..plain.cycle_ns() {
                let (before, after) = (plain.at(offset_ns), counted(&guarded, offset_ns));
                for queue in 0..CLASSES {
                    let closes = before.closes_ns[queue];
                    let open = before.open & (1 << queue) != 0 && (closes == NEVER || closes - offset_ns > guard);
                    prop_assert_eq!(after & (1 << queue) != 0, open);
                }
            }
        }

        #[test]
        fn windows_hold_all_open_time(list in entries()) {
            let schedule = Schedule::new(0, &list);
            for queue in 0..CLASSES {
                let open: u64 = list.iter().filter(|entry| entry.open & (1 << queue) != 0).map(|entry| entry.for_ns).sum();
                prop_assert_eq!(schedule.windows(queue).iter().map(|window| window.1).sum::<u64>(), open);
            }
        }
    }
}
