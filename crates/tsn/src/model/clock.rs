//! The clock that gates follow.

/// The clock that gates follow; a machine's clocks are called so (clock_gettime(2)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// Time since the machine's start.
    Monotonic,
    /// UTC.
    Realtime,
    /// International Atomic Time, as PTP distributes it.
    Tai,
}

impl Clock {
    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Clock::Monotonic => "monotonic",
            Clock::Realtime => "realtime",
            Clock::Tai => "tai",
        }
    }
}
