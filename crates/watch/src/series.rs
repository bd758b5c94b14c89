//! What blocks are of: the timer of a CPU, or round trips over a network.

use std::fmt;

/// Codes of round trips begin here. No kernel has so many CPUs.
const ROUND_TRIPS: u16 = 1 << 15;

/// A series, as rows of the history have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SeriesId {
    /// How late a thread wakes up on this CPU, whose number is below 32768.
    Cpu(u16),
    /// Round trips that have this number in the list of [names](crate::names), below 32768.
    RoundTrip(u16),
}

impl SeriesId {
    /// As it is in a row: the number of a CPU is its code, as it was before there were round trips.
    pub fn code(self) -> u16 {
        match self {
            Self::Cpu(cpu) => cpu,
            Self::RoundTrip(number) => number | ROUND_TRIPS,
        }
    }

    /// Whether round trips can have this number.
    pub fn is_number(number: u16) -> bool {
        number < ROUND_TRIPS
    }

    /// The series of a code.
    pub fn of_code(code: u16) -> Self {
        match code < ROUND_TRIPS {
            true => Self::Cpu(code),
            false => Self::RoundTrip(code - ROUND_TRIPS),
        }
    }
}

impl Default for SeriesId {
    fn default() -> Self {
        Self::Cpu(0)
    }
}

impl fmt::Display for SeriesId {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Cpu(cpu) => write!(f, "CPU {cpu}"),
            Self::RoundTrip(number) => write!(f, "round trip {number}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_code_is_a_series_and_those_of_before_are_cpus() {
        for code in 0..=u16::MAX {
            assert_eq!(SeriesId::of_code(code).code(), code);
        }
        assert_eq!(SeriesId::of_code(3), SeriesId::Cpu(3));
        assert_eq!(SeriesId::of_code(32_770).to_string(), "round trip 2");
    }
}
