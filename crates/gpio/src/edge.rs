//! What was seen of a line's change.

use std::fmt;
use std::str::FromStr;

use crate::error::WordError;

/// One change of a line that was notified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edge {
    /// Up as the user sees the line (after active-low), else down.
    pub rising: bool,
    /// When it happened, in ns on the monotonic clock: the kernel's interrupt for a character device, the
    /// write that caused it for a simulated line.
    pub time_ns: u64,
    /// Edges of this line that were not notified since the one before.
    pub lost: u32,
}

/// Which changes of a line are notified.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Edges {
    /// None: the line is only read.
    #[default]
    None,
    /// Up.
    Rising,
    /// Down.
    Falling,
    /// Both.
    Both,
}

impl Edges {
    /// Whether a change in this direction is notified.
    pub fn wants(self, rising: bool) -> bool {
        match self {
            Edges::None => false,
            Edges::Rising => rising,
            Edges::Falling => !rising,
            Edges::Both => true,
        }
    }

    /// The same changes of a line that is seen upside down.
    pub(crate) fn inverted(self) -> Self {
        match self {
            Edges::Rising => Edges::Falling,
            Edges::Falling => Edges::Rising,
            same => same,
        }
    }

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Edges::None => "none",
            Edges::Rising => "rising",
            Edges::Falling => "falling",
            Edges::Both => "both",
        }
    }
}

impl fmt::Display for Edges {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Edges {
    type Err = WordError;

    fn from_str(text: &str) -> Result<Self, WordError> {
        [Edges::Rising, Edges::Falling, Edges::Both]
            .into_iter()
            .find(|edges| edges.name() == text)
            .ok_or_else(|| WordError::Edges(text.into()))
    }
}
