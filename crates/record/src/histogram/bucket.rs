//! Which values a bucket covers, and how many it holds.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `count` values in `low_ns ..= low_ns + width_ns - 1`; in JSON `[low_ns, width_ns, count]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "(u64, u64, u64)", into = "(u64, u64, u64)")]
#[schemars(with = "(u64, u64, u64)")]
pub struct Bucket {
    /// Smallest value that the bucket covers.
    pub low_ns: u64,
    /// How many nanoseconds it covers.
    pub width_ns: u64,
    /// How many samples fell into it.
    pub count: u64,
}

impl Bucket {
    /// Largest value that the bucket covers.
    pub fn high_ns(&self) -> u64 {
        self.low_ns.saturating_add(self.width_ns.max(1) - 1)
    }
}

impl From<(u64, u64, u64)> for Bucket {
    fn from((low_ns, width_ns, count): (u64, u64, u64)) -> Self {
        Self { low_ns, width_ns: width_ns.max(1), count }
    }
}

impl From<Bucket> for (u64, u64, u64) {
    fn from(b: Bucket) -> Self {
        (b.low_ns, b.width_ns, b.count)
    }
}
