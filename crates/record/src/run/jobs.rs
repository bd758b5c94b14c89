//! What a series has besides latencies: pulses, several waits in a cycle, dips of an input, requests and answers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Histogram;

/// Pulses of a line, as they were measured.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Pulse {
    /// How wide they should have been, in ns.
    pub wanted_ns: u64,
    /// Time between them that was asked for, in ns.
    pub gap_ns: u64,
    /// How wide they were.
    pub width: Histogram,
    /// The first pulses, one by one: when each rose after the first did, and how wide it was, in ns. Records of before
    /// have none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub first: Vec<(u64, u64)>,
    /// What measured the widths: the line itself, another line joined to it, or the clock around the writes.
    pub measured_by: String,
    /// Constant overhead of the mechanism that calibration found and subtracted from what was asked of it, in ns;
    /// absent where nothing was subtracted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subtracted_ns: Option<i64>,
}

/// Several waits in each cycle of a loop, seen together. Each wait has a series of its own beside.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Waits {
    /// How many there are in a cycle.
    pub count: u32,
    /// How long each but the first was to take, in ns.
    pub gap_ns: u64,
    /// The largest latency among the waits of each cycle.
    pub largest: Histogram,
    /// The second largest: it says how often two waits of one cycle were late.
    pub second: Histogram,
}

/// Requests to another station, and what became of them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RoundTrips {
    /// By what they went: `eth1`, `virtual Ethernet, no wire`.
    pub link: String,
    /// Who was to answer.
    pub responder: String,
    /// An answer is late after this, from when its request was to be sent, in ns.
    pub deadline_ns: u64,
    /// Requests that were handed over.
    pub sent: u64,
    /// Answers that were there when the next request was due.
    pub answered: u64,
    /// Of those: answers beyond the deadline.
    pub late: u64,
    /// Periods without a request, because the requester was held up.
    pub skipped: u64,
    /// Requests that the kernel did not take.
    pub refused: u64,
    /// Answers that came after the next request was due; their periods are missed.
    pub overdue: u64,
    /// Answers to a request that was answered before.
    pub duplicates: u64,
    /// Answers that came after that to a later request.
    pub out_of_order: u64,
}

impl RoundTrips {
    /// Adds the counts of another stretch of the same way.
    pub fn add(&mut self, more: &Self) {
        for (all, more) in [
            (&mut self.sent, more.sent),
            (&mut self.answered, more.answered),
            (&mut self.late, more.late),
            (&mut self.skipped, more.skipped),
            (&mut self.refused, more.refused),
            (&mut self.overdue, more.overdue),
            (&mut self.duplicates, more.duplicates),
            (&mut self.out_of_order, more.out_of_order),
        ] {
            *all = all.saturating_add(more);
        }
    }

    /// Requests that were never answered, as far as anybody waited.
    pub fn lost(&self) -> u64 {
        self.sent.saturating_sub(self.answered).saturating_sub(self.overdue)
    }
}

/// The shortest time for which an input fell and rose again that was still detected.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Dip {
    /// The share of the dips of a width that must be detected.
    pub share: f64,
    /// The shortest width that was searched, in ns.
    pub low_ns: u64,
    /// The longest, in ns.
    pub high_ns: u64,
    /// Between neighbouring widths, in ns.
    pub step_ns: u64,
    /// The shortest width of which both edges are detected, in ns; absent where those of the longest are not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub both_ns: Option<u64>,
    /// The shortest of which at least one edge is detected, in ns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub one_ns: Option<u64>,
    /// What was tried, by width.
    pub points: Vec<DipPoint>,
}

/// Dips of one width.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct DipPoint {
    /// How wide they were, in ns.
    pub width_ns: u64,
    /// How many were driven.
    pub dips: u64,
    /// Of how many both edges were detected.
    pub both: u64,
    /// Of how many at least one was.
    pub one: u64,
}
