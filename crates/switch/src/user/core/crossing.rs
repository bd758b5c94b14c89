//! The way of frames from the core of the port that they came in by to that of the port that they leave by.
//!
//! Frames go in boxes, and the boxes come back: nothing is allocated, and the boxes of one way are of no other.

use ontick_rt::rtrb::{Consumer, Producer, RingBuffer};

use crate::user::pool::SLOT;
use crate::user::ptp::Event;

/// Frames that may be on one way: as many as come within some 0.3 ms, in which a core may rest.
const FRAMES: usize = 512;

/// A frame and where it is to wait.
#[derive(Clone, Copy)]
pub(super) struct Classified {
    /// The port that it came in by.
    pub from: usize,
    pub queue: usize,
    pub octets: usize,
    pub sdu: u32,
    pub event: Option<Event>,
    pub arrival_ns: u64,
}

/// One frame for a port of another core.
struct Crossing {
    to: usize,
    frame: Classified,
    octets: [u8; SLOT],
}

/// Where frames for another core go.
pub struct Outgoing {
    full: Producer<Box<Crossing>>,
    empty: Consumer<Box<Crossing>>,
}

/// Where frames from another core come.
pub struct Incoming {
    full: Consumer<Box<Crossing>>,
    empty: Producer<Box<Crossing>>,
}

/// One way.
pub fn crossing() -> (Outgoing, Incoming) {
    let (full, coming) = RingBuffer::new(FRAMES);
    let (mut back, empty) = RingBuffer::new(FRAMES);
    let none = Classified { from: 0, queue: 0, octets: 0, sdu: 0, event: None, arrival_ns: 0 };
    for _ in 0..FRAMES {
        // Written once, so that no page of it is missing later.
        let octets = std::hint::black_box([0; SLOT]);
        let _ = back.push(Box::new(Crossing { to: 0, frame: none, octets }));
    }
    (Outgoing { full, empty }, Incoming { full: coming, empty: back })
}

impl Outgoing {
    /// Sends a copy of a frame to the core of a port; whether there was room.
    #[inline]
    pub(super) fn send(&mut self, to: usize, frame: Classified, octets: &[u8]) -> bool {
        let Ok(mut sent) = self.empty.pop() else { return false };
        (sent.to, sent.frame) = (to, frame);
        sent.octets[..octets.len()].copy_from_slice(octets);
        // As many boxes as there are have room.
        self.full.push(sent).is_ok()
    }
}

impl Incoming {
    /// Puts the next frame into the slot: for which port, and as what.
    #[inline]
    pub(super) fn take(&mut self, slot: &mut [u8]) -> Option<(usize, Classified)> {
        let came = self.full.pop().ok()?;
        let (to, frame) = (came.to, came.frame);
        slot[..frame.octets].copy_from_slice(&came.octets[..frame.octets]);
        // As many boxes as there are have room.
        let _ = self.empty.push(came);
        Some((to, frame))
    }
}
