//! What pulses are wanted of a line that goes on.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use ontick_units::exact;

use crate::Error;

/// Shortest and longest period, in ns: a run must be able to end.
const PERIODS_NS: std::ops::RangeInclusive<u64> = 10_000..=1_000_000_000;
/// The shortest time at a level, in ns.
const SHORTEST_NS: u64 = 1_000;

/// How long a line is high in each period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Modulation {
    period_ns: u64,
    width_ns: u64,
}

impl Modulation {
    /// High for `width_ns` of each `period_ns`; for none of it, or all, it has no edges.
    pub fn new(period_ns: u64, width_ns: u64) -> Result<Self, Error> {
        let refuse = |why: String| Err(Error::Impossible(why));
        if !PERIODS_NS.contains(&period_ns) {
            return refuse(format!("a period of {} is not from 10us to 1s", exact(period_ns)));
        }
        let Some(gap_ns) = period_ns.checked_sub(width_ns) else {
            return refuse(format!(
                "a width of {} does not fit into a period of {}",
                exact(width_ns),
                exact(period_ns)
            ));
        };
        if (1..SHORTEST_NS).contains(&width_ns) || (1..SHORTEST_NS).contains(&gap_ns) {
            return refuse(format!(
                "of a period of {} the line would be {} for {} (1us is the shortest, or not at all)",
                exact(period_ns),
                if width_ns < gap_ns { "high" } else { "low" },
                exact(width_ns.min(gap_ns))
            ));
        }
        Ok(Self { period_ns, width_ns })
    }

    /// In ns.
    pub fn period_ns(self) -> u64 {
        self.period_ns
    }

    /// In ns.
    pub fn width_ns(self) -> u64 {
        self.width_ns
    }
}

/// What is wanted now, for the timed thread to look at: both times in one word, so that they belong together.
#[derive(Debug)]
pub struct Setpoint(AtomicU64);

/// Bits of each time.
const BITS: u32 = 32;

impl Setpoint {
    /// To begin with.
    pub fn new(wanted: Modulation) -> Self {
        Self(AtomicU64::new(word(wanted)))
    }

    /// From the next period on.
    pub fn set(&self, wanted: Modulation) {
        self.0.store(word(wanted), Relaxed);
    }

    /// What was set last.
    #[inline]
    pub fn get(&self) -> Modulation {
        let word = self.0.load(Relaxed);
        Modulation { period_ns: word >> BITS, width_ns: word & (u64::MAX >> BITS) }
    }
}

/// No period, and so no width either, is longer than these bits can say.
fn word(wanted: Modulation) -> u64 {
    wanted.period_ns << BITS | wanted.width_ns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_made_is_refused_and_all_else_is_kept() {
        let refused = |period_ns, width_ns| Modulation::new(period_ns, width_ns).unwrap_err().to_string();
        assert_eq!(refused(9_999, 1_000), "a period of 9.999us is not from 10us to 1s");
        assert_eq!(refused(20_000_000, 30_000_000), "a width of 30ms does not fit into a period of 20ms");
        let short = "of a period of 20ms the line would be high for 999ns (1us is the shortest, or not at all)";
        assert_eq!(refused(20_000_000, 999), short);
        assert!(refused(20_000_000, 19_999_999).contains("low for 1ns"));
        assert!(refused(1_000_000_001, 0).contains("1s"));
        for (period_ns, width_ns) in [(10_000, 0), (10_000, 10_000), (1_000_000_000, 999_999_000), (20_000_000, 1_000)]
        {
            let wanted = Modulation::new(period_ns, width_ns).unwrap();
            assert_eq!(Setpoint::new(wanted).get(), wanted);
        }
    }
}
