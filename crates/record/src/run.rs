//! The [`Run`] document: one run, everything that was seen, and what it was measured on.

mod conditions;
mod environment;
mod finite;
mod instrument;
mod instrument_check;
mod jobs;
mod outlier;
mod series;
mod settings;
mod split;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use crate::maxima::{Maxima, Stretch};
pub use crate::peaks::{Peak, Peaks, append_peaks};
use crate::{Finding, Measurement, NetworkProof, Search, Switching};
pub use conditions::{Conditions, Contamination, Rival};
pub use environment::Environment;
pub use instrument::Instrument;
pub use instrument_check::{Alignment, CheckedQuantity, Figures, InstrumentCheck, Quantity, UnmatchedEdges};
pub use jobs::{Dip, DipPoint, Pulse, RoundTrips, Waits};
pub use outlier::{Cause, Explained, Happening, Outlier, Tracing};
pub use series::{Block, Published, Series};
pub use settings::Settings;
pub use split::Split;

/// Name and version of the document format. Readers refuse other major versions.
pub const SCHEMA: &str = "ontick-run/1";

/// One run: what was measured, on what, and what was found. Times are nanoseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// Format of this document, `ontick-run/1`.
    pub schema: String,
    /// The program that measured, with its version.
    pub tool: String,
    /// What was measured: `timer`, `wakeup`, `day`, `noise`, `prove`, ….
    pub measurement: Measurement,
    /// When the run began, RFC 3339 in UTC; empty where an imported file does not say.
    #[serde(default)]
    pub started: String,
    /// How long the run took, in ns.
    #[serde(default)]
    pub duration_ns: u64,
    /// Set where any figure comes from a simulation or an emulated machine: what was simulated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulated: Option<String>,
    /// The run was cut short: by Ctrl-C, or read from the journal of a run that was killed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// The machine; absent where an imported file does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<Environment>,
    /// The instrument beside the machine that saw it, where its capture was imported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instrument: Option<Instrument>,
    /// What kept the machine from good timing while it was measured, worst first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// One entry per way of measuring (method, side, load, thread).
    #[serde(deserialize_with = "bounded_series")]
    pub series: Vec<Series>,
    /// A time-aware switch under test, where there was one. Each series is then a class's first frames after its gate's
    /// opening.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switch: Option<Switching>,
    /// A network whose streams were held against their promises. The series is then all their messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<NetworkProof>,
    /// A search over settings. There is no series then: its blocks are summed up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<Search>,
    /// What was sampled, where the measurement was of sampling.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<Signal>,
    /// What a reader may want to know and need not attend to: which CPU was taken, how many samples went where.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<String>,
    /// Sentences a reader must see beside the figures: refused privileges, contamination.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Requirements that the run was held against, and whether each was met.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requirements: Vec<Judged>,
}

impl Run {
    /// A run without series yet.
    pub fn new(tool: impl Into<String>, measurement: impl Into<Measurement>) -> Self {
        Self {
            schema: SCHEMA.into(),
            tool: tool.into(),
            measurement: measurement.into(),
            started: String::new(),
            duration_ns: 0,
            simulated: None,
            interrupted: false,
            environment: None,
            instrument: None,
            findings: Vec::new(),
            series: Vec::new(),
            switch: None,
            network: None,
            search: None,
            signal: None,
            facts: Vec::new(),
            notes: Vec::new(),
            requirements: Vec::new(),
        }
    }

    /// The JSON Schema (draft 2020-12) of this document.
    pub fn schema() -> serde_json::Value {
        schemars::schema_for!(Run).to_value()
    }

    /// Whether every requirement was met.
    pub fn met(&self) -> bool {
        self.requirements.iter().all(|r| r.met)
    }

    /// What its requirements are about did not happen, for this reason: those that were met prove nothing.
    pub fn leave_unproven(&mut self, why: &str) {
        for judged in self.requirements.iter_mut().filter(|judged| judged.met) {
            (judged.met, judged.unproven) = (false, true);
            judged.observed = format!("{}, but {why}", judged.observed);
        }
    }

    /// Whether nothing was broken, and something could not be judged.
    pub fn unproven(&self) -> bool {
        !self.met() && self.requirements.iter().all(|r| r.met || r.unproven)
    }
}

/// The newest samples of a channel, and how many samples of the run are missing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Signal {
    /// The channel, the first where there are several.
    pub channel: String,
    /// Unit of its values.
    pub unit: String,
    /// Time between samples, in ns; absent where edges trigger them.
    pub step_ns: Option<u64>,
    /// The newest samples, oldest first; `null` is a sample that is missing.
    pub values: Vec<Option<f64>>,
    /// Samples that are missing because the thread was late.
    pub missed_late: u64,
    /// Samples that are missing because nobody had taken those before out of the ring.
    pub missed_full: u64,
}

/// A requirement and how the run stood against it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Judged {
    /// As it was written: `99% < 3us`.
    pub requirement: String,
    /// Name of the series that decided (the worst).
    pub series: String,
    /// What was observed there, in words.
    #[serde(alias = "seen")]
    pub observed: String,
    /// Whether it was met.
    pub met: bool,
    /// It is neither met nor broken: what it needs to be judged by did not happen, as a load that was not reached.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unproven: bool,
}

/// No run has more; a file may.
const MOST_SERIES: usize = 4096;

/// The series, none of which is held beyond the most.
fn bounded_series<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<Series>, D::Error> {
    struct Bounded;

    impl<'de> serde::de::Visitor<'de> for Bounded {
        type Value = Vec<Series>;

        fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
            write!(f, "at most {MOST_SERIES} series")
        }

        fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut all: A) -> Result<Self::Value, A::Error> {
            let mut series = Vec::new();
            while let Some(one) = all.next_element()? {
                if series.len() == MOST_SERIES {
                    return Err(serde::de::Error::invalid_length(MOST_SERIES + 1, &self));
                }
                series.push(one);
            }
            Ok(series)
        }
    }

    deserializer.deserialize_seq(Bounded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_met_if_each_requirement_is() {
        let of = |all: &[bool]| {
            let judged = |met: &bool| Judged { met: *met, ..Judged::default() };
            Run { requirements: all.iter().map(judged).collect(), ..Run::new("t", "m") }
        };
        assert!(of(&[]).met() && of(&[true, true]).met() && !of(&[true, false]).met());
        let mut run = of(&[true, false]);
        assert!(!run.unproven());
        run.requirements[1].unproven = true;
        assert!(run.unproven() && !run.met());
        run.requirements[0].met = false;
        assert!(!run.unproven());
        let mut run = of(&[true]);
        run.requirements[0].observed = "max 2us".into();
        run.leave_unproven("there was no load");
        assert!(run.unproven() && run.requirements[0].observed == "max 2us, but there was no load");
        let mut run = of(&[true, false]);
        run.leave_unproven("there was no load");
        assert!(!run.unproven() && !run.requirements[1].unproven, "what is not met stays a failure");
    }

    #[test]
    fn names_of_version_0_1_0_are_read() {
        let text = r#"{"schema":"ontick-run/1","tool":"t","measurement":"timer",
            "findings":[{"id":"swap","seen":"on"}],
            "series":[{"name":"a","settings":{"seen_line":"sim:b/4"},"outliers_seen":7}],
            "requirements":[{"requirement":"max < 1us","series":"a","seen":"max 2us","met":false}]}"#;
        let run: Run = serde_json::from_str(text).unwrap();
        let series = &run.series[0];
        assert_eq!((run.findings[0].observed.as_str(), run.requirements[0].observed.as_str()), ("on", "max 2us"));
        assert_eq!((series.settings.watched_line.as_deref(), series.outlier_count), (Some("sim:b/4"), 7));
    }

    #[test]
    fn the_schema_names_every_field_of_a_document() {
        let schema = Run::schema();
        let document = serde_json::to_value(Run::new("t", "m")).unwrap();
        for field in document.as_object().unwrap().keys() {
            assert!(schema["properties"].get(field).is_some(), "{field}");
        }
        assert!(schema["required"].as_array().unwrap().contains(&"series".into()));
    }
}
