//! What the system did not grant.

use std::fmt;

/// Something that was asked for and refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// What was asked: `policy fifo:99`.
    pub what: String,
    /// Why it was refused, in words.
    pub why: String,
    /// What to do about it.
    pub remedy: String,
}

impl Refusal {
    /// What was asked, why it was refused, and what to do about it.
    pub fn new(what: impl Into<String>, why: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { what: what.into(), why: why.into(), remedy: remedy.into() }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}: {} ({})", self.what, self.why, self.remedy)
    }
}

impl std::error::Error for Refusal {}
