//! Steps of the clock that gates follow, against the one that is never stepped.

use ontick_rt::clock::ClockId;

/// Slewing moves a clock by less between two looks (at most 500 ppm, adjtimex(2)).
const STEP_NS: i128 = 1_000_000;
const SECOND: i128 = 1_000_000_000;

/// What became of the clock since it was last looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stepped {
    /// Somebody set it: by so much, in ns.
    By(i128),
    /// The offset of TAI against UTC was set, to so many seconds.
    Offset(i128),
}

/// Looks at the clock again and again.
#[derive(Debug)]
pub(super) struct Steps {
    clock: ClockId,
    ahead_ns: i128,
    offset_s: i128,
}

impl Steps {
    pub fn new(clock: ClockId) -> Self {
        Self { clock, ahead_ns: ahead_ns(clock), offset_s: offset_s() }
    }

    /// What has happened since the last look.
    pub fn poll(&mut self) -> Option<Stepped> {
        self.compare(ahead_ns(self.clock), offset_s())
    }

    fn compare(&mut self, ahead_ns: i128, offset_s: i128) -> Option<Stepped> {
        let by = ahead_ns - std::mem::replace(&mut self.ahead_ns, ahead_ns);
        let offset_before = std::mem::replace(&mut self.offset_s, offset_s);
        if self.clock == ClockId::Tai && offset_s != offset_before {
            return Some(Stepped::Offset(offset_s));
        }
        (by.abs() >= STEP_NS).then_some(Stepped::By(by))
    }
}

/// How far it is ahead of the monotonic clock: the closest of three brackets, as anything may come between two readings.
fn ahead_ns(clock: ClockId) -> i128 {
    let bracket = |_| {
        let (before, now, after) = (ClockId::Monotonic.now_ns(), clock.now_ns(), ClockId::Monotonic.now_ns());
        (after - before, i128::from(now) - i128::from(before))
    };
    (0..3).map(bracket).min().map_or(0, |(_, ahead)| ahead)
}

fn offset_s() -> i128 {
    let ahead = ahead_ns(ClockId::Tai) - ahead_ns(ClockId::Realtime);
    (ahead + SECOND / 2).div_euclid(SECOND)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_reported_and_slewing_is_not() {
        let mut steps = Steps { clock: ClockId::Tai, ahead_ns: 5_000, offset_s: 0 };
        assert_eq!(steps.compare(5_000 + 100_000, 0), None);
        assert_eq!(steps.compare(105_000 - 2_000_000, 0), Some(Stepped::By(-2_000_000)));
        assert_eq!(steps.compare(105_000 - 2_000_000 + 37 * SECOND, 37), Some(Stepped::Offset(37)));
        let mut steps = Steps { clock: ClockId::Realtime, ahead_ns: 0, offset_s: 0 };
        assert_eq!(steps.compare(0, 37), None);
    }
}
