//! The clock of an end, and how it waits by it.

use ontick_rt::clock::{Clock, ClockId, sleep_for};
use ontick_rt::wait::Wait;
use ontick_switch::user::time::Distance;

use super::waiting::Waiting;

/// It is looked so often whether the clock of the stamps was set.
const LOOK: u32 = 256;

/// A clock that deadlines are kept on.
pub trait Timebase {
    /// Now, in ns.
    fn now_ns(&mut self) -> u64;

    /// Waits until a deadline and says when that was, in ns; one in the past is over at once.
    fn until(&mut self, deadline_ns: u64) -> u64;

    /// How long before a deadline a sleep is to end, in ns.
    fn margin_ns(&self) -> u64;

    /// Leaves the CPU to others for about so long, in ns.
    fn rest(&mut self, ns: u64);

    /// The time after a sleep, in ns.
    fn awake_ns(&mut self) -> u64;

    /// A stamp of the kernel's, which is in ns since 1970, on this clock.
    fn of_stamp_ns(&mut self, stamp_ns: u64) -> u64;
}

/// The monotonic clock, read from the processor's counter.
pub struct Monotonic {
    clock: Clock,
    wait: Box<dyn Wait + Send>,
    distance: Distance,
    stamps: u32,
}

impl Monotonic {
    /// For deadlines that are so far apart.
    pub fn new(waiting: Waiting, period_ns: u64) -> Self {
        let clock = Clock::new(ClockId::Monotonic);
        Self { clock, wait: waiting.for_deadlines(period_ns), distance: Distance::of(ClockId::Realtime), stamps: 0 }
    }

    /// The clock that times are read from.
    pub fn clock(&mut self) -> &mut Clock {
        &mut self.clock
    }

    /// The clock and its source, in words.
    pub fn name(&self) -> String {
        self.clock.name()
    }

    /// The margin before deadlines, as it was learned, in ns; none where it does not spin.
    pub fn margin(&self) -> Option<u64> {
        self.wait.margin_ns()
    }
}

impl Timebase for Monotonic {
    #[inline]
    fn now_ns(&mut self) -> u64 {
        self.clock.now_ns()
    }

    #[inline]
    fn until(&mut self, deadline_ns: u64) -> u64 {
        self.wait.until(&mut self.clock, deadline_ns)
    }

    fn margin_ns(&self) -> u64 {
        self.wait.margin_ns().unwrap_or(0)
    }

    fn rest(&mut self, ns: u64) {
        sleep_for(ns);
        self.clock.resync();
    }

    #[inline]
    fn awake_ns(&mut self) -> u64 {
        self.clock.resync()
    }

    #[inline]
    fn of_stamp_ns(&mut self, stamp_ns: u64) -> u64 {
        self.stamps = self.stamps.wrapping_add(1);
        if self.stamps % LOOK == 0 {
            self.distance.follow();
        }
        stamp_ns.saturating_add_signed(self.distance.ns().saturating_neg())
    }
}
