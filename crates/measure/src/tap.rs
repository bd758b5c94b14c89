//! Every sample of a timed thread, handed on one by one to whoever asked for them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use rtrb::{Consumer, Producer, RingBuffer};

/// What a timed thread saw of one cycle.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Observed {
    /// Number of the cycle in its series, from 0; those that were missed count.
    pub cycle: u64,
    /// When it was due, in ns on the monotonic clock.
    pub due_ns: u64,
    /// How late the thread was, in ns; 0 where it was early.
    pub latency_ns: u64,
}

/// The timed thread's end: it neither allocates nor waits.
#[derive(Debug)]
pub(crate) struct Tap {
    ring: Producer<Observed>,
    /// How many found no room, of all taps that share it.
    lost: Arc<AtomicU64>,
}

impl Tap {
    /// Room for so many, which are in memory from the beginning. Those that find none are counted in `lost`.
    pub fn with_room(room: usize, lost: Arc<AtomicU64>) -> (Self, Consumer<Observed>) {
        let (mut ring, mut taken) = RingBuffer::new(room);
        // The timed thread would else fault in every page of it.
        while ring.push(Observed::default()).is_ok() {}
        while taken.pop().is_ok() {}
        (Self { ring, lost }, taken)
    }

    /// Hands one on.
    #[inline]
    pub fn push(&mut self, observed: Observed) {
        if self.ring.push(observed).is_err() {
            self.lost.fetch_add(1, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_finds_no_room_is_counted_and_the_others_come_in_order() {
        let lost = Arc::new(AtomicU64::new(0));
        let (mut tap, mut taken) = Tap::with_room(3, lost.clone());
        let observed = |cycle| Observed { cycle, due_ns: 10 * cycle, latency_ns: 7 };
        (0..5).for_each(|cycle| tap.push(observed(cycle)));
        assert_eq!((taken.pop(), lost.load(Relaxed)), (Ok(observed(0)), 2));
        tap.push(observed(5));
        let rest: Vec<u64> = std::iter::from_fn(|| taken.pop().ok()).map(|observed| observed.cycle).collect();
        assert_eq!((rest, lost.load(Relaxed)), (vec![1, 2, 5], 2));
    }
}
