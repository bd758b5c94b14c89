//! Frames that leave by one port one behind the other and are handed over in one call, which costs less for each.
//!
//! Only on a switch with nothing that counts on the time which a frame spends in it. A frame that comes meanwhile waits
//! until the call is over, and then until the link is free: both together are bounded, for all calls of a turn.

use super::{Core, EgressPort};
use crate::user::port::{MAX_BURST, Port};
use crate::user::queue::Waiting;
use crate::user::time::Time;

/// A frame that comes at the beginning of a turn's calls waits for no longer than this, as a rule, until they are over and
/// the link is free, in ns: hardly longer than behind one of the largest frames at 1 Gbit/s, which takes 12.3 us and its
/// hand-over.
const WAIT_NS: u64 = 15_000;

/// What a port may hand over in one call.
#[derive(Clone, Copy)]
pub(super) struct Share {
    pub frames: usize,
    wait_ns: u64,
}

/// Frames that may go together, each with its queue, in the order in which they go.
pub(super) struct Burst {
    frames: [(usize, Waiting); MAX_BURST],
    count: usize,
}

impl Burst {
    pub fn frames(&self) -> &[(usize, Waiting)] {
        &self.frames[..self.count]
    }
}

impl<P> EgressPort<P> {
    /// Whether frames wait behind the first one of this queue, or in others.
    #[inline]
    pub fn has_more(&self, queue: usize) -> bool {
        self.waiting & !(1 << queue) != 0 || self.queues[queue].len() > 1
    }

    /// Those that may go with the first one, which is at the head of its queue: the highest queues go first.
    pub fn burst(&self, first: (usize, Waiting), share: Share, each_ns: u64) -> Burst {
        let mut burst = Burst { frames: [first; MAX_BURST], count: 0 };
        if !self.attempts.all_taken() {
            return burst;
        }
        let mut wait_ns = 0;
        for queue in (0..=first.0).rev() {
            let mut frames = (0..self.queues[queue].len()).map_while(|before| self.queues[queue].get(before));
            let fits = |frame: Waiting| {
                wait_ns += each_ns + self.pace.time_ns(usize::from(frame.octets));
                let fits = burst.count < share.frames && wait_ns <= share.wait_ns;
                if fits {
                    burst.frames[burst.count] = (queue, frame);
                    burst.count += 1;
                }
                fits
            };
            if !frames.all(fits) {
                break;
            }
        }
        burst
    }
}

impl<P: Port, T: Time> Core<'_, P, T> {
    /// Whether nothing counts on the time that a frame spends in this switch, or in another on the same CPU.
    pub(super) fn allows_bursts(&self) -> bool {
        let is_timed = |outlet: &EgressPort<P>| outlet.gates.has_list() || outlet.credits.is_some();
        let timed_streams = self.streams.as_ref().is_some_and(|streams| streams.are_timed());
        !(self.shares_cpu || self.transparent_clock || timed_streams || self.outlets.iter().any(is_timed))
    }

    /// Other switches have their turns on the same CPU.
    pub(super) fn share_cpu(&mut self) {
        self.shares_cpu = true;
        self.bursts = self.allows_bursts();
    }

    /// What each port may hand over in a turn: those for which frames wait share what is allowed.
    #[inline]
    pub(super) fn share(&self) -> Share {
        let ports = match self.bursts {
            true => self.waiting.len().max(1),
            false => MAX_BURST,
        };
        Share { frames: MAX_BURST / ports, wait_ns: WAIT_NS / ports as u64 }
    }

    /// Takes more frames in, where they come faster than turns, until as many wait as a turn hands over.
    pub(super) fn receive_more(&mut self, mut came: usize) {
        let came_before = std::mem::replace(&mut self.came, came > 0);
        let mut taken_in = came;
        // One slot is the spare one.
        while came_before && came > 0 && taken_in < MAX_BURST && self.pool.taken() <= MAX_BURST {
            came = self.receive_from_each();
            taken_in += came;
        }
    }

    /// Hands several over in one call, in which they leave one after the other. Without gates none is late or overdue.
    pub(super) fn transmit_burst(&mut self, index: usize, burst: &Burst) {
        let (begun_ns, handing_over_ns, each_ns) = (self.seen_ns, self.handing_over.ns(), self.in_burst.ns());
        let outlet = &mut self.outlets[index];
        let Some(port) = &mut outlet.port else { return };
        let count = burst.count;
        let mut frames: [&[u8]; MAX_BURST] = [&[]; MAX_BURST];
        for (frame, (_, waiting)) in frames.iter_mut().zip(burst.frames()) {
            *frame = &self.pool.get(waiting.slot)[..usize::from(waiting.octets)];
        }
        let taken = port.send_burst(&frames[..count]);
        let done_ns = self.time.now_ns();
        let counters = &self.counters.ports[index].queues;
        let took_ns = done_ns.saturating_sub(begun_ns);
        for ((queue, waiting), left) in burst.frames()[..taken].iter().zip(1..) {
            let octets = usize::from(waiting.octets);
            outlet.attempts.taken(octets);
            outlet.sent(octets, begun_ns, begun_ns + took_ns * left / taken as u64, handing_over_ns);
            outlet.take_first(*queue);
            counters[*queue].sent.add(1);
            counters[*queue].octets.add(octets as u64);
            counters[*queue].waiting.set(outlet.queues[*queue].len() as u64);
            self.pool.give(waiting.slot);
        }
        self.waiting.set(index, outlet.waiting != 0);
        if taken == count {
            self.in_burst.follow(took_ns / count as u64);
        } else {
            outlet.attempts.some_refused();
        }
        // The others' part of the call is work, and no stall.
        self.seen_ns = done_ns.min(begun_ns + (count as u64 - 1) * each_ns).max(begun_ns);
        self.look_for_stall(done_ns);
    }
}
