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
mod forward;
mod housekeeping;
mod part;
mod stalls;
mod streams;
mod transmit;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use ontick_rt::ewma::Ewma;

use super::counters::{Counter, Counters};
use super::entries::{Entries, Ports};
use super::pool::{Pool, Slot};
use super::port::Port;
use super::table::Table;
use super::time::Time;
use egress_port::EgressPort;
use part::Others;

pub use command::{Channels, Command, Discarded, PortConfig, Stall};
pub use part::Part;
pub use stalls::STALL_NS;
pub use streams::Streams;

use crate::loops::Prober;
use ontick_tsn::model::{CLASSES, Reserved, Switch};
use ontick_tsn::rules::Rules;
use ontick_tsn::schedule::NEVER;
use ontick_tsn::shaper::PortShaping;
use ontick_tsn::wire;

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

    /// Whether a gate opens within `ns` for frames that wait on another port than this.
    #[inline]
    fn edge_within(&self, ns: u64, except: usize) -> bool {
        let now_ns = self.seen_ns;
        self.waiting.into_iter().any(|index| index != except && self.outlets[index].edge_within(now_ns, ns))
    }
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
