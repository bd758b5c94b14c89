//! What waits for another cycle than its own.

use super::*;
use crate::user::counters::QueueCounters;

const CYCLE_NS: u64 = 500_000;
/// Room for one of the largest frames and its hand-over.
const OPEN_NS: u64 = 16_000;

/// Each cycle has a window with room for one frame, and a frame that comes just before it; one has another, too. From
/// then on every frame is a cycle late: none is dropped or late by its gate, and all are counted.
#[test]
fn a_window_with_room_for_one_never_catches_up_which_is_counted() {
    let mut bench = Bench::new(2);
    let schedule =
        Schedule::new(0, &[Entry { open: 255, for_ns: OPEN_NS }, Entry { open: 0, for_ns: CYCLE_NS - OPEN_NS }]);
    let mut core = core!(bench, &switch(2, 60), Some(&schedule));
    let counted = |bench: &Bench| {
        let of = |one: fn(&QueueCounters) -> u64| bench.counters.ports[1].queues.iter().map(one).sum::<u64>();
        [of(|queue| queue.sent.get()), of(|queue| queue.overdue.get()), of(|queue| queue.late.get() + queue.dropped())]
    };
    for cycle in 1..=10 {
        while bench.clock.0.get() < cycle * CYCLE_NS - 5_000 {
            core.turn();
        }
        if cycle == 6 {
            assert_eq!(counted(&bench), [5, 0, 0], "each in its own cycle");
        }
        let frames = if cycle == 6 { 2 } else { 1 };
        bench.far[0].0.borrow_mut().coming.extend((0..frames).map(|n| frame(1, 2, 0, (10 * cycle + n) as u32, 1_514)));
    }
    while bench.clock.0.get() < 12 * CYCLE_NS {
        core.turn();
    }
    // The second one of the sixth cycle, and those of the four cycles behind it.
    assert_eq!(counted(&bench), [11, 5, 0]);
}
