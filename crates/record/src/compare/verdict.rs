//! What two runs say of a requirement.

use serde::Serialize;

/// What the samples say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It holds, with 95 % confidence.
    Met,
    /// It does not, with 95 % confidence.
    Broken,
    /// The samples are too few to tell, or the percentile is not in a record.
    CannotTell,
}

/// What would settle a decision if it were distributed as what there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Wanted {
    /// So many samples of each run.
    Samples(u64),
    /// So many runs of each side.
    Runs(u64),
    /// Records that hold the percentile, as one of these does not: it has no buckets, or the sample lies beyond them.
    Percentile,
    /// A second run that misses fewer cycles than the percentile leaves out.
    FewerMissed,
}
