//! Frames that a port does not take although its link is there: tried again for a while, then given up.
//!
//! A driver whose queue is full says the same as one whose far end takes no frame of this length. Meanwhile other
//! classes go on, and once a length was given up, frames as long wait no more until one of them is taken.

use ontick_tsn::model::CLASSES;

/// A frame that was not taken for so long is given up, in ns.
const PATIENCE_NS: u64 = 50_000_000;
/// Between two attempts at one frame, in ns; others may go meanwhile.
const PAUSE_NS: u64 = 5_000;

/// What is known of the frames that stand first in their queues and were not taken.
#[derive(Debug)]
pub(super) struct Attempts {
    /// Queues of such frames, one bit for each.
    refused: u16,
    since_ns: [u64; CLASSES],
    again_ns: [u64; CLASSES],
    /// A frame of so many octets was given up, and none as long was taken since.
    given_up: usize,
    /// Of several that were handed over together not all were taken: the next one alone will show why.
    alone: bool,
}

impl Attempts {
    pub fn new() -> Self {
        Self { refused: 0, since_ns: [0; CLASSES], again_ns: [0; CLASSES], given_up: usize::MAX, alone: false }
    }

    /// Whether others may be handed over together with the first one.
    #[inline]
    pub fn all_taken(&self) -> bool {
        self.refused == 0 && !self.alone
    }

    /// Of several that were handed over together not all were taken.
    #[cold]
    pub fn some_refused(&mut self) {
        self.alone = true;
    }

    /// Queues whose first frame is not tried at the moment, one bit for each.
    #[inline]
    pub fn pausing(&self, now_ns: u64) -> u16 {
        if self.refused == 0 { 0 } else { self.pausing_of(now_ns) }
    }

    #[cold]
    fn pausing_of(&self, now_ns: u64) -> u16 {
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
        self.alone = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEGAN_NS: u64 = 1_000_000_000;

    #[test]
    fn a_frame_that_is_not_taken_pauses_its_own_queue_alone() {
        let mut attempts = Attempts::new();
        assert_eq!(attempts.pausing(BEGAN_NS), 0);
        assert!(!attempts.refused(3, 100, BEGAN_NS));
        assert!(!attempts.refused(0, 100, BEGAN_NS + 1_000));
        let pausing = [0, PAUSE_NS - 1, PAUSE_NS, PAUSE_NS + 1_000].map(|later| attempts.pausing(BEGAN_NS + later));
        assert_eq!(pausing, [0b1001, 0b1001, 0b0001, 0]);
    }

    #[test]
    fn another_frame_in_its_place_is_tried_at_once_and_has_its_own_patience() {
        let mut attempts = Attempts::new();
        assert!(!attempts.refused(3, 100, BEGAN_NS) && !attempts.refused(5, 100, BEGAN_NS));
        attempts.next(3);
        assert_eq!(attempts.pausing(BEGAN_NS), 1 << 5);
        let late_ns = BEGAN_NS + PATIENCE_NS - 1;
        assert!(!attempts.refused(3, 100, late_ns) && !attempts.refused(5, 100, late_ns));
        assert!(!attempts.refused(3, 90, late_ns + 1), "the one of this queue came later");
        assert!(attempts.refused(5, 100, late_ns + 1));
    }

    #[test]
    fn frames_as_long_as_one_that_was_given_up_wait_no_more_until_one_is_taken() {
        let mut attempts = Attempts::new();
        for (octets, began_ns) in [(1_000, BEGAN_NS), (1_200, 2 * BEGAN_NS)] {
            attempts.refused(0, octets, began_ns);
            assert!(attempts.refused(0, octets, began_ns + PATIENCE_NS));
            attempts.next(0);
        }
        let now_ns = 3 * BEGAN_NS;
        let given_up_at_once = |attempts: &mut Attempts| {
            [999, 1_000, 1_500].map(|octets| {
                let gone = attempts.refused(1, octets, now_ns);
                attempts.next(1);
                gone
            })
        };
        assert_eq!(given_up_at_once(&mut attempts), [false, true, true]);
        attempts.taken(999);
        assert_eq!(given_up_at_once(&mut attempts), [false, true, true], "a shorter one says nothing");
        attempts.taken(1_000);
        assert_eq!(given_up_at_once(&mut attempts), [false, false, false]);
    }

    #[test]
    fn behind_one_that_was_not_taken_frames_go_alone_until_another_stands_there() {
        let mut attempts = Attempts::new();
        assert!(attempts.all_taken());
        attempts.some_refused();
        assert!(!attempts.all_taken());
        attempts.refused(3, 100, BEGAN_NS);
        attempts.next(5);
        assert!(!attempts.all_taken(), "the one of the other queue is still there");
        attempts.next(3);
        assert!(attempts.all_taken());
    }

    #[test]
    fn a_clock_that_was_set_back_costs_no_frame() {
        let mut attempts = Attempts::new();
        attempts.refused(2, 100, BEGAN_NS);
        assert!(!attempts.refused(2, 100, BEGAN_NS - PATIENCE_NS));
    }
}
