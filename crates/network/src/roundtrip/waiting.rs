//! How both ends wait: for their time, and for what comes.

use std::fmt;
use std::str::FromStr;

use ontick_rt::wait::{DUTY, Hybrid, Sleep, Wait};

/// A way to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waiting {
    /// Asleep until shortly before, then reading the clock and the ring of frames.
    Hybrid,
    /// Reading the clock and the ring nine tenths of the time.
    Spin,
    /// Asleep until the kernel wakes the thread, as any program waits in recv(2).
    Block,
}

/// A name of none of these.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is no way to wait for an answer: hybrid, spin or block")]
pub struct UnknownWaiting(String);

/// No loop spins for longer than this without a sleep, in ns.
const LONGEST_NS: u64 = 100_000_000;

impl Waiting {
    /// All there are.
    pub const ALL: [Self; 3] = [Self::Hybrid, Self::Spin, Self::Block];

    /// Its name on the command line and in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hybrid => "hybrid",
            Self::Spin => "spin",
            Self::Block => "block",
        }
    }

    /// What of a period may be spun, in ns.
    pub(super) fn longest_ns(self, period_ns: u64) -> u64 {
        ((period_ns as f64 * DUTY) as u64).min(LONGEST_NS)
    }

    /// The wait for deadlines that are so far apart.
    pub(super) fn for_deadlines(self, period_ns: u64) -> Box<dyn Wait + Send> {
        match self {
            Self::Hybrid => Box::new(Hybrid::new(period_ns)),
            Self::Spin => Box::new(Hybrid::with_margin(self.longest_ns(period_ns)).resting(DUTY)),
            Self::Block => Box::new(Sleep),
        }
    }
}

impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Waiting {
    type Err = UnknownWaiting;

    fn from_str(text: &str) -> Result<Self, UnknownWaiting> {
        Self::ALL.into_iter().find(|way| way.name() == text).ok_or_else(|| UnknownWaiting(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back() {
        assert!(Waiting::ALL.into_iter().all(|way| way.to_string().parse() == Ok(way)));
        let error = "poll".parse::<Waiting>().unwrap_err().to_string();
        assert_eq!(error, "\"poll\" is no way to wait for an answer: hybrid, spin or block");
        assert_eq!(Waiting::Spin.longest_ns(1_000_000), 900_000);
    }
}
