//! The settings of a series.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a job was run. Empty or absent where the tool that measured does not say.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Settings {
    /// How the thread waited: `hybrid`, `nanosleep`, `timerfd`, ….
    pub method: String,
    /// Period, in ns; 0 where the measurement has none.
    pub interval_ns: u64,
    /// The CPU that the thread was pinned to.
    pub cpu: Option<u32>,
    /// Other CPUs on which the thread was found: its own was unplugged or taken from it during the run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub strayed_to: Vec<u32>,
    /// A second CPU, for measurements between two.
    pub peer_cpu: Option<u32>,
    /// The CPUs that the measured program and its load were confined to, as a list; absent where they had all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confined_to: Option<String>,
    /// The line that was driven, by its name on the command line: `sim:bench/4`, `gpiochip0:17`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<String>,
    /// The line that was watched.
    #[serde(alias = "seen_line", skip_serializing_if = "Option::is_none")]
    pub watched_line: Option<String>,
    /// The line whose changes the thread answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_line: Option<String>,
    /// The line that it answered on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_line: Option<String>,
    /// Who timed it where that was another machine: `latmon://192.168.1.58:2306`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observer: Option<String>,
    /// What is behind the lines: `simulated`, `character device`, the board whose registers they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backend: Option<String>,
    /// Scheduling policy and priority: `other`, `fifo:99`, `deadline:100000/1000000/1000000`.
    pub policy: String,
    /// Whether memory was locked.
    pub memory_locked: bool,
    /// All CPUs were kept out of power states that take longer than this to leave (`/dev/cpu_dma_latency`), in ns; absent where
    /// power states were left as they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wake_within_ns: Option<u64>,
    /// Whether a thread of `SCHED_IDLE` kept the CPU from idling.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub kept_awake: bool,
    /// Deadlines modulo the interval on the clock, in ns.
    pub phase_ns: Option<u64>,
    /// How the phase came about: `auto`, `fixed`, `chance`.
    pub phase_choice: String,
    /// Hybrid wait: the margin before the deadline at which sleeping ended, at the end of the run, in ns.
    pub margin_ns: Option<u64>,
    /// Hybrid wait: whether that margin was chosen instead of learned.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub margin_fixed: bool,
    /// Hybrid wait: share of the time that was spent spinning.
    pub spin_duty: Option<f64>,
    /// Clock and the source that it was read from: `monotonic (tsc)`.
    pub clock: String,
    /// Octets of each frame without its check sequence, or of what each datagram carries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub octets: Option<u32>,
    /// How much memory the work of each cycle reads, in bytes, where it has any: the latency is then to its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work_bytes: Option<u64>,
    /// The pages of that memory: `usual`, `huge, reserved`, `huge, transparent`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pages: Option<String>,
    /// What of the cache was reserved for the CPU: `3 of 12 parts of the L3 cache`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_reserved: Option<String>,
    /// Gaps shorter than this were not looked at, in ns; absent where no gaps were looked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shortest_ns: Option<u64>,
    /// How long gaps were looked for in all, in ns, without the rests of the thread: what all gaps took is a share of this.
    /// Absent where no gaps were looked for, or not each of them was seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub watched_ns: Option<u64>,
    /// The load that ran beside: `none`, or its name and command.
    pub load: String,
    /// That load ended before the measurement beside it did: some of the samples had none.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub load_ended: bool,
    /// Latencies above this were kept as outliers, in ns.
    pub outlier_threshold_ns: u64,
    /// What was asked of the system and refused, with the reason and the remedy.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<String>,
}
