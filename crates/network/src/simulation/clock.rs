//! The clocks of nodes: how far each is from true time, and the servo that keeps it near.
//!
//! A servo sees its clock's offset now and then, wrong by some noise, and changes the clock's rate so that half of what it
//! saw is gone at the next time; the oscillator wanders meanwhile. Noise and wandering are such that no clock is ever
//! further from true time than the bound; all of it is known here, as it never is outside.

use ontick_tsn::planning::random::Random;

/// Servos look so often, in ns: 32 times a second.
pub(super) const SYNC_NS: u64 = 31_250_000;

/// A clock: a straight line since it was last changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Clock {
    since_ns: u64,
    offset_ns: i64,
    /// Parts in 10⁹ that it runs fast.
    ppb: i64,
}

impl Clock {
    pub fn new(now_ns: u64, offset_ns: i64) -> Self {
        Self { since_ns: now_ns, offset_ns, ppb: 0 }
    }

    /// By how much it is ahead at a moment.
    #[inline]
    pub fn offset_ns(&self, now_ns: u64) -> i64 {
        self.offset_ns.saturating_add(scaled(now_ns as i64 - self.since_ns as i64, self.ppb, 1_000_000_000))
    }

    /// What it shows at a moment.
    #[inline]
    pub fn local_ns(&self, now_ns: u64) -> u64 {
        now_ns.saturating_add_signed(self.offset_ns(now_ns))
    }

    /// The first moment at which it shows this time, or more.
    #[inline]
    pub fn when_ns(&self, local_ns: u64) -> u64 {
        // Each round is nearer by the part that the clock runs fast, which is a hundredth at most: ten are enough for a clock
        // that was left alone for months, and one for most others.
        let mut now_ns = local_ns;
        for _ in 0..10 {
            let nearer_ns = local_ns.saturating_add_signed(-self.offset_ns(now_ns));
            if std::mem::replace(&mut now_ns, nearer_ns) == nearer_ns {
                break;
            }
        }
        while self.local_ns(now_ns) < local_ns {
            now_ns += 1;
        }
        now_ns
    }

    /// From a moment on it runs so fast.
    pub fn run_at(&mut self, now_ns: u64, ppb: i64) {
        *self = Self { since_ns: now_ns, offset_ns: self.offset_ns(now_ns), ppb };
    }

    /// It is set by so much.
    pub fn step(&mut self, now_ns: u64, by_ns: i64) {
        *self = Self { since_ns: now_ns, offset_ns: self.offset_ns(now_ns).saturating_add(by_ns), ppb: self.ppb };
    }
}

/// `ns` × `by` / `over`; of clocks that were left alone for long, or are far off, the product has more than 64 bits.
#[inline]
fn scaled(ns: i64, by: i64, over: i64) -> i64 {
    match ns.checked_mul(by) {
        Some(product) => product / over,
        None => {
            let all = i128::from(ns) * i128::from(by) / i128::from(over);
            all.clamp(i64::MIN.into(), i64::MAX.into()) as i64
        }
    }
}

/// No servo makes a clock faster or slower by more, in parts in 10⁹, than adjtimex(2) allows, if its bound needs no more.
const MOST_PPB: i64 = 500_000;

/// What keeps a clock near true time.
#[derive(Debug, Clone)]
pub(super) struct Servo {
    random: Random,
    /// Its clock is never further away, either way.
    bound_ns: i64,
    /// It has lost the others.
    pub lost: bool,
}

impl Servo {
    /// With a bound, and the clock that it begins with: anywhere within.
    pub fn new(seed: u64, bound_ns: u64, now_ns: u64) -> (Self, Clock) {
        let mut servo = Self { random: Random::new(seed), bound_ns: bound_ns as i64, lost: false };
        let offset_ns = servo.within(9 * servo.bound_ns / 10);
        (servo, Clock::new(now_ns, offset_ns))
    }

    /// From -`most` to `most`.
    fn within(&mut self, most: i64) -> i64 {
        self.random.below(2 * most as u64 + 1) as i64 - most
    }

    /// Looks at its clock, and changes its rate. Half of an offset o is corrected, seen with noise of up to B/2; the
    /// oscillator wanders by up to B/5 meanwhile: |o| ≤ |o|/2 + B/4 + B/5 keeps |o| ≤ 9/10 B.
    pub fn look(&mut self, clock: &mut Clock, now_ns: u64) {
        if self.lost {
            return;
        }
        let seen_ns = clock.offset_ns(now_ns).saturating_add(self.within(self.bound_ns / 2));
        let moved_ns = self.within(self.bound_ns / 5) - seen_ns / 2;
        let per_ns = |ns: i64| scaled(ns, 1_000_000_000, SYNC_NS as i64);
        let most_ppb = MOST_PPB.max(per_ns(self.bound_ns));
        clock.run_at(now_ns, per_ns(moved_ns).clamp(-most_ppb, most_ppb));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_clock_is_read_both_ways(offset_ns in -2_000_000i64..2_000_000, ppb in -200_000i64..200_000, later in 0u64..1 << 40) {
            let mut clock = Clock::new(1 << 42, offset_ns);
            clock.run_at(1 << 42, ppb);
            let local_ns = (1 << 42) + later;
            let now_ns = clock.when_ns(local_ns);
            prop_assert!(clock.local_ns(now_ns) >= local_ns && clock.local_ns(now_ns - 2) < local_ns);
        }
    }

    #[test]
    fn a_servo_keeps_its_clock_within_the_bound_and_uses_most_of_it() {
        let mut furthest = 0;
        for seed in 0..20 {
            let (mut servo, mut clock) = Servo::new(seed, 1_000, 0);
            for n in 0..2_000 {
                let now_ns = n * SYNC_NS;
                servo.look(&mut clock, now_ns);
                furthest = furthest.max(clock.offset_ns(now_ns).abs());
            }
        }
        assert!((600..=1_000).contains(&furthest), "{furthest}");
    }

    #[test]
    fn a_clock_without_its_servo_drifts_away_and_one_that_is_set_jumps() {
        let mut clock = Clock::new(0, 10);
        clock.run_at(1_000_000, 50_000);
        assert_eq!(clock.offset_ns(1_001_000_000), 50_010);
        clock.step(1_001_000_000, -1_000_000);
        assert_eq!(clock.offset_ns(1_001_000_000), -949_990);
        assert_eq!(clock.offset_ns(2_001_000_000), -899_990);
    }

    /// As far off as a fault makes it, for as long as a simulation lasts.
    #[test]
    fn a_clock_that_was_left_alone_for_long_is_as_far_off_as_it_drifted() {
        const SECOND_NS: u64 = 1_000_000_000;
        for (ppb, sign) in [(10_000_000, 1), (-10_000_000, -1)] {
            let mut clock = Clock::new(0, 0);
            clock.run_at(0, ppb);
            for seconds in [2_000, 100 * 86_400] {
                let (now_ns, off_ns) = (seconds * SECOND_NS, (seconds * SECOND_NS / 100) as i64);
                assert_eq!(clock.offset_ns(now_ns), sign * off_ns);
                let local_ns = clock.local_ns(now_ns);
                assert!(clock.when_ns(local_ns).abs_diff(now_ns) <= 2, "{seconds} {ppb}");
            }
        }
    }

    #[test]
    fn a_servo_brings_a_clock_back_that_is_far_off() {
        let (mut servo, _) = Servo::new(1, 1_000, 0);
        for (offset_ns, ppb) in [(30_000_000_000, -MOST_PPB), (-30_000_000_000, MOST_PPB)] {
            let mut clock = Clock::new(0, offset_ns);
            servo.look(&mut clock, 0);
            assert_eq!(clock.ppb, ppb);
        }
    }
}
