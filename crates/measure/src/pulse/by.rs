//! What makes a pulse as wide as it should be.

use std::fmt;
use std::str::FromStr;

/// A way to time a pulse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// nanosleep(2) for the width, as usleep(3) does: what most programs do.
    Sleep,
    /// Reading the clock until the width is over.
    Spin,
    /// Sleeping to a learned margin before the end, then spinning.
    Hybrid,
}

/// A name that is no mechanism's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("pulses by \"{0}\": there is no such mechanism (choose one of {list})", list = By::ALL.map(By::name).join(", "))]
pub struct ByError(String);

impl By {
    /// Every mechanism.
    pub const ALL: [By; 3] = [By::Sleep, By::Spin, By::Hybrid];

    /// The name on the command line and in records.
    pub fn name(self) -> &'static str {
        match self {
            By::Sleep => "sleep",
            By::Spin => "spin",
            By::Hybrid => "hybrid",
        }
    }

    /// Whether CPU time is used while a pulse lasts.
    pub fn spins(self) -> bool {
        match self {
            By::Sleep => false,
            By::Spin | By::Hybrid => true,
        }
    }
}

impl FromStr for By {
    type Err = ByError;

    fn from_str(text: &str) -> Result<Self, ByError> {
        By::ALL.into_iter().find(|by| by.name() == text).ok_or_else(|| ByError(text.into()))
    }
}

impl fmt::Display for By {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name())
    }
}
