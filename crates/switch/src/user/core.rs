//! The core: takes frames in, finds their way and their class, and lets them out while their gates are open.
//!
//! It never waits, allocates or takes a lock. A frame is handed over only if, by the rate of the link, it ends before
//! its gate closes; among open gates the highest queue with such a frame goes first.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod attempts;
mod burst;
mod command;
mod crossing;
mod due;
mod egress_port;
mod housekeeping;
mod part;
mod stalls;
mod streams;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use ontick_rt::ewma::Ewma;

use super::counters::{Counter, Counters};
use super::entries::{Entries, Ports};
use super::pool::{Pool, SLOT, Slot};
use super::port::{Port, Received, Sent};
use super::ptp::Event;
use super::queue::Waiting;
use super::table::{Learning, Table};
use super::time::Time;
use burst::Share;
use crossing::Classified;
use egress_port::EgressPort;
use part::Others;
use stalls::report;
use streams::Outcome;

pub use command::{Channels, Command, Discarded, PortConfig, Stall};
pub use part::Part;
pub use stalls::STALL_NS;
pub use streams::Streams;

use crate::loops::{self, Prober};
use ontick_tsn::frame::Header;
use ontick_tsn::model::{CLASSES, Reserved, Switch};
use ontick_tsn::rules::Rules;
use ontick_tsn::schedule::NEVER;
use ontick_tsn::shaper::PortShaping;
use ontick_tsn::wire;

/// The cost of handing over is doubted so often at most, in ns, and not for so long after one was seen.
const DOUBT_NS: u64 = 1_000_000;
const SEEN_NS: u64 = 10_000_000;
/// Just before a gate opens for frames that wait, nothing else is begun that takes longer than what is left: at most
/// so much is given away for it, in ns.
const QUIET_NS: u64 = 2_500;
/// A frame is handed over so much before the link is through with those before it, in ns: a little late would leave the
/// link idle.
const EARLY_NS: u64 = 200;
/// Taking a frame in takes less than this, in ns.
const TAKING_IN_NS: u64 = 400;
/// What handing over is taken for until it was seen, in ns.
const HANDING_OVER_NS: u64 = 2_000;
/// Octets that the processor fetches at once.
const CACHE_LINE: usize = 64;
/// Commands are looked for, and signs of life given, every so many turns.
const SELDOM: u64 = 1024;

/// The data plane.
pub struct Core<'c, P, T> {
    outlets: Vec<EgressPort<P>>,
    /// All of them.
    all: Ports,
    /// Those for which frames wait. Few do in most turns: the others need no look.
    waiting: Ports,
    rules: Rules,
    /// Of the addresses that no bridge forwards.
    forwarded: Reserved,
    transparent_clock: bool,
    table: Table,
    /// What other cores of the switch do.
    others: Others,
    /// Turns, for whoever sees that it is alive.
    alive: Arc<Counter>,
    entries: Entries,
    learning: bool,
    /// Ports for frames without an entry.
    flood: Ports,
    /// What frames of streams may be; absent where there are none.
    streams: Option<Box<Streams>>,
    pool: Pool,
    /// Where the next frame goes that comes in.
    spare: Slot,
    time: T,
    counters: &'c Counters,
    channels: Channels<P>,
    /// When the core last looked at the clock.
    seen_ns: u64,
    /// What it usually costs to hand a frame over.
    handing_over: Ewma<256>,
    /// Whether several frames may be handed over in one call.
    bursts: bool,
    /// Whether other switches have their turns on the same CPU.
    shares_cpu: bool,
    /// What a frame usually costs in such a call.
    in_burst: Ewma<64>,
    /// Whether frames came in with the last turn.
    came: bool,
    prober: Prober,
    /// Ports that owe a probe.
    probes_due: Ports,
    /// When the cost of handing over may be doubted again.
    doubt_due_ns: u64,
    /// Until ports are asked what found no room.
    overflow_due: i32,
}

impl<'c, P: Port, T: Time> Core<'c, P, T> {
    /// Has all ports. Takes all the memory that it will ever need. Attachments are in the order of the model's ports.
    pub fn new(
        switch: &Switch,
        attachments: Vec<PortConfig<P>>,
        time: T,
        counters: &'c Counters,
        channels: Channels<P>,
        seed: u64,
    ) -> Self {
        Self::of_part(switch, Part::whole(switch, seed), attachments, time, counters, channels, seed)
    }

    /// Has some of the ports; the attachments of others have none.
    pub fn of_part(
        switch: &Switch,
        part: Part,
        attachments: Vec<PortConfig<P>>,
        mut time: T,
        counters: &'c Counters,
        channels: Channels<P>,
        seed: u64,
    ) -> Self {
        let Part { table, prober, others, alive } = part;
        let limits = limits(switch);
        let waiting: u32 = limits.iter().sum();
        let own = (0..attachments.len()).filter(|index| !others.have(*index)).count();
        // Every queue can be full at once, while one more frame comes in.
        let mut pool = Pool::new(waiting * own as u32 + 2);
        let spare = pool.take().expect("there is more than one slot");
        let outlets = attachments.into_iter().enumerate();
        let outlets = outlets.map(|(index, at)| match others.have(index) {
            true => EgressPort::of_another_core(),
            false => {
                let shaping = PortShaping::of(switch, &switch.ports[index]);
                EgressPort::new(at, &limits, max_sdu(switch, index), shaping)
            }
        });
        let outlets: Vec<_> = outlets.collect();
        let mut all = Ports::default();
        (0..outlets.len()).for_each(|index| all.set(index, true));
        let mut core = Self {
            outlets,
            all,
            waiting: Ports::default(),
            rules: Rules::new(&switch.classes),
            forwarded: switch.forward_reserved,
            transparent_clock: switch.transparent_clock,
            table,
            others,
            alive,
            entries: Entries::new(&switch.forwarding.entries, seed),
            learning: switch.forwarding.learning,
            flood: switch.forwarding.flood.as_ref().map_or(Ports::ALL, |ports| ports.iter().collect()),
            streams: Streams::of(&switch.streams, &counters.streams.all(), seed),
            pool,
            spare,
            seen_ns: time.now_ns(),
            time,
            counters,
            channels,
            handing_over: Ewma::from(HANDING_OVER_NS),
            bursts: false,
            shares_cpu: false,
            in_burst: Ewma::from(HANDING_OVER_NS),
            came: false,
            prober,
            probes_due: Ports::default(),
            doubt_due_ns: 0,
            overflow_due: housekeeping::OVERFLOW,
        };
        core.bursts = core.allows_bursts();
        core
    }

    /// Works until it is asked to stop, all of these by turns; `between` turns somebody may let them sleep.
    pub fn run(cores: &mut [Self], stop: &AtomicBool, mut between: impl FnMut(&mut [Self])) {
        if cores.len() > 1 {
            cores.iter_mut().for_each(Self::share_cpu);
        }
        let mut turns = 0u64;
        while !stop.load(Relaxed) {
            cores.iter_mut().for_each(Self::turn);
            between(cores);
            turns += 1;
            if turns % SELDOM == 0 {
                for core in &mut *cores {
                    core.alive.add(SELDOM);
                    core.counters.turns.add_shared(SELDOM);
                    core.housekeeping();
                }
            }
        }
        cores.iter_mut().for_each(Self::count_overflow);
    }

    /// Looks at every port once.
    #[inline]
    pub fn turn(&mut self) {
        debug_assert!((0..self.outlets.len()).all(|of| self.waiting.contains(of) == (self.outlets[of].waiting != 0)));
        let now_ns = self.time.now_ns();
        self.look_for_stall(now_ns);
        let share = self.share();
        for index in self.waiting {
            self.transmit(index, share);
        }
        if self.edge_within(TAKING_IN_NS, usize::MAX) {
            return self.prefetch();
        }
        let came = self.receive_from_each();
        if self.bursts {
            self.receive_more(came);
        }
    }

    /// Takes one frame in from each port and each other core that has one; how many.
    #[inline]
    fn receive_from_each(&mut self) -> usize {
        let came = (0..self.outlets.len()).filter(|index| self.receive(*index)).count();
        came + (0..self.others.count()).filter(|core| self.take_over(*core)).count()
    }

    /// How long until the core has something to do at a certain time: a gate that moves, with or without frames
    /// behind it.
    pub fn quiet_until_ns(&mut self) -> u64 {
        let now_ns = self.seen_ns;
        self.outlets.iter_mut().map(|outlet| outlet.gate_moves_ns(now_ns)).min().unwrap_or(NEVER)
    }

    /// Just before a gate opens: brings the frame that will go first close to the processor.
    fn prefetch(&mut self) {
        for index in self.waiting {
            let Some(first) = self.outlets[index].opening() else { continue };
            let octets = &self.pool.get(first.slot)[..usize::from(first.octets)];
            std::hint::black_box(octets.iter().step_by(CACHE_LINE).fold(0, |sum, octet| sum ^ octet));
        }
    }

    /// When the core last looked at the clock, in ns.
    #[inline]
    pub fn seen_ns(&self) -> u64 {
        self.seen_ns
    }

    /// Whether any frame waits.
    pub fn is_idle(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Takes one frame in, if one is there; whether one was.
    #[inline]
    fn receive(&mut self, index: usize) -> bool {
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
    fn enqueue(&mut self, to: usize, frame: Classified) {
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

    /// Hands one frame over, or as many as its share allows, if the link is free and one may go.
    #[inline]
    fn transmit(&mut self, index: usize, share: Share) {
        let (now_ns, handing_over_ns) = (self.seen_ns, self.handing_over.ns());
        let outlet = &mut self.outlets[index];
        if outlet.waiting == 0 || outlet.free_ns > now_ns + handing_over_ns + EARLY_NS {
            return;
        }
        let Some((queue, closes_ns)) = outlet.next(now_ns, handing_over_ns) else { return };
        if self.edge_within(handing_over_ns.min(QUIET_NS), index) {
            return;
        }
        let outlet = &mut self.outlets[index];
        let Some(first) = outlet.queues[queue].first() else { return };
        if share.frames > 1 && outlet.has_more(queue) {
            let burst = outlet.burst((queue, first), share, self.in_burst.ns());
            if burst.frames().len() > 1 {
                return self.transmit_burst(index, &burst);
            }
        }
        let octets = usize::from(first.octets);
        let mut correction = None;
        if let Some(event) = first.event {
            let in_ns = outlet.leaves_ns(now_ns, handing_over_ns).saturating_sub(first.arrival_ns) as i64;
            event.correct(self.pool.get_mut(first.slot), in_ns);
            correction = Some((event, in_ns));
        }
        let Some(port) = &mut outlet.port else { return };
        let sent = port.send(&self.pool.get(first.slot)[..octets]);
        let done_ns = self.time.now_ns();
        if let (Sent::Busy, Some((event, in_ns))) = (sent, correction) {
            event.correct(self.pool.get_mut(first.slot), -in_ns);
        }
        let counters = &self.counters.ports[index].queues[queue];
        match sent {
            Sent::Busy if !outlet.attempts.refused(queue, octets, now_ns) => return self.look_for_stall(done_ns),
            Sent::Done => {
                outlet.attempts.taken(octets);
                counters.sent.add(1);
                counters.octets.add(octets as u64);
                let ends_ns = outlet.sent(octets, now_ns, done_ns, handing_over_ns);
                outlet.charge(queue, octets);
                if ends_ns > closes_ns {
                    counters.late.add(1);
                    // Longer than that it is looked for below.
                    if done_ns.saturating_sub(now_ns) <= STALL_NS {
                        let slow = Stall { from_ns: now_ns, until_ns: done_ns };
                        report(&mut self.channels.stalls, self.counters, slow);
                    }
                }
                let waited_ns = now_ns.saturating_sub(first.arrival_ns);
                // Of a shaped class frames wait for the shaper, too.
                if waited_ns >= outlet.gates.cycle_ns() && !outlet.shapes(queue) {
                    counters.overdue.add(1);
                }
                self.handing_over.follow(done_ns.saturating_sub(now_ns));
                self.doubt_due_ns = done_ns + SEEN_NS;
                if self.bursts {
                    self.in_burst.follow(done_ns.saturating_sub(now_ns));
                }
                outlet.spread_ns = self.handing_over.deviation_ns();
            }
            Sent::Down => {
                counters.down.add(1);
                counters.down_waited.add(1);
            }
            Sent::Busy | Sent::Refused => {
                counters.refused.add(1);
                self.counters.ports[index].refused_octets.set(octets as u64);
            }
        }
        outlet.take_first(queue);
        self.waiting.set(index, outlet.waiting != 0);
        counters.waiting.set(outlet.queues[queue].len() as u64);
        self.pool.give(first.slot);
        self.look_for_stall(done_ns);
    }

    /// Whether a gate opens within `ns` for frames that wait on another port than this.
    #[inline]
    fn edge_within(&self, ns: u64, except: usize) -> bool {
        let now_ns = self.seen_ns;
        self.waiting.into_iter().any(|index| index != except && self.outlets[index].edge_within(now_ns, ns))
    }
}

fn is_group(address: &[u8; 6]) -> bool {
    address[0] & 1 != 0
}

/// Frames that may wait in each queue of a port. Queues that no class has are never used.
fn limits(switch: &Switch) -> [u32; CLASSES] {
    let mut limits = [1; CLASSES];
    for class in &switch.classes {
        limits[usize::from(class.queue)] = class.limit.max(1);
    }
    limits
}

/// Octets of data that a frame of each queue of a port has at most.
pub(super) fn max_sdu(switch: &Switch, port: usize) -> [u32; CLASSES] {
    let mut max_sdu = [u32::MAX; CLASSES];
    for (class, given) in switch.classes.iter().zip(&switch.ports[port].max_sdu) {
        max_sdu[usize::from(class.queue)] = given.unwrap_or(wire::LARGEST_SDU);
    }
    max_sdu
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, clippy::disallowed_types)]
mod tests;
