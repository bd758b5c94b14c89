//! Others' share of the CPU, where changes follow each other so closely that nobody sleeps between them.

use ontick_rt::wait::DUTY;

/// A thread that has not slept for so long rests, in ns: a burst of changes that is shorter is not disturbed.
const MOST_AWAKE_NS: u64 = 200_000_000;

/// How long the thread has been awake, less what its sleeps make up for.
#[derive(Debug, Clone, Copy)]
pub struct Awake {
    since_ns: u64,
    awake_ns: u64,
}

impl Awake {
    pub fn from(now_ns: u64) -> Self {
        Self { since_ns: now_ns, awake_ns: 0 }
    }

    /// It is `now_ns`, and of the time since it was asked last `slept_ns` were slept.
    #[inline]
    pub fn reckon(&mut self, now_ns: u64, slept_ns: u64) {
        let passed_ns = now_ns.saturating_sub(self.since_ns);
        self.since_ns = now_ns;
        let makes_up_ns = (slept_ns as f64 * (DUTY / (1.0 - DUTY))) as u64;
        self.awake_ns = (self.awake_ns + passed_ns.saturating_sub(slept_ns)).saturating_sub(makes_up_ns);
    }

    /// How long a rest is due, in ns, if one is.
    #[inline]
    pub fn rest_ns(&self) -> Option<u64> {
        (self.awake_ns > MOST_AWAKE_NS).then(|| (self.awake_ns as f64 * ((1.0 - DUTY) / DUTY)) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_sleeps_now_and_then_is_not_sent_to_rest() {
        let mut awake = Awake::from(1_000);
        for n in 1..10_000 {
            awake.reckon(1_000 + n * 1_000_000, 100_001);
            assert_eq!(awake.rest_ns(), None, "{n}");
        }
    }

    #[test]
    fn who_never_sleeps_rests_for_a_tenth_of_the_time() {
        let mut awake = Awake::from(1_000);
        awake.reckon(199_000_000, 0);
        assert_eq!(awake.rest_ns(), None);
        awake.reckon(225_001_000, 0);
        let rest_ns = awake.rest_ns().unwrap();
        assert!(rest_ns.abs_diff(25_000_000) < 10, "{rest_ns}");
        awake.reckon(225_001_000 + rest_ns, rest_ns);
        assert!(awake.rest_ns().is_none() && awake.awake_ns < 100, "{awake:?}");
    }
}
