//! Frames that a port does not take although its link is there: tried again for a while, then given up.
//!
//! A driver whose queue is full says the same as one whose far end takes no frame of this length. Meanwhile other
//! classes go on, and once a length was given up, frames as long wait no more until one of them is taken.

use crate::model::CLASSES;

/// A frame that was not taken for so long is given up, in ns.
const PATIENCE_NS: u64 = 50_000_000;
/// Between two attempts at one frame, in ns; others may go meanwhile.
const PAUSE_NS: u64 = 5_000;

/// What is known of the frames that stand first in their queues and were not taken.
#[derive(Debug)]
pub(super) struct Attempts {
    /// Queues of such frames, one bit for each.
    refused: u8,
    since_ns: [u64; CLASSES],
    again_ns: [u64; CLASSES],
    /// A frame of so many octets was given up, and none as long was taken since.
    given_up: usize,
}

impl Attempts {
    pub fn new() -> Self {
        Self { refused: 0, since_ns: [0; CLASSES], again_ns: [0; CLASSES], given_up: usize::MAX }
    }

    /// Queues whose first frame is not tried at the moment, one bit for each.
    #[inline]
    pub fn pausing(&self, now_ns: u64) -> u8 {
        if self.refused == 0 { 0 } else { self.pausing_of(now_ns) }
    }

    #[cold]
    fn pausing_of(&self, now_ns: u64) -> u8 {
        let pauses = |queue: &usize| self.refused & (1 << queue) != 0 && now_ns < self.again_ns[*queue];
        (0..CLASSES).filter(pauses).fold(0, |queues, queue| queues | 1 << queue)
    }

    /// The first frame of a queue was not taken: whether it is to be given up.
    #[cold]
    pub fn refused(&mut self, queue: usize, octets: usize, now_ns: u64) -> bool {
        if self.refused & (1 << queue) == 0 {
            self.refused |= 1 << queue;
            self.since_ns[queue] = now_ns;
        }
        self.again_ns[queue] = now_ns + PAUSE_NS;
        let long_enough = now_ns - self.since_ns[queue].min(now_ns) >= PATIENCE_NS;
        if long_enough {
            self.given_up = self.given_up.min(octets);
        }
        long_enough || octets >= self.given_up
    }

    /// A frame was taken.
    #[inline]
    pub fn taken(&mut self, octets: usize) {
        if octets >= self.given_up {
            self.given_up = usize::MAX;
        }
    }

    /// Another frame stands first in this queue.
    #[inline]
    pub fn next(&mut self, queue: usize) {
        self.refused &= !(1 << queue);
    }
}
