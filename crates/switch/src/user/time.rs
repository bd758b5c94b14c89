//! The switch's clock, read from the processor's counter.
//!
//! The kernel slews all its clocks alike, so the distance of TAI from the monotonic clock changes only when somebody
//! sets the clock, or the offset of TAI from UTC. Someone else than the core looks after it.

use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::sync::atomic::Ordering::Relaxed;

use ontick_rt::clock::{Clock, ClockId};

/// The clock that gates follow.
pub trait Time {
    /// Now, in ns.
    fn now_ns(&mut self) -> u64;

    /// Whether the clock was set since this was last asked.
    fn was_set(&mut self) -> bool {
        false
    }
}

/// The distance is believed to have changed when it differs by more than it can be read wrongly, in ns.
const STEP_NS: i64 = 1_000;
/// Readings of which the tightest counts.
const READINGS: usize = 16;

/// How far a clock is from the monotonic one.
#[derive(Debug, Clone)]
pub struct Distance {
    clock: ClockId,
    ns: Arc<AtomicI64>,
}

impl Distance {
    /// As it is now.
    pub fn of(clock: ClockId) -> Self {
        Self { clock, ns: Arc::new(AtomicI64::new(read(clock))) }
    }

    /// Looks whether the clock was set; by how much, in ns.
    pub fn follow(&self) -> Option<i64> {
        let (known, now) = (self.ns.load(Relaxed), read(self.clock));
        if (now - known).abs() <= STEP_NS {
            return None;
        }
        self.ns.store(now, Relaxed);
        Some(now - known)
    }

    /// The distance, in ns.
    pub fn ns(&self) -> i64 {
        self.ns.load(Relaxed)
    }
}

/// The difference of both clocks at one moment.
fn read(clock: ClockId) -> i64 {
    let once = |_| {
        let before = ClockId::Monotonic.now_ns();
        let there = clock.now_ns();
        let after = ClockId::Monotonic.now_ns();
        (after - before, there as i64 - before.midpoint(after) as i64)
    };
    (0..READINGS).map(once).min_by_key(|(width, _)| *width).map_or(0, |(_, distance)| distance)
}

/// The core's own reading of the clock.
pub struct SwitchClock {
    monotonic: Clock,
    distance: Distance,
    known_ns: i64,
}

impl SwitchClock {
    /// Follows this distance.
    pub fn new(distance: Distance) -> Self {
        Self { monotonic: Clock::new(ClockId::Monotonic), known_ns: distance.ns(), distance }
    }
}

impl Time for SwitchClock {
    #[inline]
    fn now_ns(&mut self) -> u64 {
        self.monotonic.now_ns().wrapping_add_signed(self.known_ns)
    }

    fn was_set(&mut self) -> bool {
        let now_ns = self.distance.ns();
        std::mem::replace(&mut self.known_ns, now_ns) != now_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_was_set_is_noticed_once() {
        let distance = Distance::of(ClockId::Tai);
        let mut clock = SwitchClock::new(distance.clone());
        assert_eq!((distance.follow(), clock.was_set()), (None, false));
        let right = distance.ns();
        distance.ns.store(right - 5_000_000_000, Relaxed);
        assert!(clock.was_set() && !clock.was_set());
        let step = distance.follow().unwrap();
        assert!((step - 5_000_000_000).abs() <= STEP_NS);
        assert!(clock.was_set() && !clock.was_set());
    }
}
