//! Sleep to a margin before the deadline, then spin.

use super::spin::spin;
use super::{DUTY, Margin, Wait};
use crate::clock::Clock;

/// The margin covers this share of the wake latencies. Beyond it lie the wakes that an interrupt or a
/// hypervisor delayed, which spinning a little longer would seldom have helped.
const QUANTILE: f64 = 0.9995;
/// No margin below this: the clock reads and the way into sleep take that long.
const SHORTEST_NS: u64 = 10_000;

/// Precise like spinning, without occupying the core: the sleep leaves it to others until a margin before
/// the deadline, and the margin follows the wake latencies that this thread sees. Spinning never takes
/// more than the duty's share of a period.
#[derive(Debug, Clone)]
pub struct Hybrid {
    margin: Margin,
    fixed: bool,
    /// Slept in every period in any case, also where the work of the period leaves less than the margin.
    rest_ns: u64,
    spun_ns: u64,
}

impl Hybrid {
    /// For deadlines `period_ns` apart, spinning at most [`DUTY`] of the time.
    pub fn new(period_ns: u64) -> Self {
        Self::with_duty(period_ns, DUTY)
    }

    /// For deadlines `period_ns` apart, spinning at most the share `duty` (0 to 1) of the time.
    pub fn with_duty(period_ns: u64, duty: f64) -> Self {
        let longest_ns = (period_ns as f64 * duty.clamp(0.0, 1.0)) as u64;
        Self {
            margin: Margin::new(QUANTILE, SHORTEST_NS, longest_ns),
            fixed: false,
            rest_ns: period_ns - longest_ns,
            spun_ns: 0,
        }
    }

    /// With a margin that does not learn, in ns.
    pub fn with_margin(margin_ns: u64) -> Self {
        Self { margin: Margin::new(QUANTILE, margin_ns, margin_ns), fixed: true, rest_ns: 0, spun_ns: 0 }
    }
}

impl Wait for Hybrid {
    fn until(&mut self, clock: &mut Clock, deadline_ns: u64) -> u64 {
        let mut awake_ns = clock.now_ns();
        let wake_ns = deadline_ns.saturating_sub(self.margin.ns()).max(awake_ns + self.rest_ns);
        if wake_ns > awake_ns && wake_ns < deadline_ns {
            clock.id().sleep_until(wake_ns);
            awake_ns = clock.resync();
            if !self.fixed {
                self.margin.saw(awake_ns.saturating_sub(wake_ns));
            }
        }
        let now = spin(clock, deadline_ns);
        self.spun_ns += now.saturating_sub(awake_ns);
        now
    }

    fn margin_ns(&self) -> Option<u64> {
        Some(self.margin.ns())
    }

    fn spun_ns(&self) -> Option<u64> {
        Some(self.spun_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::ClockId;

    #[test]
    fn spinning_stays_within_the_duty() {
        let (period_ns, duty) = (1_000_000, 0.5);
        let mut clock = Clock::new(ClockId::Monotonic);
        let mut wait = Hybrid::with_duty(period_ns, duty);
        let begin = clock.now_ns();
        let mut deadline = begin;
        for _ in 0..200 {
            // After a stall the next deadline is set from now: only undisturbed periods are the wait's own.
            deadline = (deadline + period_ns).max(clock.now_ns() + period_ns);
            wait.until(&mut clock, deadline);
        }
        let elapsed = clock.now_ns() - begin;
        assert!(wait.spun_ns().unwrap() as f64 <= elapsed as f64 * duty, "{} of {elapsed}", wait.spun_ns().unwrap());
    }
}
