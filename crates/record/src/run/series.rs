//! One way of measuring, and what it found.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::conditions::{Conditions, Contamination};
use super::finite::finite;
use super::instrument_check::InstrumentCheck;
use super::jobs::{Dip, Pulse, RoundTrips, Waits};
use super::outlier::{Cause, Explained, Outlier, Tracing};
use super::settings::Settings;
use super::split::Split;
use crate::bounds::Tail;
use crate::maxima::Maxima;
use crate::peaks::Peak;
use crate::{Case, Histogram, Uncertainty};

/// One way of measuring, and what it found.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Series {
    /// Unique within the run and shown as the label: `ontick, loaded`, `timerfd`, `thread 0`.
    pub name: String,
    /// What tells it from the other series of a comparison or a table.
    #[serde(skip_serializing_if = "Case::is_empty")]
    pub case: Case,
    /// How the job was run.
    pub settings: Settings,
    /// Latency: now minus the time at which the thread should have been running.
    pub latency: Histogram,
    /// How well the latencies are known, where the measurement states it. Records of before have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uncertainty: Option<Uncertainty>,
    /// Pulses: how wide they were, where pulses were made. Their latency is the absolute error of the width.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pulse: Option<Pulse>,
    /// Several waits in each cycle, where there were; the latency is then their sum.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits: Option<Waits>,
    /// Requests and answers, where there were; the latency is then from when a request was to be sent until its answer was
    /// there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round_trips: Option<RoundTrips>,
    /// The latencies in parts, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub split: Option<Split>,
    /// Periods that passed without being acted on, because the thread was late by more than one.
    pub missed: u64,
    /// Samples that came before their time (only methods with coarse clocks do that); recorded as 0.
    pub early: u64,
    /// What else happened to the timed thread while it was timed.
    pub contamination: Contamination,
    /// Largest latency per second of the run (per more seconds once the run is longer than the track).
    pub maxima: Maxima,
    /// Samples above the outlier threshold, in time order; when there were too many, the largest.
    pub outliers: Vec<Outlier>,
    /// How many samples were above the outlier threshold in all.
    #[serde(alias = "outliers_seen")]
    pub outlier_count: u64,
    /// The largest samples with their times, in time order, however many were above the outlier threshold: what a bound
    /// for the tail rests on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub peaks: Vec<Peak>,
    /// What is exceeded less than once in so many cycles, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tail: Option<Tail>,
    /// What made samples late, in the order in which it was first seen; empty unless it was looked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<Cause>,
    /// The largest outliers, with what happened on the CPU meanwhile; largest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub explained: Vec<Explained>,
    /// The tracing that found the causes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tracing: Option<Tracing>,
    /// The blocks of an interleaved comparison, in the order in which they ran.
    pub blocks: Vec<Block>,
    /// Where dips of an input were searched: the shortest that is detected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dip: Option<Dip>,
    /// The series beside what an instrument recorded of the same lines, where one observed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instrument_check: Option<InstrumentCheck>,
    /// What somebody published of the same case, to stand beside it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published: Option<Published>,
    /// What the machine did meanwhile.
    pub conditions: Conditions,
}

impl From<String> for Series {
    /// An empty series of this name.
    fn from(name: String) -> Self {
        Self { name, ..Self::default() }
    }
}

/// An empty series, named after its case.
impl From<Case> for Series {
    fn from(case: Case) -> Self {
        Self { name: case.to_string(), case, ..Self::default() }
    }
}

impl Series {
    /// States the uncertainty anew, for the samples that there are now.
    pub fn state_uncertainty(&mut self) {
        self.uncertainty = self.uncertainty.take().map(|uncertainty| uncertainty.at(&self.latency));
    }

    /// All cycles: those acted on and those missed.
    pub fn cycles(&self) -> u64 {
        self.latency.count().saturating_add(self.missed)
    }

    /// Cycles that were certainly acted on less than `limit_ns` late. A cycle that was missed was not, and one
    /// that was acted on early was not either.
    pub fn in_time(&self, limit_ns: u64) -> u64 {
        self.latency.below(limit_ns).saturating_sub(self.early)
    }

    /// [`in_time`](Self::in_time) as a share of all cycles, 0 to 1; 0 without any.
    pub fn share_in_time(&self, limit_ns: u64) -> f64 {
        match self.cycles() {
            0 => 0.0,
            n => self.in_time(limit_ns) as f64 / n as f64,
        }
    }
}

/// A figure from elsewhere, measured on another machine.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Published {
    /// Where it is published: `source 001`.
    pub source: String,
    /// The figure in its words: `max < 50us`.
    pub figure: String,
    /// On what it was measured, and for how long.
    pub how: String,
}

/// One block of an interleaved comparison.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Block {
    /// Position in the whole run, from 0.
    pub order: u32,
    /// Samples taken.
    pub samples: u64,
    /// Median latency, in ns.
    pub p50_ns: u64,
    /// 99th percentile, in ns.
    pub p99_ns: u64,
    /// Largest latency, in ns.
    pub max_ns: u64,
    /// Time that the hypervisor took on all CPUs during the block, in ns (10 ms resolution).
    pub steal_ns: u64,
    /// One-minute load average at its end.
    #[serde(serialize_with = "finite")]
    pub load_average: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missed_or_early_cycle_is_a_cycle_and_not_in_time() {
        let mut series = Series { missed: 2, early: 1, ..Series::default() };
        assert_eq!((series.cycles(), series.in_time(3_000), series.share_in_time(3_000)), (2, 0, 0.0));
        [0, 1_000, 2_999, 3_000, 9_000, 9_000].into_iter().for_each(|latency| series.latency.add(latency, 1, 1));
        assert_eq!((series.cycles(), series.in_time(3_000), series.share_in_time(3_000)), (8, 2, 0.25));
        assert_eq!(Series::default().share_in_time(3_000), 0.0);
    }
}
