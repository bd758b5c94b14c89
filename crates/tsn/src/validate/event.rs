//! What happens when, in order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::network::LinkId;

/// One frame of one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Frame {
    pub(super) stream: u32,
    /// The how-manieth message of the stream.
    pub(super) message: u32,
    pub(super) part: u16,
}

/// Something that happens. At one time ports act before new frames come: what could leave has left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Event {
    /// A period of a stream begins, with this message.
    Period(u32, u32),
    /// A port may have something to send.
    Port(LinkId),
    /// A frame comes into the queue of a port.
    Queued(LinkId, Frame),
    /// A frame's last bit is at a node.
    Delivered(LinkId, Frame),
}

/// Events to come.
#[derive(Debug, Default)]
pub(super) struct Events {
    heap: BinaryHeap<Reverse<(u64, Event)>>,
}

impl Events {
    pub(super) fn at(&mut self, time_ns: u64, event: Event) {
        self.heap.push(Reverse((time_ns, event)));
    }

    /// How many are to come.
    pub(super) fn len(&self) -> usize {
        self.heap.len()
    }

    pub(super) fn next(&mut self) -> Option<(u64, Event)> {
        self.heap.pop().map(|Reverse(next)| next)
    }
}
