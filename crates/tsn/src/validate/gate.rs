//! The gates of one port, as they are open and shut.

use super::schedule::Window;

/// Of a port (IEEE 802.1Q-2022 clause 8.6.6).
pub(super) const QUEUES: usize = 8;

/// A port's windows, by queue.
#[derive(Debug, Clone, Default)]
pub(super) struct Gates {
    cycle_ns: u64,
    /// Of each queue, in order; windows that touch are one.
    open: Vec<Vec<(u64, u64)>>,
    /// Of each queue, how long its gate is open at most without closing.
    longest: Vec<u64>,
}

impl Gates {
    /// Of one link; none where it has no windows.
    pub(super) fn new<'a>(windows: impl Iterator<Item = &'a Window>) -> Option<Self> {
        let mut gates = Gates { cycle_ns: 0, open: vec![Vec::new(); QUEUES], longest: Vec::new() };
        for window in windows {
            gates.cycle_ns = window.cycle_ns;
            let end = window.end_ns.min(window.cycle_ns);
            if window.begin_ns < end {
                gates.open[usize::from(window.queue).min(QUEUES - 1)].push((window.begin_ns, end));
            }
        }
        if gates.cycle_ns == 0 {
            return None;
        }
        for open in &mut gates.open {
            open.sort_unstable();
            open.dedup_by(|next, last| {
                let touches = next.0 <= last.1;
                if touches {
                    last.1 = last.1.max(next.1);
                }
                touches
            });
        }
        gates.longest = (0..QUEUES).map(|queue| gates.longest_of(queue)).collect();
        Some(gates)
    }

    fn longest_of(&self, queue: usize) -> u64 {
        match self.open[queue].as_slice() {
            [always] if *always == (0, self.cycle_ns) => u64::MAX / 2,
            _ => self.of_queue(queue).map(|(begin_ns, end_ns)| end_ns - begin_ns).max().unwrap_or(0),
        }
    }

    /// Until when a queue's gate is open; nothing where it is shut.
    pub(super) fn open_until(&self, queue: u8, now_ns: u64) -> Option<u64> {
        let open = &self.open[usize::from(queue)];
        let at = now_ns % self.cycle_ns;
        let place = open.partition_point(|(begin, _)| *begin <= at).checked_sub(1)?;
        let mut end = open[place].1;
        if at >= end {
            return None;
        }
        // A window up to the end of the cycle goes on in the next one.
        if end == self.cycle_ns && open[0].0 == 0 {
            end = if open.len() == 1 && open[0].1 == self.cycle_ns { u64::MAX / 2 } else { end + open[0].1 };
        }
        Some(now_ns - at + end)
    }

    /// Since when a queue's gate is open; by this very time where it is shut.
    pub(super) fn open_since(&self, queue: u8, now_ns: u64) -> u64 {
        let open = &self.open[usize::from(queue)];
        let at = now_ns % self.cycle_ns;
        let place = open.partition_point(|(begin, _)| *begin <= at).checked_sub(1);
        let Some(&(begin, end)) = place.map(|place| &open[place]).filter(|(_, end)| at < *end) else { return now_ns };
        let last = open[open.len() - 1];
        let since = match begin == 0 && last.1 == self.cycle_ns {
            true if end == self.cycle_ns => return 0,
            // It opened in the cycle before.
            true => now_ns.checked_sub(at + self.cycle_ns - last.0),
            false => Some(now_ns - at + begin),
        };
        since.unwrap_or(0)
    }

    /// All windows, as queue, begin and end; one that goes on over the end of the cycle is one.
    pub(super) fn windows(&self) -> impl Iterator<Item = (u8, u64, u64)> {
        let of = move |queue| self.of_queue(queue).map(move |(begin_ns, end_ns)| (queue as u8, begin_ns, end_ns));
        (0..self.open.len()).flat_map(of)
    }

    fn of_queue(&self, queue: usize) -> impl Iterator<Item = (u64, u64)> {
        let (open, cycle_ns) = (&self.open[queue], self.cycle_ns);
        let around = open.len() > 1 && open[0].0 == 0 && open[open.len() - 1].1 == cycle_ns;
        let first = open.first().map_or(0, |first| first.1);
        open.iter().skip(usize::from(around)).map(move |&(begin_ns, end_ns)| {
            let more_ns = if around && end_ns == cycle_ns { first } else { 0 };
            (begin_ns, end_ns + more_ns)
        })
    }

    /// When it opens next for as long as a frame takes. A frame that no window is long enough for waits for none: to look
    /// again at each of them would have no end.
    pub(super) fn opens_after(&self, queue: u8, now_ns: u64, length_ns: u64) -> Option<u64> {
        if length_ns > self.longest[usize::from(queue)] {
            return None;
        }
        let open = &self.open[usize::from(queue)];
        let at = now_ns % self.cycle_ns;
        let later = open.partition_point(|(begin, _)| *begin <= at);
        let turns = open[later..].iter().map(|(begin, _)| *begin);
        let next = turns.chain(open[..later].iter().map(|(begin, _)| begin + self.cycle_ns));
        let mut fitting = next
            .map(|begin| now_ns - at + begin)
            .filter(|begin| self.open_until(queue, *begin).is_some_and(|end| end - begin >= length_ns));
        fitting.next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_that_touch_are_one_also_around_the_cycle() {
        let window = |begin_ns, end_ns| Window { link: 0, queue: 3, begin_ns, end_ns, cycle_ns: 100 };
        let windows = [window(80, 100), window(0, 10), window(40, 50), window(50, 55)];
        let gates = Gates::new(windows.iter()).unwrap();
        assert_eq!(gates.open_until(3, 285), Some(310));
        assert_eq!(gates.open_until(3, 305), Some(310));
        assert_eq!(gates.open_until(3, 310), None);
        assert_eq!(gates.open_until(3, 345), Some(355));
        assert_eq!(gates.opens_after(3, 310, 15), Some(340));
        assert_eq!(gates.opens_after(3, 310, 16), Some(380));
        assert_eq!(gates.opens_after(3, 310, 31), None);
        assert_eq!(gates.opens_after(3, 381, 10), Some(400));
        assert_eq!([345, 285, 305, 5, 315].map(|at| gates.open_since(3, at)), [340, 280, 280, 0, 315]);
        assert_eq!(gates.open_until(2, 345), None);
        assert_eq!(gates.opens_after(2, 345, 1), None);
        assert_eq!(gates.windows().collect::<Vec<_>>(), [(3, 40, 55), (3, 80, 110)]);
    }
}
