//! Streams: which one a frame belongs to, and whether it may come in (per-stream filtering and policing, IEEE 802.1Q-2022
//! clause 8.6.5.2).
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod meter;

use ontick_tsn::frame::Header;
use ontick_tsn::model::{Entry, Stream, Switch};
use ontick_tsn::schedule::Schedule;
use ontick_tsn::wire;

use crate::user::address_table::AddressTable;
use crate::user::counters::StreamCounters;
use crate::user::entries::Ports;
use crate::user::gate::Gates;
use meter::Meter;

/// The gate of a stream is the one of queue 0.
const OPEN: u16 = 1;

/// All streams of a switch.
pub(super) struct Streams {
    /// The first of those to an address.
    first: AddressTable<u16>,
    filters: Vec<Filter>,
}

/// What is asked of the frames of one stream, in this order.
struct Filter {
    vlan: Option<u16>,
    from: Option<[u8; 6]>,
    ingress: Ports,
    max_sdu: u32,
    gate: Option<Gates>,
    meter: Option<Meter>,
    /// The next stream to the same address.
    next: Option<u16>,
}

impl Streams {
    /// Nothing where the switch has none. Gates that begin with the next second begin at second 0.
    pub fn of(switch: &Switch, seed: u64) -> Option<Box<Self>> {
        if switch.streams.is_empty() {
            return None;
        }
        let mut filters: Vec<Filter> = switch.streams.iter().map(Filter::new).collect();
        let mut first = AddressTable::new(filters.len(), seed);
        // Of several to one address the first is put in last.
        for (index, stream) in switch.streams.iter().enumerate().rev() {
            filters[index].next = first.get(&stream.to, 0);
            first.insert(&stream.to, None, index as u16);
        }
        Some(Box::new(Self { first, filters }))
    }

    /// Whether a frame that came in on a port may go on. Frames of no stream may.
    #[inline]
    pub fn admit(
        &mut self,
        port: usize,
        header: &Header,
        octets: usize,
        came_ns: impl FnOnce() -> u64,
        counters: &[StreamCounters],
    ) -> bool {
        let Some(index) = self.find(port, header) else { return true };
        let (filter, Some(counters)) = (&mut self.filters[index], counters.get(index)) else { return true };
        counters.frames.add(1);
        if header.sdu(octets) > filter.max_sdu {
            counters.over_sdu.add(1);
            return false;
        }
        if filter.gate.is_none() && filter.meter.is_none() {
            return true;
        }
        let came_ns = came_ns();
        if filter.gate.as_mut().is_some_and(|gate| gate.at(came_ns).open & OPEN == 0) {
            counters.gate_closed.add(1);
            return false;
        }
        let red = |meter: &mut Meter| !meter.is_green(wire::frame_octets(octets as u32), came_ns);
        if filter.meter.as_mut().is_some_and(red) {
            counters.red.add(1);
            return false;
        }
        true
    }

    /// The first stream, in the order of the file, that a frame belongs to.
    #[inline]
    fn find(&self, port: usize, header: &Header) -> Option<usize> {
        let mut next = self.first.get(&header.to, 0);
        while let Some(index) = next {
            let filter = &self.filters[usize::from(index)];
            if filter.fits(port, header) {
                return Some(index.into());
            }
            next = filter.next;
        }
        None
    }

    /// It is another time than it was.
    pub fn clock_was_set(&mut self, now_ns: u64) {
        for filter in &mut self.filters {
            if let Some(meter) = &mut filter.meter {
                meter.clock_was_set(now_ns);
            }
            if let Some(gate) = &mut filter.gate {
                gate.forget();
            }
        }
    }
}

impl Filter {
    fn new(stream: &Stream) -> Self {
        let gate = stream.gate.as_ref().map(|gate| {
            let entry = |open, for_ns| Entry { open: if open { OPEN } else { 0 }, for_ns };
            let entries: Vec<Entry> = gate.entries.iter().map(|of| entry(of.open, of.for_ns)).collect();
            Gates::new(Some(Schedule::new(gate.base.at_second(0), &entries)))
        });
        Self {
            vlan: stream.vlan,
            from: stream.from,
            ingress: stream.ingress.as_ref().map_or(Ports::ALL, |ports| ports.iter().collect()),
            max_sdu: stream.max_sdu.unwrap_or(u32::MAX),
            gate,
            meter: stream.meter.as_ref().map(Meter::new),
            next: None,
        }
    }

    #[inline]
    fn fits(&self, port: usize, header: &Header) -> bool {
        self.vlan.is_none_or(|vlan| vlan == header.tag.map_or(0, |tag| tag.vlan))
            && self.from.is_none_or(|from| from == header.from)
            && self.ingress.contains(port)
    }
}
