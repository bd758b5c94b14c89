//! Flow meters: the bandwidth profile of MEF 10.3 with a committed rate and burst alone.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

use ontick_tsn::model;

/// Tokens are whole billionths of a bit, so that a rate in bits per second times a time in ns is exact.
const BILLION: u64 = 1_000_000_000;

/// A bucket of tokens, full at first.
#[derive(Debug)]
pub struct Meter {
    rate: u64,
    full: u64,
    tokens: u64,
    /// When it had those.
    at_ns: u64,
}

impl Meter {
    pub fn new(meter: &model::Meter) -> Self {
        let full = u64::from(meter.burst) * 8 * BILLION;
        Self { rate: meter.rate, full, tokens: full, at_ns: 0 }
    }

    /// Whether a frame of so many octets that came then is green; it takes its tokens. One that is not is red.
    #[inline]
    pub fn is_green(&mut self, octets: u32, came_ns: u64) -> bool {
        // The moments at which frames of several ports came need not ascend.
        let passed_ns = came_ns.saturating_sub(self.at_ns);
        self.at_ns += passed_ns;
        self.tokens = self.tokens.saturating_add(self.rate.saturating_mul(passed_ns)).min(self.full);
        let needed = u64::from(octets) * 8 * BILLION;
        let green = needed <= self.tokens;
        if green {
            self.tokens -= needed;
        }
        green
    }

    /// Begins with what another bucket has, as far as it has room: setting a meter anew is no way to fill it.
    pub fn take_tokens(&mut self, other: &Self) {
        (self.tokens, self.at_ns) = (other.tokens.min(self.full), other.at_ns);
    }

    /// It is another time than it was: the bucket is as full as before.
    pub fn clock_was_set(&mut self, now_ns: u64) {
        self.at_ns = now_ns;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_bucket_fills_at_its_rate_and_no_further() {
        let mut meter = Meter::new(&model::Meter { rate: 8_000_000, burst: 200 });
        // An octet each microsecond.
        assert!(meter.is_green(150, 0) && !meter.is_green(51, 0), "red frames take no tokens");
        assert!(meter.is_green(50, 0) && !meter.is_green(1, 999) && meter.is_green(1, 1_000));
        assert!(!meter.is_green(201, 1_000_000_000), "larger than the whole burst");
        assert!(meter.is_green(200, 1_000_000_000) && !meter.is_green(1, 1_000_000_000));
        // A frame that came before one that was looked at already brings no tokens, and takes none away.
        assert!(!meter.is_green(1, 5));
        assert!(meter.is_green(64, 1_000_064_000) && !meter.is_green(1, 1_000_064_000));
    }

    #[test]
    fn a_clock_that_is_set_neither_fills_nor_stops_it() {
        let mut meter = Meter::new(&model::Meter { rate: 8_000_000, burst: 200 });
        assert!(meter.is_green(200, 5_000_000_000));
        meter.clock_was_set(9_000_000_000);
        assert!(!meter.is_green(1, 9_000_000_000) && meter.is_green(10, 9_000_010_000));
        meter.clock_was_set(1_000);
        assert!(!meter.is_green(11, 11_000) && meter.is_green(10, 11_000));
    }

    proptest! {
        /// Between any two frames no more than the rate and the burst; and whatever keeps to both is green.
        #[test]
        fn what_is_green_keeps_to_rate_and_burst(
            rate in 1_000u64..2_000_000_000,
            burst in 64u32..20_000,
            frames in prop::collection::vec((0u64..200_000, 64u32..1_522), 1..80),
        ) {
            let mut meter = Meter::new(&model::Meter { rate, burst });
            let (mut now_ns, mut passed): (u64, Vec<(u64, u32)>) = (0, Vec::new());
            for (pause_ns, octets) in frames {
                now_ns += pause_ns;
                // From any green frame on, this one included.
                let keeps = |passed: &[(u64, u32)]| (0..passed.len()).all(|first| {
                    let bits: u64 = passed[first..].iter().map(|(_, octets)| u64::from(*octets) * 8).sum();
                    let within_ns = now_ns - passed[first].0;
                    bits * BILLION <= u64::from(burst) * 8 * BILLION + rate * within_ns
                });
                passed.push((now_ns, octets));
                let may = keeps(&passed);
                prop_assert_eq!(meter.is_green(octets, now_ns), may, "{:?}", passed);
                if !may {
                    passed.pop();
                }
            }
        }
    }
}
