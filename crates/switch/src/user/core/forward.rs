//! Frames in: which way each goes, of which class it is, and whether it may wait there.

use super::Core;
use super::crossing::Classified;
use super::streams::Outcome;
use crate::loops;
use crate::user::entries::Ports;
use crate::user::pool::SLOT;
use crate::user::port::{Port, Received};
use crate::user::ptp::Event;
use crate::user::queue::Waiting;
use crate::user::table::Learning;
use crate::user::time::Time;
use ontick_tsn::frame::Header;

/// The cost of handing over is doubted so often at most, in ns.
const DOUBT_NS: u64 = 1_000_000;

impl<P: Port, T: Time> Core<'_, P, T> {
    /// Takes one frame in, if one is there; whether one was.
    #[inline]
    pub(super) fn receive(&mut self, index: usize) -> bool {
        let Some(port) = &mut self.outlets[index].port else { return false };
        let slot = self.pool.get_mut(self.spare);
        match port.receive(slot) {
            Received::Nothing => return false,
            Received::Frame(octets) => self.forward(index, octets),
            Received::Oversized => self.counters.ports[index].oversized.add(1),
        }
        true
    }

    /// The frame in the spare slot came in on this port.
    #[inline]
    fn forward(&mut self, from: usize, octets: usize) {
        let (slot, now_ns) = (self.spare, self.seen_ns);
        let counters = self.counters;
        let seen = &counters.ports[from];
        seen.received.add(1);
        seen.octets.add(octets as u64);
        let Some(mut header) = Header::read(&self.pool.get(slot)[..octets.min(SLOT)]) else {
            return seen.malformed.add(1);
        };
        if header.ether_type == loops::ETHER_TYPE {
            if let Some(out_of) = self.prober.port_of(&self.pool.get(slot)[..octets]) {
                // One that comes back to its own port was reflected there, which makes no loop of this switch.
                let last = from.max(usize::from(out_of));
                return match counters.ports.get(last) {
                    Some(loops) if usize::from(out_of) != from => loops.looped.add_shared(1),
                    _ => seen.filtered.add(1),
                };
            }
        }
        if self.outlets[from].closed {
            return seen.closed.add(1);
        }
        // No station has an address of zeros: learned, it would draw what others send to it by mistake.
        if is_group(&header.from) || header.from == [0; 6] {
            return seen.malformed.add(1);
        }
        if header.reserved().is_some_and(|address| !self.forwarded.contains(address)) {
            return seen.reserved.add(1);
        }
        let floods = self.flood.contains(from);
        if self.learning && floods {
            match self.table.learn(&header.from, from as u16, now_ns) {
                Learning::Known | Learning::New => {}
                Learning::Moved => counters.addresses_moved.add_shared(1),
                Learning::NoPlace => counters.addresses_without_place.add_shared(1),
            }
        }
        let (mut octets, mut split) = (octets, None);
        if let Some(streams) = &mut self.streams {
            let port = &self.outlets[from].port;
            let came_ns = || self.time.now_ns().saturating_sub(port.as_ref().map_or(0, P::age_ns));
            let frame = (self.pool.get_mut(slot), octets);
            match streams.receive(from, &mut header, frame, came_ns) {
                Outcome::Passes(length, ports) => (octets, split) = (length, ports),
                Outcome::Policed => return seen.policed.add(1),
                Outcome::Eliminated => return seen.eliminated.add(1),
                Outcome::TooLong => return seen.oversized.add(1),
            }
        }
        let queue = usize::from(self.rules.queue(&header));
        let mut frame = Classified { from, queue, octets, sdu: header.sdu(octets), event: None, arrival_ns: now_ns };
        if self.transparent_clock {
            self.stamp(from, &mut frame);
        }
        if let Some(ports) = split {
            return self.send_to(ports, from, frame);
        }
        let vlan = header.tag.map_or(0, |tag| tag.vlan);
        if let Some(ports) = self.entries.ports(&header.to, vlan) {
            return self.send_to(ports, from, frame);
        }
        if !floods {
            return seen.no_entry.add(1);
        }
        let known = if is_group(&header.to) { None } else { self.table.port(&header.to, now_ns) };
        match known {
            Some(port) if usize::from(port) == from => seen.filtered.add(1),
            Some(port) => self.enqueue(usize::from(port), frame),
            None => {
                if !is_group(&header.to) {
                    seen.flooded.add(1);
                }
                self.send_to(self.flood, from, frame);
            }
        }
    }

    /// Notes what of PTP is in the frame in the spare slot, and when it came in rather than when it was taken in.
    fn stamp(&mut self, from: usize, frame: &mut Classified) {
        frame.event = Event::find(&self.pool.get(self.spare)[..frame.octets]);
        if let (Some(_), Some(port)) = (frame.event, &self.outlets[from].port) {
            frame.arrival_ns = self.time.now_ns().saturating_sub(port.age_ns());
        }
    }

    /// Puts the frame into the queues of these ports, but for the one that it came from.
    fn send_to(&mut self, ports: Ports, from: usize, frame: Classified) {
        let mut others = ports.among(self.all, from).into_iter();
        let Some(mut to) = others.next() else {
            return self.counters.ports[from].filtered.add(1);
        };
        // The frame itself goes last.
        for next in others {
            self.enqueue_copy(to, frame);
            to = next;
        }
        self.enqueue(to, frame);
    }

    /// Puts a copy of the frame in the spare slot into its queue, in a slot of its own.
    fn enqueue_copy(&mut self, to: usize, frame: Classified) {
        let original = self.spare;
        let Some(copy) = self.pool.take() else {
            return self.counters.ports[to].queues[frame.queue].full.add(1);
        };
        self.pool.copy(original, copy, frame.octets);
        self.spare = copy;
        self.enqueue(to, frame);
        // What was not taken is still there, or a new spare one is.
        self.pool.give(self.spare);
        self.spare = original;
    }

    /// Puts the frame in the spare slot into its queue, or drops it; afterwards the spare slot is free.
    #[inline]
    pub(super) fn enqueue(&mut self, to: usize, frame: Classified) {
        let (outlet, queue) = (&mut self.outlets[to], frame.queue);
        let counters = &self.counters.ports[to].queues[queue];
        if !outlet.up {
            return self.hand_on(to, frame);
        }
        if frame.sdu > outlet.max_sdu[queue] {
            return counters.over_sdu.add(1);
        }
        if !outlet.has_window(queue, frame.octets, self.handing_over.ns()) {
            // Where none is seen, or a talker whose frames fit no window would talk down what all others' are reckoned with.
            if self.seen_ns >= self.doubt_due_ns && outlet.may_have_window(queue, frame.octets) {
                self.doubt_due_ns = self.seen_ns + DOUBT_NS;
                self.handing_over.doubt();
                outlet.spread_ns = self.handing_over.deviation_ns();
            }
            return counters.no_window.add(1);
        }
        // The new spare slot comes first: without one nothing more could come in.
        if outlet.queues[queue].is_full() {
            return counters.full.add(1);
        }
        let Some(spare) = self.pool.take() else {
            return counters.full.add(1);
        };
        if let Some(credits) = &mut outlet.credits {
            if outlet.queues[queue].is_empty() {
                credits.first_comes(queue, self.seen_ns, &outlet.gates);
            }
        }
        let slot = std::mem::replace(&mut self.spare, spare);
        let (octets, Classified { event, arrival_ns, .. }) = (frame.octets as u16, frame);
        let waiting = Waiting { slot, octets, event, arrival_ns };
        if outlet.queues[queue].push(waiting).is_err() {
            unreachable!("there was room");
        }
        outlet.waiting |= 1 << queue;
        self.waiting.set(to, true);
        counters.queued.add(1);
        let waiting = outlet.queues[queue].len() as u64;
        counters.waiting.set(waiting);
        counters.peak.raise(waiting);
    }
}

fn is_group(address: &[u8; 6]) -> bool {
    address[0] & 1 != 0
}
