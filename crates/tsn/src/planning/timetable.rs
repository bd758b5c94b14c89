//! What a plan is: when each stream's message is on which link.

use crate::network::{LinkId, Network, StreamId};
use crate::planning::occupancy::Use;

/// A stream's place in time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    /// Whose.
    pub stream: StreamId,
    /// The queue, and priority code point, of its frames on every port.
    pub queue: u8,
    /// Whether it waits in switches, and does not run through.
    pub waits: bool,
    /// Its links, each behind the one that it comes from.
    pub hops: Vec<PlacedHop>,
}

/// One link of a placed stream. Times count from the beginning of its period, and may lie beyond its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlacedHop {
    /// The link.
    pub link: LinkId,
    /// The hop before, by its place in [`Placed::hops`].
    pub before: Option<usize>,
    /// From when on the first frame may be in the queue, in ns: before the period's beginning where clocks differ by so much.
    pub arrives_ns: i64,
    /// When the gate opens for it.
    pub begin_ns: u64,
    /// When the gate closes: the last bit has left, and the gap behind it is over.
    pub end_ns: u64,
    /// When the last bit is at the other end, if a listener is there.
    pub delivered_ns: Option<u64>,
}

impl Placed {
    /// When the talker begins, from the beginning of each period, in ns.
    pub fn offset_ns(&self) -> u64 {
        self.hops[0].begin_ns
    }

    /// From the beginning of a period until the last listener has the last bit, in ns.
    pub fn latency_ns(&self) -> u64 {
        self.hops.iter().filter_map(|hop| hop.delivered_ns).max().unwrap_or(0)
    }

    /// Its uses of links, in a period in which none of their times is before its beginning.
    pub fn uses(&self, network: &Network) -> impl Iterator<Item = (LinkId, Use)> {
        let (stream, queue, waits) = (self.stream, self.queue, self.waits);
        let period_ns = network.streams[stream].period_ns;
        self.hops.iter().map(move |hop| {
            let earlier_ns = hop.earlier_ns(period_ns);
            let arrives_ns = earlier_ns.saturating_add_signed(hop.arrives_ns);
            let [begin_ns, end_ns] = [hop.begin_ns, hop.end_ns].map(|at_ns| at_ns + earlier_ns);
            // Who runs through has the link from the moment at which it may be there: no other queue's checks needed.
            let from_ns = if waits { begin_ns } else { arrives_ns };
            (hop.link, Use { stream, period_ns, queue, arrives_ns, from_ns, end_ns })
        })
    }
}

impl PlacedHop {
    /// Whole periods by which all of its times have to be later so that none is before the beginning of a period.
    fn earlier_ns(&self, period_ns: u64) -> u64 {
        self.arrives_ns.min(0).unsigned_abs().next_multiple_of(period_ns)
    }
}

/// The places of all streams, or of those that have one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Timetable {
    /// By stream.
    pub placed: Vec<Option<Placed>>,
}

impl Timetable {
    /// Streams that have none.
    pub fn missing(&self) -> impl Iterator<Item = StreamId> {
        self.placed.iter().enumerate().filter(|(_, placed)| placed.is_none()).map(|(stream, _)| stream)
    }
}
