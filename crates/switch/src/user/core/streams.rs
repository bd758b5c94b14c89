//! Streams: which one a frame belongs to, and what becomes of it: elimination of what came by another path (IEEE
//! 802.1CB-2017), filtering and policing (IEEE 802.1Q-2022 clause 8.6.5.2), and replication.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod meter;
mod r_tag;
mod recovery;

use std::sync::Arc;

use ontick_tsn::frame::Header;
use ontick_tsn::model::{Entry, Stream};
use ontick_tsn::schedule::Schedule;
use ontick_tsn::wire;

use crate::user::address_table::AddressTable;
use crate::user::counters::StreamCounters;
use crate::user::entries::Ports;
use crate::user::gate::Gates;
use meter::Meter;
use recovery::{Recovery, Verdict};

/// The gate of a stream is the one of queue 0.
const OPEN: u16 = 1;

/// All streams of a switch.
pub struct Streams {
    /// The first of those to an address.
    first: AddressTable<u16>,
    filters: Vec<Filter>,
}

/// What becomes of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It goes on with so many octets, by these ports where its stream names them.
    Passes(usize, Option<Ports>),
    /// It is larger, more or at another time than its stream may be.
    Policed,
    /// It came by another path before, or has no number.
    Eliminated,
    /// With a redundancy tag there is no room for it.
    TooLong,
}

/// What is done with the frames of one stream.
struct Filter {
    counters: Arc<StreamCounters>,
    /// The same stream, where it was there before.
    before: Option<Before>,
    vlan: Option<u16>,
    from: Option<[u8; 6]>,
    ingress: Ports,
    max_sdu: u32,
    gate: Option<Gates>,
    meter: Option<Meter>,
    recovery: Option<Recovery>,
    /// Ports that each frame leaves by.
    replicate: Option<Ports>,
    /// Number of the next frame that has none.
    number: u16,
    /// The next stream to the same address.
    next: Option<u16>,
}

/// A stream as it was before the streams were changed.
struct Before {
    /// Its place among those of then.
    place: u16,
    /// Whether its gate has the same list.
    has_gate: bool,
}

impl Streams {
    /// Nothing where there are none. Gates that begin with the next second begin at second 0. Counters are in the same order.
    pub(super) fn of(streams: &[Stream], counters: &[Arc<StreamCounters>], seed: u64) -> Option<Box<Self>> {
        if streams.is_empty() {
            return None;
        }
        let new = |(stream, counters): (&Stream, &Arc<StreamCounters>)| Filter::new(stream, counters.clone());
        let mut filters: Vec<Filter> = streams.iter().zip(counters).map(new).collect();
        let mut first = AddressTable::new(filters.len(), seed);
        // Of several to one address the first is put in last.
        for (index, stream) in streams.iter().enumerate().rev() {
            filters[index].next = first.get(&stream.to, 0);
            first.insert(&stream.to, None, index as u16);
        }
        Some(Box::new(Self { first, filters }))
    }

    /// Those that are to take the place of others in a core at work, which gives them what goes on.
    /// `begun` are the same with gates that begin at a known time.
    pub fn after(
        before: &[Stream],
        streams: &[Stream],
        begun: &[Stream],
        counters: &[Arc<StreamCounters>],
        seed: u64,
    ) -> Option<Box<Self>> {
        let mut all = Self::of(begun, counters, seed)?;
        for (filter, stream) in all.filters.iter_mut().zip(streams) {
            let same = before.iter().enumerate().find(|(_, old)| old.name == stream.name);
            filter.before = same.map(|(place, old)| Before { place: place as u16, has_gate: old.gate == stream.gate });
        }
        Some(all)
    }

    /// What streams have that were there before goes on in the new ones: the tokens of meters, the numbers of frames, and
    /// lists of gates until another one begins. Nothing is freed here.
    pub(super) fn carry_over(&mut self, old: &mut Self) {
        for filter in &mut self.filters {
            let Some(Before { place, has_gate }) = filter.before.take() else { continue };
            if let Some(old) = old.filters.get_mut(usize::from(place)) {
                filter.carry_over(old, has_gate);
            }
        }
    }

    /// What becomes of a frame that came in on a port and is in the slot. Frames of no stream pass.
    #[inline]
    pub(super) fn receive(
        &mut self,
        port: usize,
        header: &mut Header,
        (slot, octets): (&mut [u8], usize),
        came_ns: impl FnOnce() -> u64,
    ) -> Outcome {
        let Some(index) = self.find(port, header) else { return Outcome::Passes(octets, None) };
        let filter = &mut self.filters[index];
        filter.counters.frames.add(1);
        let came_ns = if filter.is_timed() { came_ns() } else { 0 };
        let Some(octets) = filter.eliminate(header, (&mut *slot, octets), came_ns) else {
            return Outcome::Eliminated;
        };
        if !filter.admits(header, octets, came_ns) {
            return Outcome::Policed;
        }
        filter.replicate(header, (slot, octets))
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

    /// Whether it matters for any of them when frames came.
    pub(super) fn are_timed(&self) -> bool {
        self.filters.iter().any(Filter::is_timed)
    }

    /// It is another time than it was.
    pub(super) fn clock_was_set(&mut self, now_ns: u64) {
        for filter in &mut self.filters {
            if let Some(meter) = &mut filter.meter {
                meter.clock_was_set(now_ns);
            }
            if let Some(gate) = &mut filter.gate {
                gate.forget();
            }
            if let Some(recovery) = &mut filter.recovery {
                recovery.clock_was_set(now_ns);
            }
        }
    }
}

impl Filter {
    fn new(stream: &Stream, counters: Arc<StreamCounters>) -> Self {
        let gate = stream.gate.as_ref().map(|gate| {
            let entry = |open, for_ns| Entry { open: if open { OPEN } else { 0 }, for_ns };
            let entries: Vec<Entry> = gate.entries.iter().map(|of| entry(of.open, of.for_ns)).collect();
            Gates::new(Some(Schedule::new(gate.base.at_second(0), &entries)))
        });
        Self {
            counters,
            before: None,
            vlan: stream.vlan,
            from: stream.from,
            ingress: stream.ingress.as_ref().map_or(Ports::ALL, |ports| ports.iter().collect()),
            max_sdu: stream.max_sdu.unwrap_or(u32::MAX),
            gate,
            meter: stream.meter.as_ref().map(Meter::new),
            recovery: stream.eliminate.as_ref().map(Recovery::new),
            replicate: stream.replicate.as_ref().map(|ports| ports.iter().collect()),
            number: 0,
            next: None,
        }
    }

    fn carry_over(&mut self, old: &mut Self, has_gate: bool) {
        self.number = old.number;
        if let (Some(meter), Some(old)) = (&mut self.meter, &old.meter) {
            meter.take_tokens(old);
        }
        if let (Some(recovery), Some(old)) = (&mut self.recovery, &mut old.recovery) {
            if recovery.is_like(old) {
                std::mem::swap(recovery, old);
            }
        }
        if let (Some(gate), Some(old)) = (&mut self.gate, &mut old.gate) {
            match has_gate {
                true => std::mem::swap(gate, old),
                false => gate.succeed(old),
            }
        }
    }

    /// Whether it matters when frames came.
    #[inline]
    fn is_timed(&self) -> bool {
        self.gate.is_some() || self.meter.is_some() || self.recovery.is_some()
    }

    /// Lets of each number the first frame pass, without its redundancy tag if it needs that no more; how long it is then.
    #[inline]
    fn eliminate(&mut self, header: &mut Header, (slot, octets): (&mut [u8], usize), came_ns: u64) -> Option<usize> {
        let counters = &self.counters;
        let Some(recovery) = &mut self.recovery else { return Some(octets) };
        let Some(number) = header.sequence else {
            counters.tagless.add(1);
            return None;
        };
        if recovery.times_out(came_ns) {
            counters.resets.add(1);
        }
        match recovery.receive(number, came_ns) {
            Verdict::Duplicate => {
                counters.duplicates.add(1);
                return None;
            }
            Verdict::Rogue => {
                counters.rogue.add(1);
                return None;
            }
            Verdict::Accepted { out_of_order, lost } => {
                counters.recovered.add(1);
                counters.out_of_order.add(out_of_order.into());
                counters.lost.add(lost.into());
            }
        }
        if self.replicate.is_some() {
            return Some(octets);
        }
        header.sequence = None;
        Some(r_tag::remove(slot, octets))
    }

    /// Whether a frame is no larger, no more and at no other time than it may be.
    #[inline]
    fn admits(&mut self, header: &Header, octets: usize, came_ns: u64) -> bool {
        let counters = &self.counters;
        if header.sdu(octets) > self.max_sdu {
            counters.over_sdu.add(1);
            return false;
        }
        if self.gate.as_mut().is_some_and(|gate| gate.at(came_ns).open & OPEN == 0) {
            counters.gate_closed.add(1);
            return false;
        }
        let red = |meter: &mut Meter| !meter.is_green(wire::frame_octets(octets as u32), came_ns);
        if self.meter.as_mut().is_some_and(red) {
            counters.red.add(1);
            return false;
        }
        true
    }

    /// Numbers a frame that is to leave by several ports, if it has no number yet.
    #[inline]
    fn replicate(&mut self, header: &mut Header, (slot, octets): (&mut [u8], usize)) -> Outcome {
        let counters = &self.counters;
        if self.replicate.is_none() || header.sequence.is_some() {
            return Outcome::Passes(octets, self.replicate);
        }
        let Some(octets) = r_tag::insert(slot, octets, self.number) else {
            counters.no_room.add(1);
            return Outcome::TooLong;
        };
        header.sequence = Some(self.number);
        self.number = self.number.wrapping_add(1);
        counters.numbered.add(1);
        Outcome::Passes(octets, self.replicate)
    }

    #[inline]
    fn fits(&self, port: usize, header: &Header) -> bool {
        self.vlan.is_none_or(|vlan| vlan == header.tag.map_or(0, |tag| tag.vlan))
            && self.from.is_none_or(|from| from == header.from)
            && self.ingress.contains(port)
    }
}
