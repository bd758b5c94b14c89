//! What mends a finding, as data: which command does it is its caller's to say.

use std::fmt;

/// What mends a finding.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Remedy {
    /// A knob, until the next boot.
    Knob(&'static str),
    /// The settings of each boot; these among them matter here, where any are named.
    AtBoot(Option<String>),
    /// Moving other programs' tasks off the CPU.
    Isolate,
    /// Another kernel, with this option.
    Kernel(&'static str),
    /// Anything else, in words.
    Words(String),
}

impl Remedy {
    pub(super) fn at_boot(what: impl Into<String>) -> Self {
        Self::AtBoot(Some(what.into()))
    }
}

impl From<&str> for Remedy {
    fn from(words: &str) -> Self {
        Self::Words(words.into())
    }
}

impl From<String> for Remedy {
    fn from(words: String) -> Self {
        Self::Words(words)
    }
}

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Knob(name) => write!(f, "the setting {name}"),
            Self::AtBoot(None) => f.write_str("settings at boot"),
            Self::AtBoot(Some(what)) => write!(f, "settings at boot ({what})"),
            Self::Isolate => f.write_str("isolation of the CPU"),
            Self::Kernel(option) => write!(f, "a kernel with {option}"),
            Self::Words(words) => f.write_str(words),
        }
    }
}
