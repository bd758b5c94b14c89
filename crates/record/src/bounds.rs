//! What can be said of the tail of a series.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is exceeded less than once in so many cycles, or why that cannot be said.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Tail {
    /// The bound is of what is exceeded less than once in so many cycles.
    pub once_in: u64,
    /// The bound, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound: Option<Bound>,
    /// Why there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refusal: Option<Refusal>,
}

/// A bound, and what it rests on.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Bound {
    /// What is exceeded less than once in so many cycles, with 95 % confidence, in ns.
    pub upper_ns: u64,
    /// The most likely value of what is exceeded once in so many cycles, in ns.
    pub fitted_ns: u64,
    /// Cycles that were measured.
    pub cycles: u64,
    /// The threshold, in ns: what is above are the peaks.
    pub threshold_ns: u64,
    /// How many peaks are above the threshold.
    pub peaks: u64,
    /// Peaks within so many cycles are one burst, of which the largest counts; 0 where each counts.
    #[serde(skip_serializing_if = "is_zero")]
    pub burst_cycles: u64,
    /// The most likely shape ξ of the generalised Pareto distribution.
    pub shape: f64,
    /// Its most likely scale σ, in ns.
    pub scale_ns: f64,
    /// What is exceeded once in more and more cycles.
    pub levels: Vec<Level>,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// What is exceeded once in so many cycles.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Level {
    /// So many cycles.
    pub once_in: u64,
    /// It is above this with 95 % confidence, in ns.
    pub lower_ns: u64,
    /// The most likely value, in ns.
    pub fitted_ns: u64,
    /// It is below this with 95 % confidence, in ns.
    pub upper_ns: u64,
}

/// Why no bound can be given.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Refusal {
    /// The reason.
    pub reason: Reason,
    /// How many there are of what is the reason: cycles that were missed; peaks above the change of a mixture; samples
    /// that exceeded what there would be a bound of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// How long to measure for a bound, in ns, where that helps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measure_ns: Option<u64>,
}

/// Why no bound can be given.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// The series has no peaks with their times: another tool measured it, or a version that did not keep them, or the
    /// run did not end.
    #[default]
    NoPeaks,
    /// More peaks came at once than could be kept.
    LostPeaks,
    /// Cycles were missed, which have no latency.
    Missed,
    /// There are too few cycles.
    TooShort,
    /// The clock is too coarse: many peaks are equal.
    Coarse,
    /// Peaks come in bursts that are too long to be counted as one.
    Dependent,
    /// The run is not of one piece: peaks became more or fewer, higher or lower.
    Changing,
    /// The largest peaks do not continue the tail of the others.
    Mixture,
    /// No generalised Pareto distribution fits the peaks.
    NoFit,
    /// The tail is so heavy that it has no mean.
    NoMean,
    /// It was exceeded in the run itself so often that the percentiles tell it.
    Seen,
}
