//! When frames end on a link of exact rate, whatever handing them over costs.

use super::*;
use crate::verify::analysis::{Analysis, Arrival, Link, Terms};

/// Reads of the clock between a frame's leaving and the core's knowing it.
const READ_NS: u64 = 40;
const OPEN_NS: u64 = 300_000;
const CYCLE_NS: u64 = 500_000;

/// One gate for all.
fn list() -> Schedule {
    Schedule::new(0, &[Entry { open: 255, for_ns: OPEN_NS }, Entry { open: 0, for_ns: CYCLE_NS - OPEN_NS }])
}

/// By how much each frame ended after the closing of the window that it was handed over in; below zero: before. Each
/// is on the link when it was handed over and the one before it is through, with its gap.
fn beyond_ns(far: &Far, schedule: &Schedule) -> Vec<i64> {
    beyond_ahead_ns(far, schedule, 0)
}

/// The same of frames that are handed over so much ahead of the opening.
fn beyond_ahead_ns(far: &Far, schedule: &Schedule, ahead_ns: u64) -> Vec<i64> {
    let far = far.0.borrow();
    let mut free_ns = 0;
    let beyond = |((begun_ns, frame), left_ns): (&(u64, Vec<u8>), &u64)| {
        let begins_ns = free_ns.max(*left_ns);
        free_ns = begins_ns + wire::wire_time_ns(frame.len() as u32, GIGABIT);
        let ends_ns = free_ns - wire::gap_ns(GIGABIT);
        ends_ns as i64 - schedule.at(*begun_ns + ahead_ns).closes_ns[0] as i64
    };
    far.gone.iter().zip(&far.left_ns).map(beyond).collect()
}

fn late(bench: &Bench) -> usize {
    bench.counters.ports[1].queues.iter().map(|queue| queue.late.get()).sum::<u64>() as usize
}

/// How many ended later than that.
fn beyond(found: &[i64], ns: i64) -> usize {
    found.iter().filter(|beyond_ns| **beyond_ns > ns).count()
}

/// A frame comes at every moment before the closing, when the link is free.
#[test]
fn handing_over_is_counted_in_what_fits_before_the_closing() {
    let mut bench = Bench::new(2);
    bench.far.iter().for_each(|far| far.0.borrow_mut().costs_ns = HANDING_OVER_NS - 100);
    let schedule = list();
    let mut core = core!(bench, &switch(2, 60), Some(&schedule));
    for cycle in 0..200 {
        let comes_ns = (cycle + 1) * CYCLE_NS + OPEN_NS - 20_000 + cycle * 100;
        let mut coming = Some(frame(1, 2, 0, cycle as u32, 1_514));
        while bench.clock.0.get() < comes_ns + CYCLE_NS / 2 {
            if bench.clock.0.get() >= comes_ns {
                bench.far[0].0.borrow_mut().coming.extend(coming.take());
            }
            core.turn();
        }
    }
    let found = beyond_ns(&bench.far[1], &schedule);
    assert_eq!((beyond(&found, 0), late(&bench)), (0, 0), "{:?}", found.iter().max());
    // Some left just in time, others had to wait for the next window.
    let just = found.iter().filter(|beyond_ns| (-1_000..=0).contains(*beyond_ns)).count();
    assert!(just > 5 && found.len() >= 199, "{just} of {}", found.len());
}

/// What is held up while it is handed over is late on the link, and so is what follows it.
#[test]
fn a_hold_up_moves_the_frames_behind_it() {
    let mut bench = Bench::new(2);
    let schedule = list();
    let mut core = core!(bench, &switch(2, 600), Some(&schedule));
    bench.far[0].0.borrow_mut().coming.extend((0..60).map(|n| frame(1, 2, 0, n, 1_514)));
    // Some twenty of these go into a window, and one in the middle of each is held up.
    let costs_ns = (0..60).map(|n| if [3, 27, 45].contains(&n) { 40_000 } else { 1_000 });
    bench.far[1].0.borrow_mut().next_costs_ns.extend(costs_ns);
    while bench.clock.0.get() < 6 * CYCLE_NS {
        core.turn();
    }
    let found = beyond_ns(&bench.far[1], &schedule);
    assert_eq!((found.len(), beyond(&found, 0), late(&bench)), (60, 0, 0), "{found:?}");
}

/// The first one on an idle link may leave late in a call that takes no longer than others.
#[test]
fn a_frame_that_left_late_in_its_call_moves_those_behind_it() {
    const IN_A_ROW: u64 = 5;
    const AHEAD_NS: u64 = 300;
    let mut bench = Bench::new(2);
    let schedule = list();
    let mut core = core!(bench, &switch(2, 60), Some(&schedule));
    assert!(bench.send.push(Command::Ahead(1, AHEAD_NS)).is_ok());
    core.housekeeping();
    for cycle in 0..200 {
        // Calls take as long again where they wake somebody: every other one.
        let costs_ns = (0..IN_A_ROW).map(|n| if n % 2 == 0 { 2_000 } else { 4_000 });
        bench.far[1].0.borrow_mut().next_costs_ns.extend(costs_ns);
        let leave_ns = (0..IN_A_ROW).map(|n| if n == 0 { 1_500 } else { AHEAD_NS });
        bench.far[1].0.borrow_mut().next_leave_ns.extend(leave_ns);
        let comes_ns = (cycle + 1) * CYCLE_NS + OPEN_NS - 65_000 + cycle * 20;
        let mut coming: Vec<_> = (0..IN_A_ROW as u32).map(|n| frame(1, 2, 0, n, 1_514)).collect();
        while bench.clock.0.get() < comes_ns + CYCLE_NS / 2 {
            if bench.clock.0.get() >= comes_ns {
                bench.far[0].0.borrow_mut().coming.extend(coming.drain(..));
            }
            core.turn();
        }
    }
    // What it learns from the first ones takes some of them.
    let found = beyond_ahead_ns(&bench.far[1], &schedule, AHEAD_NS).split_off(20);
    assert_eq!(beyond(&found, 0), 0, "{:?}", found.iter().max());
    let just = found.iter().filter(|beyond_ns| (-2_000..=0).contains(*beyond_ns)).count();
    assert!(just > 5, "{just} of {}", found.len());
}

#[test]
fn what_is_carried_over_the_closing_is_counted_once() {
    let mut bench = Bench::new(2);
    let schedule = list();
    let mut core = core!(bench, &switch(2, 600), Some(&schedule));
    bench.far[0].0.borrow_mut().coming.extend((0..60).map(|n| frame(1, 2, 0, n, 1_514)));
    // The last one that fits into the first window is held up; those behind it wait for the next.
    bench.far[1].0.borrow_mut().next_costs_ns.extend((0..23).map(|n| if n == 22 { 30_000 } else { 1_000 }));
    while bench.clock.0.get() < 6 * CYCLE_NS {
        core.turn();
    }
    let found = beyond_ns(&bench.far[1], &schedule);
    assert_eq!((found.len(), beyond(&found, 0), late(&bench)), (60, 1, 1), "{found:?}");
}

/// Two classes that always have frames waiting, each in its own part of the cycle, and a receiver that judges them.
#[test]
fn a_core_that_nothing_holds_up_keeps_every_frame_in_its_window() {
    let mut bench = Bench::new(2);
    let list =
        [Entry { open: 1, for_ns: 100_000 }, Entry { open: 128, for_ns: 60_000 }, Entry { open: 0, for_ns: 40_000 }];
    let schedule = Schedule::new(0, &list);
    let mut core = core!(bench, &switch(2, 40), Some(&schedule));
    let terms = Terms {
        schedule: schedule.clone(),
        guard_ns: 0,
        link: Link::Modelled(GIGABIT),
        bins: 10,
        kept_from_ns: 0,
        kept_cycles: 1,
    };
    let (mut analysis, mut judged, mut number) = (Analysis::new(terms, &[0, 7]), 0, 0);
    while bench.clock.0.get() < 400 * schedule.cycle_ns() {
        while bench.far[0].0.borrow().coming.len() < 4 {
            let octets = [60, 200, 700, 1_514][number as usize % 4];
            bench.far[0].0.borrow_mut().coming.push_back(frame(1, 2, [0, 7][number as usize % 2], number, octets));
            number += 1;
        }
        core.turn();
        let far = bench.far[1].0.borrow();
        for ((_, frame), at_ns) in far.gone.iter().zip(&far.left_ns).skip(judged) {
            let flow = usize::from(pcp(frame) == 7);
            let arrival = Arrival { flow, number: self::number(frame).into(), sent_ns: 0, at_ns: *at_ns };
            let on_link_ns = analysis.on_link(*at_ns, frame.len() as u32);
            analysis.take(arrival, on_link_ns);
            judged += 1;
        }
    }
    let flows = analysis.flows();
    assert!(flows.iter().all(|flow| flow.judged > 1_000), "{} {}", flows[0].judged, flows[1].judged);
    assert_eq!(flows.iter().map(|flow| (flow.outside, flow.ends_outside)).collect::<Vec<_>>(), [(0, 0), (0, 0)]);
    assert_eq!(late(&bench), 0);
}

/// A probe for loops is on the link like any other frame.
#[test]
fn a_probe_takes_its_time_on_the_link() {
    let mut bench = Bench::new(2);
    let mut core = core!(bench, &switch(2, 60), None);
    assert!(bench.send.push(Command::Probe).is_ok());
    core.housekeeping();
    let begun_ns = bench.far[1].0.borrow().gone[0].0;
    assert!(core.outlets[1].free_ns >= begun_ns + 1_000 + wire::wire_time_ns(60, GIGABIT));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whoever reads the counter knows how many it were, whatever handing over costs.
    #[test]
    fn as_many_are_late_as_are_counted(
        costs_ns in prop::collection::vec(prop_oneof![8 => 300u64..1_500, 2 => 1_500u64..9_000, 1 => 9_000u64..80_000], 1..200),
        octets in prop_oneof![Just(60usize), 60usize..1_514, Just(1_514)],
    ) {
        let mut bench = Bench::new(2);
        let schedule = list();
        let mut core = core!(bench, &switch(2, 600), Some(&schedule));
        let count = costs_ns.len();
        bench.far[0].0.borrow_mut().coming.extend((0..count as u32).map(|n| frame(1, 2, 0, n, octets)));
        bench.far[1].0.borrow_mut().next_costs_ns.extend(costs_ns);
        while bench.clock.0.get() < 40 * CYCLE_NS && bench.far[1].0.borrow().gone.len() < count {
            core.turn();
        }
        let found = beyond_ns(&bench.far[1], &schedule);
        prop_assert_eq!(found.len(), count);
        let range = beyond(&found, 0)..=beyond(&found, -(READ_NS as i64));
        prop_assert!(range.contains(&late(&bench)), "{} of {:?}", late(&bench), range);
    }
}
