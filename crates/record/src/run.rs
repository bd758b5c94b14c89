//! The [`Run`] document: one run, everything that was seen, and what it was measured on.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

pub use crate::maxima::{Maxima, Stretch};
use crate::{Case, Finding, Histogram, Measurement, Switching};

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
    /// What stood between the machine and good timing while it was measured, worst first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// One entry per way of measuring (method, side, load, thread).
    #[serde(deserialize_with = "bounded_series")]
    pub series: Vec<Series>,
    /// A time-aware switch under test, where there was one. Each series is then a class's first frames after its gate's
    /// opening.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switch: Option<Switching>,
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
            findings: Vec::new(),
            series: Vec::new(),
            switch: None,
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
    /// What was seen there, in words.
    pub seen: String,
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
    /// Pulses: how wide they were, where pulses were made. Their latency is the absolute error of the width.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pulse: Option<Pulse>,
    /// Several waits in each cycle, where there were; the latency is then their sum.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits: Option<Waits>,
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
    pub outliers_seen: u64,
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
    /// Where it stands: `source 001`.
    pub source: String,
    /// The figure in its words: `max < 50us`.
    pub figure: String,
    /// On what it was measured, and for how long.
    pub how: String,
}

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
    /// The line that was looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seen_line: Option<String>,
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
    /// Deadlines modulo the interval on the clock, in ns.
    pub phase_ns: Option<u64>,
    /// How the phase came about: `auto`, `fixed`, `chance`.
    pub phase_choice: String,
    /// Hybrid wait: the margin before the deadline at which sleeping ended, at the end of the run, in ns.
    pub margin_ns: Option<u64>,
    /// Hybrid wait: share of the time that was spent spinning.
    pub spin_duty: Option<f64>,
    /// Clock and the source that it was read from: `monotonic (tsc)`.
    pub clock: String,
    /// How much memory the work of each cycle reads, in bytes, where it has any: the latency is then to its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work_bytes: Option<u64>,
    /// The pages of that memory: `usual`, `huge, reserved`, `huge, transparent`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pages: Option<String>,
    /// What of the cache was reserved for the CPU: `3 of 12 parts of the L3 cache`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_reserved: Option<String>,
    /// The load that ran beside: `none`, or its name and command.
    pub load: String,
    /// Latencies above this were kept as outliers, in ns.
    pub outlier_threshold_ns: u64,
    /// What was asked of the system and refused, with the reason and the remedy.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<String>,
}

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

/// JSON has no NaN or infinity; written as `null` they would make a record that cannot be read back.
fn finite<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(if value.is_finite() { *value } else { 0.0 })
}

fn all_finite<S: Serializer>(values: &Option<[f64; 3]>, serializer: S) -> Result<S::Ok, S::Error> {
    values.filter(|v| v.iter().all(|v| v.is_finite())).serialize(serializer)
}

/// The machine that a run was made on.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Environment {
    /// Board or product name: `Raspberry Pi 3 Model B Plus Rev 1.3`.
    pub machine: String,
    /// Processor model.
    pub processor: String,
    /// `x86_64`, `aarch64`, `armv7l`.
    pub architecture: String,
    /// Distribution, as it names itself.
    pub system: String,
    /// Kernel release (`uname -r`).
    pub kernel: String,
    /// Kernel build (`uname -v`).
    pub kernel_build: String,
    /// Preemption model: `PREEMPT_RT`, `full`, `lazy`, `voluntary`, `none`.
    pub preemption: String,
    /// CPUs that are online.
    pub cpus_online: u32,
    /// CPUs isolated at boot or by a cpuset partition, as a list (`3`, `2-3`); empty for none.
    pub isolated: String,
    /// CPUs without a tick when one task runs (`nohz_full`), as a list; empty for none.
    pub nohz_full: String,
    /// Frequency governor of the measured CPU; empty where there is none.
    pub governor: String,
    /// Clock source of the kernel: `tsc`, `arch_sys_counter`, `kvm-clock`.
    pub clocksource: String,
    /// Timer tick rate in Hz, where it is known.
    pub tick_hz: Option<u32>,
    /// The hypervisor that the machine runs under; empty on bare metal, `unknown` where it cannot be known.
    pub hypervisor: String,
    /// `sched_rt_runtime_us / sched_rt_period_us`; `-1` is throttling off.
    pub rt_throttling: String,
    /// Kernel command line.
    pub kernel_arguments: String,
    /// Settings that `ontick tune` had changed and that stood while it was measured, by the names of their knobs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tuned: Vec<String>,
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
