//! What was done to keep a switch as it was applied.

use std::collections::BTreeMap;

/// Counts of repairs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    /// Times that each port's gates were set anew.
    pub reissued: BTreeMap<String, u64>,
    /// Things that another tool had changed and that were put back.
    pub put_back: u64,
    /// Times that the clock was set.
    pub clock_steps: u64,
}
