//! Whether frames keep to the idle slope of a credit-based shaper (IEEE 802.1Q-2022 clause 8.6.8.2).
//!
//! A class whose credit is at its upper bound sends frames until it is in debt, and from there on at its idle slope. So since
//! any moment there were never more bits than hiCredit, the slope times the time for which the gate was open, and a frame:
//! a leaky bucket of that depth never overflows. As for a meter, a frame that does not fit is not poured in: one that was
//! held up makes one of those behind it too early, and not all.

use ontick_tsn::schedule::Schedule;

/// Of a bit.
const BILLION: u64 = 1_000_000_000;

/// What a class is held to.
#[derive(Debug, Clone)]
pub struct Limit {
    /// The gates between which the credit stands still, with their guard bands; nothing where all are always open.
    pub gates: Option<Schedule>,
    /// The class's queue.
    pub queue: usize,
    /// Bits per second over whole cycles (operIdleSlope).
    pub oper_slope: u64,
    /// Bits per second while the gate is open.
    pub idle_slope: u64,
    /// Bits that may come beyond the slope: hiCredit, a frame, and what stamps cannot tell.
    pub burst_bits: u64,
    /// Bits of each frame on the wire.
    pub frame_bits: u64,
}

/// Follows the arrivals of a class in time.
#[derive(Debug, Clone)]
pub struct Envelope {
    limit: Limit,
    /// In billionths of a bit: what came and has not leaked out.
    level: u64,
    most: u64,
    first_ns: Option<u64>,
    last_ns: u64,
    /// Frames since the first.
    frames: u64,
    /// Frames that did not fit.
    pub beyond: u64,
}

impl Envelope {
    /// Nothing has come yet.
    pub fn new(limit: Limit) -> Self {
        Self { limit, level: 0, most: 0, first_ns: None, last_ns: 0, frames: 0, beyond: 0 }
    }

    /// What it is held to.
    pub fn limit(&self) -> &Limit {
        &self.limit
    }

    /// A frame begins on the link.
    pub fn take(&mut self, begins_ns: u64) {
        match self.first_ns {
            None => self.first_ns = Some(begins_ns),
            Some(_) => self.frames += 1,
        }
        let Limit { idle_slope, burst_bits, frame_bits, .. } = self.limit;
        let passed_ns = self.passed_ns(begins_ns);
        self.last_ns = self.last_ns.max(begins_ns);
        let left = self.level.saturating_sub(idle_slope.saturating_mul(passed_ns));
        let with_it = left.saturating_add(frame_bits.saturating_mul(BILLION));
        self.most = self.most.max(with_it);
        let fits = with_it <= burst_bits.saturating_mul(BILLION);
        self.beyond += u64::from(!fits);
        self.level = if fits { with_it } else { left };
    }

    /// For how long the gate was open since the frame before.
    fn passed_ns(&self, now_ns: u64) -> u64 {
        match &self.limit.gates {
            _ if now_ns <= self.last_ns => 0,
            None => now_ns - self.last_ns,
            Some(gates) => gates.open_between_ns(self.limit.queue, self.last_ns, now_ns),
        }
    }

    /// The most bits that came beyond the slope.
    pub fn most_bits(&self) -> u64 {
        self.most.div_ceil(BILLION)
    }

    /// Bits per second, from the first frame to the last.
    pub fn rate(&self) -> u64 {
        let took_ns = self.last_ns.saturating_sub(self.first_ns.unwrap_or(self.last_ns));
        let bits = u128::from(self.frames) * u128::from(self.limit.frame_bits);
        (bits * u128::from(BILLION)).checked_div(took_ns.into()).unwrap_or(0) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ontick_tsn::model::Entry;

    /// 10 Mbit/s, frames of 1 000 bits, a burst of 3 000: a frame each 100 us.
    fn limit(gates: Option<Schedule>) -> Limit {
        let idle_slope = if gates.is_some() { 40_000_000 } else { 10_000_000 };
        Limit { gates, queue: 0, oper_slope: 10_000_000, idle_slope, burst_bits: 3_000, frame_bits: 1_000 }
    }

    fn beyond(limit: Limit, frames: impl Iterator<Item = u64>) -> (u64, u64) {
        let mut envelope = Envelope::new(limit);
        frames.for_each(|at_ns| envelope.take(at_ns));
        (envelope.beyond, envelope.most_bits())
    }

    #[test]
    fn a_burst_and_the_slope_after_it_are_kept() {
        let burst = [1_000, 1_000, 1_000].into_iter();
        assert_eq!(beyond(limit(None), burst.clone().chain((1..1_000).map(|n| 1_000 + n * 100_000))), (0, 3_000));
        // One frame more at once, or every tenth of a slope that is steeper by that.
        assert_eq!(beyond(limit(None), burst.clone().chain([1_000])), (1, 4_000));
        let steeper = burst.chain((1..=1_000).map(|n| 1_000 + n * 90_000));
        assert_eq!(beyond(limit(None), steeper).0, 100);
    }

    #[test]
    fn a_frame_that_comes_late_takes_nothing_from_those_behind_it_unless_nothing_waited() {
        let late = |by_ns: u64| [0, 0, 0, 100_000 + by_ns, 200_000, 300_000].into_iter();
        assert_eq!(beyond(limit(None), late(99_000)).0, 0);
        // Too early by 1 ns; those behind it are none the less in time.
        let early = [0, 0, 0, 99_999].into_iter().chain((2..100).map(|n| n * 100_000));
        assert_eq!(beyond(limit(None), early), (1, 3_001));
    }

    #[test]
    fn credit_stands_still_while_the_gate_is_closed() {
        // Open for 250 us of each millisecond, and four times as steep meanwhile.
        let list = [Entry { open: 1, for_ns: 250_000 }, Entry { open: 2, for_ns: 750_000 }];
        let gates = || Some(Schedule::new(0, &list));
        let cycles = |each: u64, n: u64| (0..n).flat_map(move |cycle| (0..each).map(move |_| cycle * 1_000_000 + 1));
        assert_eq!(beyond(limit(gates()), cycles(3, 100)).0, 0);
        // Ten a cycle are the slope, but not at once.
        assert!(beyond(limit(gates()), cycles(10, 2)).0 > 0);
        let spread = (0..100).flat_map(|cycle| (0..10).map(move |n| cycle * 1_000_000 + n * 25_000));
        assert_eq!(beyond(limit(gates()), spread).0, 0);
    }

    #[test]
    fn the_rate_is_that_between_first_and_last() {
        let mut envelope = Envelope::new(limit(None));
        assert_eq!(envelope.rate(), 0);
        (0..=10).for_each(|n| envelope.take(n * 100_000));
        assert_eq!(envelope.rate(), 10_000_000);
    }
}
