//! Gaps between windows that are shorter than any entry of a gate control list may be.

use crate::validate::{Schedule, Window};

/// Has each window last until the next where the gap is too short for an entry of its own: no other gate is opened for it,
/// and what may leave in it is of the window's queue.
pub fn close_short_gaps(schedule: &mut Schedule, shortest_ns: u64) {
    for windows in schedule.windows.chunk_by_mut(|a, b| a.link == b.link) {
        for n in 0..windows.len() {
            let Window { end_ns, cycle_ns, .. } = windows[n];
            let next_ns = windows.get(n + 1).map_or(cycle_ns, |next| next.begin_ns);
            if next_ns > end_ns && next_ns - end_ns < shortest_ns {
                windows[n].end_ns = next_ns;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        close_short_gaps(&mut schedule, 672);
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
}
