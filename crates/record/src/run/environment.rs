//! The environment of a run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
