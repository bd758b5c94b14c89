//! The time that a station's plan follows.

use std::io;

use ontick_rt::clock::{Clock, ClockId, sleep_for};
use ontick_rt::wait::Hybrid;
use ontick_switch::user::time::Distance;

use super::following::Following;

/// No stretch longer than this is spun before a message, in ns.
const LONGEST_MARGIN_NS: u64 = 200_000;

/// A clock by which a talker waits.
pub trait Time {
    /// Now, in ns.
    fn now_ns(&mut self) -> u64;

    /// Waits until a time and says when that was, in ns. A time in the past is over at once.
    fn until(&mut self, at_ns: u64) -> u64;

    /// Leaves the CPU to others for about so long, in ns.
    fn rest(&mut self, ns: u64);

    /// Whether the clock was set since this was last asked.
    fn was_set(&mut self) -> bool;
}

/// TAI, read from the processor's counter, waited for by a sleep and a spin.
#[derive(Debug)]
pub struct StationTime {
    monotonic: Clock,
    wait: Hybrid,
    distance: Distance,
    known_ns: i64,
}

impl StationTime {
    /// The machine's TAI, and who looks whether it is set, as long as that lives.
    pub fn tai() -> io::Result<(Self, Following)> {
        let distance = Distance::of(ClockId::Tai);
        let following = Following::start(distance.clone())?;
        let wait = Hybrid::with_duty(LONGEST_MARGIN_NS, 1.0);
        let known_ns = distance.ns();
        Ok((Self { monotonic: Clock::new(ClockId::Monotonic), wait, distance, known_ns }, following))
    }

    /// How long before a message it wakes up, as it has learned so far, in ns.
    pub fn margin_ns(&self) -> u64 {
        ontick_rt::wait::Wait::margin_ns(&self.wait).unwrap_or(0)
    }
}

impl Time for StationTime {
    #[inline]
    fn now_ns(&mut self) -> u64 {
        self.monotonic.now_ns().wrapping_add_signed(self.known_ns)
    }

    #[inline]
    fn until(&mut self, at_ns: u64) -> u64 {
        let at_ns = at_ns.saturating_add_signed(self.known_ns.saturating_neg());
        self.wait.within(&mut self.monotonic, at_ns).wrapping_add_signed(self.known_ns)
    }

    fn rest(&mut self, ns: u64) {
        sleep_for(ns);
        self.monotonic.resync();
    }

    #[inline]
    fn was_set(&mut self) -> bool {
        let now_ns = self.distance.ns();
        std::mem::replace(&mut self.known_ns, now_ns) != now_ns
    }
}
