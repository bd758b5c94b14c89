//! Gaps between windows that are shorter than any entry of a gate control list may be.

use super::occupancy::Occupancy;
use super::timetable::Timetable;
use crate::network::Network;
use crate::validate::{Schedule, Window};

/// Has each window last until the next where the gap is too short for an entry of its own, or that one begin as much earlier:
/// no other gate is opened for it. A queue that a frame is in then stays shut, for what is there early would leave early; where
/// both are, the gap remains.
pub fn close_short_gaps(schedule: &mut Schedule, shortest_ns: u64, network: &Network, table: &Timetable) {
    let is_short = |from_ns: u64, to_ns: u64| to_ns > from_ns && to_ns - from_ns < shortest_ns;
    let mut taken = Occupancy::new(network.links.len());
    if shortest_ns > 1 {
        let uses = table.placed.iter().flatten().flat_map(|placed| placed.uses(network));
        uses.for_each(|(link, one)| taken.add(link, one));
    }
    for windows in schedule.windows.chunk_by_mut(|a, b| a.link == b.link) {
        for n in 0..windows.len() {
            let Window { link, queue, end_ns, cycle_ns, .. } = windows[n];
            let next = windows.get(n + 1).map(|next| (next.queue, next.begin_ns));
            let next_ns = next.map_or(cycle_ns, |(_, begin_ns)| begin_ns);
            if !is_short(end_ns, next_ns) {
                continue;
            }
            let mut is_empty = |queue| taken.queue(link, queue, cycle_ns).is_free(end_ns, next_ns - end_ns);
            if is_empty(queue) {
                windows[n].end_ns = next_ns;
            } else if next.is_some_and(|(queue, _)| is_empty(queue)) {
                windows[n + 1].begin_ns = end_ns;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::samples;
    use crate::planning::{Placed, PlacedHop};

    #[test]
    fn a_gap_is_closed_where_it_is_too_short_for_an_entry() {
        let window = |link, begin_ns, end_ns| Window { link, queue: 7, begin_ns, end_ns, cycle_ns: 10_000 };
        let windows = vec![
            window(0, 1_000, 2_000),
            window(0, 2_671, 3_000),
            window(0, 3_672, 4_000),
            window(0, 4_000, 9_500),
            window(1, 100, 9_328),
            window(2, 9_900, 10_000),
        ];
        let mut schedule = Schedule { windows, ..Schedule::default() };
        let network = samples::ring(3, 2);
        close_short_gaps(&mut schedule, 672, &network, &Timetable::default());
        let closed: Vec<(usize, u64, u64)> =
            schedule.windows.iter().map(|window| (window.link, window.begin_ns, window.end_ns)).collect();
        assert_eq!(
            closed,
            [
                (0, 1_000, 2_671),
                (0, 2_671, 3_000),
                (0, 3_672, 4_000),
                (0, 4_000, 10_000),
                (1, 100, 9_328),
                (2, 9_900, 10_000)
            ]
        );
    }

    /// Two messages in two queues, of which one or the other, or both, are there in the gap between their windows.
    #[test]
    fn a_queue_that_somebody_is_in_stays_shut() {
        let network = samples::ring(3, 2);
        let window = |queue, begin_ns, end_ns| Window { link: 0, queue, begin_ns, end_ns, cycle_ns: 1_000_000 };
        let closed = |queues: [u8; 2], first_waits_again: bool, arrives_ns| {
            let hop = |arrives_ns, begin_ns, end_ns| PlacedHop {
                link: 0,
                before: None,
                arrives_ns,
                begin_ns,
                end_ns,
                delivered_ns: None,
            };
            let placed = |stream, queue, hops: Vec<PlacedHop>| Placed { stream, queue, waits: true, hops };
            let mut first = vec![hop(1_000, 1_000, 2_000)];
            if first_waits_again {
                first.push(hop(2_050, 5_000, 6_000));
            }
            let second = vec![hop(arrives_ns, 2_100, 3_000)];
            let table =
                Timetable { placed: vec![Some(placed(0, queues[0], first)), Some(placed(1, queues[1], second))] };
            let windows = vec![window(queues[0], 1_000, 2_000), window(queues[1], 2_100, 3_000)];
            let mut schedule = Schedule { windows, ..Schedule::default() };
            close_short_gaps(&mut schedule, 256, &network, &table);
            [schedule.windows[0].end_ns, schedule.windows[1].begin_ns]
        };
        assert_eq!(closed([7, 7], false, 2_100), [2_100, 2_100]);
        assert_eq!(closed([7, 6], false, 2_000), [2_100, 2_100]);
        assert_eq!(closed([7, 7], false, 2_099), [2_000, 2_100]);
        assert_eq!(closed([7, 6], true, 2_100), [2_000, 2_000]);
        assert_eq!(closed([7, 6], true, 2_000), [2_000, 2_100]);
    }
}
