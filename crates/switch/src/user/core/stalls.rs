//! Time in which the core did not work: because it was kept from it, or because it rested.

use ontick_rt::rtrb::Producer;

use super::{Core, Stall};
use crate::user::counters::Counters;
use crate::user::port::Port;
use crate::user::rest::LATE_NS;
use crate::user::time::Time;

/// The core was kept from its work when it notices that so much time has passed, in ns: less than the largest frame takes
/// at 1 Gbit/s (12.3 us), so that whatever carries one past its gate is known.
pub const STALL_NS: u64 = 10_000;

impl<P: Port, T: Time> Core<'_, P, T> {
    #[inline]
    pub(super) fn look_for_stall(&mut self, now_ns: u64) {
        let away_ns = now_ns.saturating_sub(self.seen_ns);
        if away_ns > STALL_NS {
            self.stalled(Stall { from_ns: self.seen_ns, until_ns: now_ns });
        }
        self.seen_ns = now_ns;
    }

    #[cold]
    fn stalled(&mut self, stall: Stall) {
        let length_ns = stall.until_ns - stall.from_ns;
        self.counters.stalls.add_shared(1);
        self.counters.stalled_ns.add_shared(length_ns);
        self.counters.longest_stall_ns.raise_shared(length_ns);
        report(&mut self.channels.stalls, self.counters, stall);
    }

    /// It slept on purpose, for so long or up to [`LATE_NS`] more; from there on it was kept from its work. Returns the
    /// time.
    pub fn rested(&mut self, asked_ns: u64) -> u64 {
        let (until_ns, now_ns) = (self.seen_ns + asked_ns, self.time.now_ns());
        let late_ns = now_ns.saturating_sub(until_ns);
        self.counters.rests.add_shared(1);
        if late_ns > LATE_NS {
            self.counters.rested_ns.add_shared(asked_ns);
            self.stalled(Stall { from_ns: until_ns, until_ns: now_ns });
        } else {
            self.counters.rested_ns.add_shared(now_ns.saturating_sub(self.seen_ns));
        }
        self.seen_ns = now_ns;
        now_ns
    }

    /// As [`Self::rested`], by a sleep of its own: shaped classes lose nothing by that, though debts were not waited for.
    pub fn slept(&mut self, asked_ns: u64) -> u64 {
        let from_ns = self.seen_ns;
        let now_ns = self.rested(asked_ns);
        let until_ns = now_ns.min(from_ns + asked_ns + LATE_NS);
        self.outlets.iter_mut().for_each(|outlet| outlet.slept(from_ns, until_ns));
        now_ns
    }
}

/// Notes a stall for whoever asks for them.
pub(super) fn report(stalls: &mut Producer<Stall>, counters: &Counters, stall: Stall) {
    if stalls.push(stall).is_err() {
        counters.stalls_unreported.add_shared(1);
    }
}
