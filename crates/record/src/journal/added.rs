//! A line of a journal.

use serde::{Deserialize, Serialize};

use crate::histogram::Bucket;
use crate::run::{Outlier, RoundTrips, Settings};

/// What was added to one series since the line before.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Added {
    /// Index of the series in the run.
    pub series: usize,
    /// Since the beginning of the run, in ns.
    pub duration_ns: u64,
    /// Samples that came to each bucket.
    pub buckets: Vec<Bucket>,
    /// Smallest latency since the measurement began.
    pub min_ns: Option<u64>,
    /// Largest latency since the measurement began.
    pub max_ns: Option<u64>,
    /// Mean of the samples that came.
    pub mean_ns: Option<f64>,
    /// Standard deviation of the samples that came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub std_dev_ns: Option<f64>,
    /// Periods that were missed meanwhile.
    pub missed: u64,
    /// Largest latency of this second.
    pub second_max_ns: u64,
    /// Outliers of this second, as far as they were handed over; in the file, those among them that are to be kept.
    pub outliers: Vec<Outlier>,
    /// What the file has beside them, where it has not all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<KeptOutliers>,
    /// How many there were in all.
    #[serde(default)]
    #[serde(alias = "outliers_seen")]
    pub outlier_count: u64,
    /// What became of the requests meanwhile, where there were any; the way that they took is in the series.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_trips: Option<RoundTrips>,
    /// How it is measured, once that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<Box<Settings>>,
    /// Causes that were named for the first time; outliers refer to them by their index in the whole journal.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<CauseName>,
}

impl Added {
    /// It says nothing of samples, not even of earlier ones: it tells how long the run went on.
    pub(super) fn is_time_alone(&self) -> bool {
        let of_samples = !self.buckets.is_empty() || self.min_ns.is_some() || self.max_ns.is_some();
        !of_samples && self.second_max_ns == 0 && self.missed == 0 && self.round_trips.is_none()
    }
}

/// Of a second's outliers, what a journal keeps beside the worst.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct KeptOutliers {
    /// Those that are in the sample of all outliers, with their places there.
    pub sampled: Vec<(u32, Outlier)>,
    /// How many had which cause.
    pub causes: Vec<(u32, u64)>,
}

/// What a cause is called.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CauseName {
    /// `softirq`, `another task`, ….
    pub cause: String,
    /// Which one, where there are several; else empty.
    pub detail: String,
}
