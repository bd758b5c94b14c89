//! A series beside what an instrument recorded of the same lines.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::finite::finite;
use super::instrument::Instrument;

/// The program's own figures beside an instrument's.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct InstrumentCheck {
    /// The instrument as it was asked for: `sigrok:fx2lafw`.
    pub observer: String,
    /// The program that recorded, with its version where it says it.
    pub tool: String,
    /// The channels: of pulses one; of responses that of the input and that of the output.
    pub channels: Vec<String>,
    /// Rate, resolution and number of edges.
    pub instrument: Instrument,
    /// How long the instrument recorded, in ns of its clock.
    pub recorded_ns: u64,
    /// Edges that the program knows of.
    pub own_edges: u64,
    /// How the two belong together; absent where that could not be found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alignment: Option<Alignment>,
    /// Why they could not be aligned, in a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unaligned: Option<String>,
    /// What was compared.
    pub quantities: Vec<CheckedQuantity>,
}

/// How the instrument's clock and edges belong to the program's.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Alignment {
    /// When the program's first edge comes in the capture, in ns.
    #[serde(serialize_with = "finite")]
    pub offset_ns: f64,
    /// By how much the instrument's clock is faster than this machine's, in parts per million; absent where the edges do not
    /// tell it to 100 ppm, and the two are then taken to run alike.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_ppm: Option<f64>,
    /// Within which the rate lies with a probability of 95 %, in parts per million.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_uncertainty_ppm: Option<f64>,
    /// Standard deviation of the edges about the line between the clocks, from the median deviation, in ns.
    #[serde(serialize_with = "finite")]
    pub residual_ns: f64,
    /// Edges of both.
    pub matched: u64,
    /// Edges of the program that the instrument does not have, though it recorded then.
    pub missing: UnmatchedEdges,
    /// Edges of the instrument between the program's first and last that the program does not know of.
    pub extra: UnmatchedEdges,
    /// Edges of the program from before or after the capture.
    pub uncovered: u64,
    /// Edges of the instrument from before the program's first and after its last.
    pub outside: u64,
}

/// Edges that one of the two has alone.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct UnmatchedEdges {
    /// How many.
    pub count: u64,
    /// When the first of them came, in ns after the program's first edge.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub first_ns: Vec<u64>,
}

/// A time that both know.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Quantity {
    /// How long a pulse was.
    #[default]
    Width,
    /// From the beginning of a pulse to that of the next.
    Period,
    /// From the change of the input to that of the output.
    Response,
}

impl Quantity {
    /// As a table names it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Width => "width",
            Self::Period => "period",
            Self::Response => "response",
        }
    }
}

/// One quantity by the program and by the instrument, of the same pairs of edges.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CheckedQuantity {
    /// What.
    pub quantity: Quantity,
    /// How often both have it.
    pub count: u64,
    /// By the program.
    pub own: Figures,
    /// By the instrument, in this machine's time where the rate between the clocks is known.
    pub instrument: Figures,
    /// By how much the instrument's is longer, each time.
    pub difference: Figures,
}

/// Figures of many times, in ns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Figures {
    /// The smallest.
    #[serde(serialize_with = "finite")]
    pub min_ns: f64,
    /// The mean.
    #[serde(serialize_with = "finite")]
    pub mean_ns: f64,
    /// The median.
    #[serde(serialize_with = "finite")]
    pub p50_ns: f64,
    /// The 99th percentile.
    #[serde(serialize_with = "finite")]
    pub p99_ns: f64,
    /// The largest.
    #[serde(serialize_with = "finite")]
    pub max_ns: f64,
}
