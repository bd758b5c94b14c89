//! When the core has something to do by itself: for who drives it by events, and not by turns without end.

use super::Core;
use super::transmit::EARLY_NS;
use crate::user::port::Port;
use crate::user::time::Time;
use ontick_tsn::schedule::NEVER;

/// After a frame was not taken: a look again, in ns.
const AGAIN_NS: u64 = 50;

impl<P: Port, T: Time> Core<'_, P, T> {
    /// The time on the switch's clock at which a turn may find something to do, if no frame comes in before; a turn before
    /// it finds nothing. [`NEVER`] where no frame waits.
    pub fn due_ns(&mut self) -> u64 {
        let (now_ns, handing_over_ns) = (self.seen_ns, self.handing_over.ns());
        let due = |outlet: &mut super::EgressPort<P>| {
            let early_ns = handing_over_ns + EARLY_NS;
            if outlet.free_ns > now_ns + early_ns {
                return outlet.free_ns - early_ns;
            }
            match outlet.next(now_ns, handing_over_ns) {
                // Unless another port's opening goes before it, which is so for a moment only.
                Some(_) => now_ns,
                None if outlet.attempts.pausing(now_ns) != 0 => now_ns + AGAIN_NS,
                None => outlet.moves_ns(now_ns),
            }
        };
        self.waiting.into_iter().map(|index| due(&mut self.outlets[index])).min().unwrap_or(NEVER)
    }
}
