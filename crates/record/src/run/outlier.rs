//! Late samples, and what made them late.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::finite::finite;

/// One late sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Outlier {
    /// When it was seen, on the monotonic clock, in ns.
    pub at_ns: u64,
    /// How late it was, in ns.
    pub latency_ns: u64,
    /// Which of the series' causes made it late, as an index; absent where that was not looked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<u32>,
}

/// A cause of outliers, and how often it was.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Cause {
    /// `timer tick`, `device interrupt`, `softirq`, `another task`, `steal`, `outside the kernel`, ….
    pub cause: String,
    /// Which one: `mmc0`, `NET_RX`, `kworker/3:1 (other)`; empty where there is only one.
    pub detail: String,
    /// Outliers that it made.
    pub count: u64,
    /// Share of the outliers whose cause was looked for, 0 to 1.
    #[serde(serialize_with = "finite")]
    pub share: f64,
    /// Median latency of these outliers, in ns.
    pub p50_ns: u64,
    /// The largest, in ns.
    pub max_ns: u64,
    /// All of them together, in ns: the time that the cause took from the job. Of a run that was killed it is estimated.
    pub sum_ns: u64,
}

/// An outlier with what happened meanwhile.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Explained {
    /// When it was seen, on the monotonic clock, in ns.
    pub at_ns: u64,
    /// How late it was, in ns.
    pub latency_ns: u64,
    /// The cause, as in the series' causes.
    pub cause: String,
    /// Which one, as there.
    pub detail: String,
    /// Who had the CPU, in order.
    pub happened: Vec<Happening>,
    /// The kernel's functions in which another task was meanwhile, innermost first, where that was asked for and a timer
    /// interrupted one there. The address where a function's name is not known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stack: Vec<String>,
    /// The task of this stack; empty where there is none, and in records of before it was told.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub stack_of: String,
}

/// A stretch of time on the timed thread's CPU.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Happening {
    /// When it began, after the deadline (or before it, if negative), in ns.
    pub from_ns: i64,
    /// How long it was, in ns.
    pub length_ns: u64,
    /// Who had the CPU, and what the timed thread did.
    pub what: String,
}

/// The tracing that found causes, and what it cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Tracing {
    /// Events that the kernel recorded.
    pub events: u64,
    /// Events that it could not record.
    pub lost: u64,
    /// What an event cost the CPU that it happened on, in ns, measured before the run.
    pub event_cost_ns: u64,
    /// Outliers whose cause was looked for.
    pub outliers: u64,
    /// Stacks were kept, too: each costs more than another event.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub stacks: bool,
}
