//! Times of a capture: in its own ticks, which are whole numbers, and in nanoseconds.

use super::Rate;

/// A reduced fraction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Ratio {
    over: u64,
    under: u64,
}

impl Ratio {
    fn new(over: u128, under: u128) -> Self {
        let common = gcd(over, under).max(1);
        let part = |n: u128| u64::try_from(n / common).unwrap_or(u64::MAX).max(1);
        Self { over: part(over), under: part(under) }
    }

    /// So many times the ratio, rounded to a whole number.
    fn times(self, n: u64) -> u64 {
        match n.checked_mul(self.over).and_then(|n| n.checked_add(self.under / 2)) {
            Some(n) => n / self.under,
            None => {
                let exact =
                    (u128::from(n) * u128::from(self.over) + u128::from(self.under / 2)) / u128::from(self.under);
                u64::try_from(exact).unwrap_or(u64::MAX)
            }
        }
    }
}

fn gcd(a: u128, b: u128) -> u128 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// How long a tick of a file is, and at which rate its instrument sampled, where that is known.
///
/// Where it is, times are counted in samples: files round the time of a sample, and the difference of two rounded times
/// is another than the number of samples between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Clock {
    step_fs: u128,
    rate: Option<Rate>,
    /// From ticks to samples, unless they are the same.
    samples: Option<Ratio>,
    /// From samples, or ticks, to nanoseconds.
    ns: Ratio,
}

const FS_PER_SECOND: u128 = 1_000_000_000_000_000;
const FS_PER_NS: u128 = 1_000_000;

impl Clock {
    /// Ticks that are samples.
    pub fn of_samples(rate: Rate) -> Self {
        let hertz = u128::from(rate.hertz());
        Self { step_fs: FS_PER_SECOND / hertz, rate: Some(rate), samples: None, ns: Ratio::new(1_000_000_000, hertz) }
    }

    /// Ticks of a length, made from samples of this rate if that is known.
    pub fn of_ticks(tick_fs: u128, rate: Option<Rate>) -> Self {
        match rate {
            Some(rate) => {
                let samples = Ratio::new(tick_fs * u128::from(rate.hertz()), FS_PER_SECOND);
                Self { samples: Some(samples), step_fs: tick_fs, ..Self::of_samples(rate) }
            }
            None => Self { step_fs: tick_fs, rate, samples: None, ns: Ratio::new(tick_fs, FS_PER_NS) },
        }
    }

    /// The same of a file whose times have steps of so many femtoseconds, which are whole numbers of ticks.
    pub fn in_steps(self, step_fs: u128) -> Self {
        Self { step_fs, ..self }
    }

    /// Where a tick lies, in what is counted.
    #[inline]
    pub fn place(&self, tick: u64) -> u64 {
        self.samples.map_or(tick, |samples| samples.times(tick))
    }

    /// How long so many of what is counted are, in ns.
    #[inline]
    pub fn ns(&self, counted: u64) -> u64 {
        self.ns.times(counted)
    }

    pub fn rate(&self) -> Option<Rate> {
        self.rate
    }

    /// Within how much a time between two edges is known, in ps: a sample, or a step of the file where that is longer.
    pub fn resolution_ps(&self) -> u64 {
        let sample = self.rate.map_or(0, |rate| FS_PER_SECOND / u128::from(rate.hertz()));
        let step = if self.samples.is_some() || self.rate.is_none() { self.step_fs } else { 0 };
        u64::try_from((sample.max(step) + 500) / 1_000).unwrap_or(u64::MAX).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_no_whole_nanoseconds_and_their_sum_is_right() {
        let clock = Clock::of_samples(Rate::new(24_000_000));
        assert_eq!([0, 1, 2, 3, 24_000_000].map(|n| clock.ns(n)), [0, 42, 83, 125, 1_000_000_000]);
        assert_eq!((clock.resolution_ps(), clock.place(7)), (41_667, 7));
        // Beyond 64 bits on the way.
        assert_eq!(clock.ns(24_000_000 * 1_000_000_000), 1_000_000_000_000_000_000);
        assert_eq!(Clock::of_samples(Rate::new(1)).ns(u64::MAX), u64::MAX);
    }

    #[test]
    fn rounded_ticks_find_their_sample() {
        // As libsigrok writes 24 MHz: in steps of 100 ps, rounded.
        let clock = Clock::of_ticks(100_000, Some(Rate::new(24_000_000)));
        for sample in [0u64, 1, 2, 4, 5, 8, 1_000_003] {
            let tick = (sample * 10_000 + 12) / 24;
            assert_eq!(clock.place(tick), sample);
        }
        assert_eq!((clock.ns(2), clock.resolution_ps()), (83, 41_667));
    }

    #[test]
    fn without_a_rate_a_tick_is_as_fine_as_it_gets() {
        let clock = Clock::of_ticks(1_000_000_000, None);
        assert_eq!((clock.place(5), clock.ns(5), clock.resolution_ps()), (5, 5_000, 1_000_000));
        // Ticks that are coarser than the samples.
        let coarse = Clock::of_ticks(1_000_000_000, Some(Rate::new(24_000_000)));
        assert_eq!(coarse.resolution_ps(), 1_000_000);
        assert_eq!(Clock::of_ticks(1, None).ns(2_500_000), 3);
        assert_eq!(Clock::of_ticks(1_000, None).in_steps(1_000_000).resolution_ps(), 1_000);
    }
}
