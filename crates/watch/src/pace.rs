//! When the next block may be measured, so that all of it together costs no more than it may.

use std::time::Duration;

/// A schedule of blocks under a limit of processor time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pace {
    /// Between the beginnings of two rounds, at least.
    pub every: Duration,
    /// The largest share of one CPU that everything may cost, 0 to 1.
    pub duty: f64,
}

impl Pace {
    /// How long to rest before the next round, after one that took `took` on the clock and since whose predecessor this
    /// process used so much processor time.
    pub fn rest(&self, took: Duration, cost: Duration) -> Duration {
        let least = cost.div_f64(self.duty.max(1e-6));
        self.every.max(least).saturating_sub(took)
    }
}

/// Rests that grow while a CPU is used by somebody else.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Backoff {
    refused: u32,
    until_s: u64,
}

/// The first rest, in seconds; each is twice the one before, up to an hour.
const FIRST_S: u64 = 60;
const LONGEST_S: u64 = 3_600;

impl Backoff {
    /// Whether the CPU may be tried at this time, in seconds on a clock that is not set.
    pub fn is_over(&self, now_s: u64) -> bool {
        now_s >= self.until_s
    }

    /// It was in use; whether that is news.
    pub fn refuse(&mut self, now_s: u64) -> bool {
        self.until_s = now_s + (FIRST_S << self.refused.min(6)).min(LONGEST_S);
        self.refused = self.refused.saturating_add(1);
        self.refused == 1
    }

    /// It was free; whether that is news.
    pub fn admit(&mut self) -> bool {
        std::mem::take(self).refused > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    #[test]
    fn what_costs_more_comes_less_often() {
        let pace = Pace { every: MS(10_000), duty: 0.005 };
        assert_eq!(pace.rest(MS(400), MS(10)), MS(9_600));
        assert_eq!(pace.rest(MS(400), MS(100)), MS(19_600));
        assert_eq!(pace.rest(MS(30_000), MS(10)), MS(0));
    }

    #[test]
    fn a_cpu_in_use_is_tried_less_and_less_often() {
        let mut backoff = Backoff::default();
        assert!(backoff.is_over(5) && backoff.refuse(5) && !backoff.is_over(64) && backoff.is_over(65));
        assert!(!backoff.refuse(65), "no news");
        assert!(!backoff.is_over(184) && backoff.is_over(185));
        (0..100).for_each(|_| _ = backoff.refuse(1_000));
        assert!(!backoff.is_over(4_599) && backoff.is_over(4_600));
        assert!(backoff.admit() && !backoff.admit() && backoff.is_over(0));
    }
}
