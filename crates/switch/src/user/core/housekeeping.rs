//! What the core does now and then: commands, clocks that were set, frames that cannot leave any more.

use ontick_tsn::frame::Header;
use ontick_tsn::model::CLASSES;

use super::attempts::Attempts;
use super::{Command, Core, Discarded};
use crate::user::port::{Port, Sent};
use crate::user::time::Time;

/// How many frames found no room is asked for every so many times.
pub(super) const OVERFLOW: i32 = 32;
/// Asking all ports takes less than this, in ns.
const ASKING_NS: u64 = 10_000;

impl<P: Port, T: Time> Core<'_, P, T> {
    /// Commands, a clock that was set, and frames that cannot leave any more: what [`run`](Self::run) does after a number of
    /// turns.
    #[cold]
    pub fn housekeeping(&mut self) {
        if self.time.was_set() {
            self.counters.clock_steps.add_shared(1);
            let now_ns = self.time.now_ns();
            self.outlets.iter_mut().for_each(|outlet| {
                if let Some(credits) = &mut outlet.credits {
                    credits.clock_was_set(now_ns);
                }
                outlet.gates.forget();
                outlet.free_ns = 0;
                outlet.attempts = Attempts::new();
            });
            if let Some(streams) = &mut self.streams {
                streams.clock_was_set(now_ns);
            }
            self.table.clock_was_set(now_ns);
            self.doubt_due_ns = 0;
            self.seen_ns = self.time.now_ns();
        }
        // A system call for each port, which must not be what an opening gate waits for.
        self.overflow_due -= 1;
        if self.overflow_due <= 0 && !self.edge_within(ASKING_NS, usize::MAX) {
            self.count_overflow();
        }
        self.drop_stuck();
        // Only as much as can be given back.
        while self.channels.discarded.slots() > 1 {
            let Ok(command) = self.channels.commands.pop() else { break };
            self.handle_command(command);
        }
        if !self.probes_due.is_empty() && !self.edge_within(ASKING_NS, usize::MAX) {
            self.send_probes();
        }
    }

    /// Sends a probe out of each port that owes one, once the gate of its class is open for it.
    fn send_probes(&mut self) {
        let handing_over_ns = self.handing_over.ns();
        for index in self.probes_due {
            let outlet = &mut self.outlets[index];
            let probe = self.prober.frame(index as u16);
            let queue = Header::read(&probe).map_or(0, |header| usize::from(self.rules.queue(&header)));
            let begun_ns = self.time.now_ns();
            if outlet.up && !outlet.may_send_beside(queue, probe.len(), begun_ns, handing_over_ns) {
                continue;
            }
            self.probes_due.set(index, false);
            let Some(port) = outlet.port.as_mut().filter(|_| outlet.up) else { continue };
            // One that is not sent is followed by another.
            if port.send(&probe) == Sent::Done {
                outlet.sent(probe.len(), begun_ns, self.time.now_ns(), 0);
            }
        }
        self.seen_ns = self.time.now_ns();
    }

    pub(super) fn count_overflow(&mut self) {
        self.overflow_due = OVERFLOW;
        for (outlet, counters) in self.outlets.iter_mut().zip(&self.counters.ports) {
            if let Some(port) = &mut outlet.port {
                counters.overflowed.add(port.overflowed());
            }
        }
    }

    /// Frames for which handing over has become too slow, or whose list of gates has changed, would wait for ever.
    fn drop_stuck(&mut self) {
        let handing_over_ns = self.handing_over.ns();
        for index in self.waiting {
            let (outlet, counters) = (&mut self.outlets[index], &self.counters.ports[index]);
            for (queue, counters) in counters.queues.iter().enumerate() {
                while let Some(first) = outlet.queues[queue].first() {
                    if outlet.has_window(queue, usize::from(first.octets), handing_over_ns) {
                        break;
                    }
                    outlet.take_first(queue);
                    counters.waiting.set(outlet.queues[queue].len() as u64);
                    self.pool.give(first.slot);
                    counters.no_window.add(1);
                    counters.no_window_waited.add(1);
                }
            }
            self.waiting.set(index, outlet.waiting != 0);
        }
    }

    fn handle_command(&mut self, command: Command<P>) {
        let discarded = match command {
            Command::Gates(index, schedule) => {
                let old = self.outlets.get_mut(index).map(|at| at.gates.change(schedule));
                self.bursts = self.allows_bursts();
                old.filter(|lists| lists.iter().any(Option::is_some)).map(Discarded::Schedules)
            }
            Command::Sizes(index, max_sdu) => {
                if let Some(outlet) = self.outlets.get_mut(index) {
                    outlet.max_sdu = max_sdu;
                }
                None
            }
            Command::IdleSlopes(index, credits) => {
                let old = self.outlets.get_mut(index).and_then(|outlet| outlet.reshape(credits, self.seen_ns));
                self.bursts = self.allows_bursts();
                old.map(Discarded::Credits)
            }
            // Between two frames: each is held to the streams of before or to these.
            Command::Streams(mut streams) => {
                if let (Some(new), Some(old)) = (&mut streams, &mut self.streams) {
                    new.carry_over(old);
                }
                let old = std::mem::replace(&mut self.streams, streams);
                self.bursts = self.allows_bursts();
                old.map(Discarded::Streams)
            }
            // Of all ports before any of them is looked at again: none is open while another is closed.
            Command::Force(forced) => {
                self.outlets.iter_mut().for_each(|outlet| outlet.gates.force(forced));
                None
            }
            Command::Link(index, up) => {
                self.link(index, up);
                None
            }
            Command::Close(index, closed) => {
                if let Some(outlet) = self.outlets.get_mut(index) {
                    outlet.closed = closed;
                }
                self.link(index, !closed);
                None
            }
            Command::Rate(index, rate) => {
                if let Some(outlet) = self.outlets.get_mut(index) {
                    outlet.set_rate(rate);
                }
                None
            }
            Command::Ahead(index, ns) => {
                if let Some(outlet) = self.outlets.get_mut(index) {
                    outlet.ahead_ns = ns;
                }
                None
            }
            Command::Probe => {
                self.prober.next_round();
                self.probes_due = self.all;
                None
            }
            Command::Replace(index, port, rate) => {
                self.link(index, port.is_some());
                let outlet = self.outlets.get_mut(index);
                outlet
                    .and_then(|outlet| {
                        outlet.set_rate(rate);
                        outlet.closed = false;
                        std::mem::replace(&mut outlet.port, port)
                    })
                    .map(Discarded::Port)
            }
        };
        if let Some(discarded) = discarded {
            // There is room: it was looked for before.
            let _ = self.channels.discarded.push(discarded);
        }
    }

    /// A link that went down takes what waited for it along, and who was behind it may be elsewhere.
    fn link(&mut self, index: usize, up: bool) {
        let Some(outlet) = self.outlets.get_mut(index) else { return };
        outlet.up = up;
        outlet.attempts = Attempts::new();
        if up {
            return;
        }
        self.table.forget(index as u16);
        for queue in 0..CLASSES {
            while let Some(waiting) = outlet.queues[queue].pop() {
                self.pool.give(waiting.slot);
                self.counters.ports[index].queues[queue].down.add(1);
                self.counters.ports[index].queues[queue].down_waited.add(1);
            }
            self.counters.ports[index].queues[queue].waiting.set(0);
        }
        outlet.waiting = 0;
        self.waiting.set(index, false);
    }
}
