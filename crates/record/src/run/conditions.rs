//! What the machine did while a series was measured.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::finite::all_finite;

/// Events in the timed section that a clean run does not have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Contamination {
    /// Page faults served without I/O (getrusage `ru_minflt`).
    pub minor_faults: u64,
    /// Page faults that needed I/O (`ru_majflt`).
    pub major_faults: u64,
    /// Times the thread gave up the CPU itself, as sleeping does (`ru_nvcsw`).
    pub voluntary_switches: u64,
    /// Times the scheduler took the CPU away (`ru_nivcsw`).
    pub involuntary_switches: u64,
}

/// What the machine did while a series was measured.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Conditions {
    /// Load averages (1, 5, 15 minutes) at the end.
    #[serde(serialize_with = "all_finite")]
    pub load_average: Option<[f64; 3]>,
    /// Time that the hypervisor took from all CPUs, in ns (10 ms resolution).
    pub steal_ns: u64,
    /// Idle time of all CPUs, in ns (10 ms resolution).
    pub idle_ns: u64,
    /// Interrupts on the measured CPU by name; on all CPUs where the thread was not pinned.
    pub interrupts: BTreeMap<String, u64>,
    /// Lowest and highest frequency seen on the measured CPU, in kHz.
    pub cpu_khz: Option<(u64, u64)>,
    /// Real-time threads of other processes that ran on the measured CPU and that the measured thread had to wait for:
    /// where there is one, the series is contended, and its latency is not the machine's alone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rivals: Vec<Rival>,
}

/// A real-time thread of another process on the measured CPU.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Rival {
    /// Its process.
    pub pid: u32,
    /// The thread.
    pub tid: u32,
    /// The thread's name.
    pub thread: String,
    /// The beginning of its process's command line.
    pub command: String,
    /// Its policy, as in the settings.
    pub policy: String,
    /// How long it ran on the measured CPU meanwhile, in ns.
    pub ran_ns: u64,
}
