//! One direction of a cable: what is on it, and when it comes out.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use ontick_tsn::wire::{GAP, wire_time_ns};

use super::turns::NEVER;
use crate::frame::HEAD;
use crate::passed::Passed;

/// A frame on its way. Of what it carries only the beginning is kept: the rest is filling.
#[derive(Debug, Clone, Copy)]
pub(super) struct Flight {
    /// When whoever is at the other end has it.
    pub arrives_ns: u64,
    pub octets: u16,
    pub head: [u8; HEAD],
}

/// When the first frame on each link is at its far end, or [`NEVER`]. Links that lead to the same node lie side by side: a
/// switch looks at all of its own in each turn.
pub(super) type Arriving = Rc<[Cell<u64>]>;

/// One direction of a cable.
#[derive(Debug)]
pub(super) struct Link {
    /// Where it notes when its first frame arrives.
    arriving: (Arriving, usize),
    /// Of one octet, in 1/1024 ns, where that is exact; else each frame is reckoned by a division.
    rate: u64,
    gap_ns: u64,
    propagation_ns: u64,
    free_ns: u64,
    /// Stretches in which it carries nothing.
    down: Vec<(u64, u64)>,
    flights: VecDeque<Flight>,
    latest_ns: u64,
    /// Frames that were handed to it.
    pub frames: u64,
    /// Frames that it lost as it was down.
    pub lost: u64,
    /// Frames that begin before this time are kept to be drawn.
    pub trace_until_ns: u64,
    pub passed: Vec<Passed>,
}

pub(super) type Shared = Rc<RefCell<Link>>;

impl Link {
    pub fn new(rate: u64, propagation_ns: u64, arriving: (Arriving, usize)) -> Self {
        Self {
            arriving,
            rate,
            gap_ns: u64::from(GAP) * 8_000_000_000 / rate,
            propagation_ns,
            free_ns: 0,
            down: Vec::new(),
            flights: VecDeque::new(),
            latest_ns: 0,
            frames: 0,
            lost: 0,
            trace_until_ns: 0,
            passed: Vec::new(),
        }
    }

    /// It carries nothing in this stretch.
    pub fn interrupt(&mut self, from_ns: u64, until_ns: u64) {
        self.down.push((from_ns, until_ns));
    }

    /// When it is through with all that was handed to it.
    pub fn free_ns(&self) -> u64 {
        self.free_ns
    }

    /// How long a frame takes, with the gap behind it.
    #[inline]
    pub fn time_ns(&self, octets: u16) -> u64 {
        if self.rate == 1_000_000_000 {
            return 8
                * (u64::from(octets).max(u64::from(ontick_tsn::wire::SHORTEST))
                    + u64::from(ontick_tsn::wire::OVERHEAD));
        }
        wire_time_ns(octets.into(), self.rate)
    }

    /// Takes a frame, which leaves when those before it have left; at the far end it takes `ingress_ns` more. Returns when
    /// it is there, unless the link loses it.
    #[inline]
    pub fn transmit(&mut self, now_ns: u64, octets: u16, head: &[u8; HEAD], ingress_ns: u64) -> Option<u64> {
        let begin_ns = self.free_ns.max(now_ns);
        self.free_ns = begin_ns + self.time_ns(octets);
        let end_ns = self.free_ns - self.gap_ns;
        self.frames += 1;
        if begin_ns < self.trace_until_ns {
            let stream = crate::frame::read(head).map(|frame| frame.stream);
            let stream = stream.filter(|stream| *stream != crate::frame::BEST_EFFORT);
            self.passed.push(Passed { stream, begin_ns, end_ns });
        }
        let there_ns = end_ns + self.propagation_ns;
        if !self.down.is_empty() && self.down.iter().any(|(from, until)| begin_ns < *until && *from < there_ns) {
            self.lost += 1;
            return None;
        }
        let arrives_ns = (there_ns + ingress_ns).max(self.latest_ns);
        self.latest_ns = arrives_ns;
        if self.flights.is_empty() {
            self.note(arrives_ns);
        }
        self.flights.push_back(Flight { arrives_ns, octets, head: *head });
        Some(arrives_ns)
    }

    /// Takes the first frame off.
    #[inline]
    pub fn take(&mut self) -> Option<Flight> {
        let first = self.flights.pop_front();
        self.note(self.flights.front().map_or(NEVER, |next| next.arrives_ns));
        first
    }

    #[inline]
    fn note(&self, arrives_ns: u64) {
        let (arriving, place) = &self.arriving;
        arriving[*place].set(arrives_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A link, and what it notes.
    fn link(rate: u64, propagation_ns: u64) -> (Link, Arriving) {
        let arriving: Arriving = Rc::new([Cell::new(NEVER)]);
        (Link::new(rate, propagation_ns, (arriving.clone(), 0)), arriving)
    }

    #[test]
    fn when_the_first_frame_arrives_is_noted() {
        let (mut link, arriving) = link(1_000_000_000, 50);
        let all: Vec<u64> = (0..3).filter_map(|_| link.transmit(1_000, 60, &[0; HEAD], 0)).collect();
        for arrives_ns in all {
            assert_eq!(arriving[0].get(), arrives_ns);
            assert_eq!(link.take().map(|flight| flight.arrives_ns), Some(arrives_ns));
        }
        assert_eq!((arriving[0].get(), link.take().is_none()), (NEVER, true));
    }

    #[test]
    fn frames_follow_each_other_with_a_gap() {
        let (mut link, _) = link(1_000_000_000, 50);
        // 64 octets with the check sequence and 8 of the preamble take 576 ns, the gap 96.
        assert_eq!(link.transmit(1_000, 60, &[0; HEAD], 0), Some(1_000 + 576 + 50));
        assert_eq!(link.transmit(1_000, 60, &[0; HEAD], 7), Some(1_000 + 672 + 576 + 50 + 7));
        assert_eq!(link.free_ns(), 1_000 + 2 * 672);
        let (mut slow, _) = self::link(100_000_000, 0);
        assert_eq!(slow.transmit(0, 60, &[0; HEAD], 0), Some(5_760));
    }

    #[test]
    fn a_frame_that_is_on_a_cable_when_it_is_cut_is_lost() {
        let (mut link, _) = link(1_000_000_000, 1_000);
        link.interrupt(10_000, 20_000);
        assert!(link.transmit(8_000, 60, &[0; HEAD], 0).is_some());
        assert!(link.transmit(9_000, 60, &[0; HEAD], 0).is_none(), "its last bit is not there yet");
        assert!(link.transmit(19_999, 60, &[0; HEAD], 0).is_none());
        assert!(link.transmit(20_000, 60, &[0; HEAD], 0).is_some());
        assert_eq!((link.frames, link.lost), (4, 2));
    }
}
