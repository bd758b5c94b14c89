//! Frames out: when the next one of a port goes, and what came of handing it over.

use super::burst::Share;
use super::stalls::{STALL_NS, report};
use super::{Core, Stall};
use crate::user::port::{Port, Sent};
use crate::user::time::Time;

/// What handing over costs is not doubted for so long after it was seen, in ns.
const SEEN_NS: u64 = 10_000_000;
/// Just before a gate opens for frames that wait, nothing else is begun that takes longer than what is left: at most
/// so much is given away for it, in ns.
const QUIET_NS: u64 = 2_500;
/// A frame is handed over so much before the link is through with those before it, in ns: a little late would leave the
/// link idle.
pub(super) const EARLY_NS: u64 = 200;

impl<P: Port, T: Time> Core<'_, P, T> {
    /// Hands one frame over, or as many as its share allows, if the link is free and one may go.
    #[inline]
    pub(super) fn transmit(&mut self, index: usize, share: Share) {
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
}
