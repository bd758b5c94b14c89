//! When a run ends, and what in it is kept one by one.

use crate::Error;

/// When a run ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    /// After this time, in ns; `u64::MAX` is never.
    Duration(u64),
    /// After this many observations.
    Count(u64),
}

/// When a run ends, and what in it deserves attention.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// When it ends.
    pub length: Length,
    /// Latencies above this are kept one by one, in ns.
    pub outlier_ns: u64,
    /// The run ends at the first latency above this, in ns.
    pub stop_over_ns: Option<u64>,
}

impl Limits {
    /// A run of this length that keeps latencies above 10 µs as outliers.
    pub fn new(length: Length) -> Self {
        Self { length, outlier_ns: 10_000, stop_over_ns: None }
    }

    /// The same, for a run of cycles of this length: one at least must end within them.
    pub fn of_cycles(self, cycle_ns: u64) -> Result<Self, Error> {
        match self.length {
            Length::Duration(within_ns) if within_ns < cycle_ns => Err(Error::NoCycle { cycle_ns, within_ns }),
            _ => Ok(self),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_cycle_at_least_ends_within_a_duration() {
        let within = |ns| Limits::new(Length::Duration(ns)).of_cycles(1_000_000);
        assert_eq!(within(0).unwrap_err().to_string(), "no cycle of 1ms ends within 0s");
        assert_eq!(within(999_999).unwrap_err().to_string(), "no cycle of 1ms ends within 999.999us");
        assert!(within(1_000_000).is_ok() && Limits::new(Length::Count(1)).of_cycles(u64::MAX).is_ok());
    }
}
