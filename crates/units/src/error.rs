//! Why a text is not what it should be.

use std::fmt;

/// A text that is not a time, a rate or a set of CPUs. It prints what is wrong and what would be right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnitError(pub(crate) String);

impl fmt::Display for UnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for UnitError {}
