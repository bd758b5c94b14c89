//! What takes the CPU from a real-time task on purpose: throttling, group limits, the fair server.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Cgroups, Kernel, KernelConfig};
use crate::root::Root;

/// The scheduler's limits for real-time tasks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Scheduling {
    /// `sched_rt_runtime_us`; -1 is no limit.
    pub runtime_us: Option<i64>,
    /// `sched_rt_period_us`.
    pub period_us: Option<i64>,
    /// Limits of groups; `None` where the kernel has no `RT_GROUP_SCHED` on version 1 groups.
    pub group: Option<RtGroup>,
    /// Whether the kernel has a fair server (Linux 6.12 and later).
    pub fair_server: bool,
    /// What the fair server gives to starving normal tasks, by CPU, where debugfs tells.
    pub fair_servers: BTreeMap<u32, FairServer>,
    /// Whether the scheduler's timer has high resolution inside a tick (`HRTICK`).
    pub hrtick: Option<bool>,
}

/// `RT_GROUP_SCHED`: real-time time is dealt out by control group.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct RtGroup {
    /// The file that limits the root group.
    pub root_file: String,
    /// Its value.
    pub root_runtime_us: Option<i64>,
    /// The group of this process.
    pub own: String,
    /// What it has.
    pub own_runtime_us: Option<i64>,
}

/// One CPU's fair server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct FairServer {
    /// Time for normal tasks in each period.
    pub runtime_ns: u64,
    /// The period.
    pub period_ns: u64,
}

impl Scheduling {
    pub(crate) fn probe(root: &Root, kernel: &Kernel, cgroups: &Cgroups, config: &KernelConfig) -> Self {
        let folder = "/sys/kernel/debug/sched/fair_server";
        let server = |name: String| {
            let read = |file| root.number(&format!("{folder}/{name}/{file}"));
            let server = FairServer { runtime_ns: read("runtime")?, period_ns: read("period")? };
            Some((name.strip_prefix("cpu")?.parse().ok()?, server))
        };
        let fair_servers: BTreeMap<u32, FairServer> = root.list(folder).into_iter().filter_map(server).collect();
        Self {
            runtime_us: root.number("/proc/sys/kernel/sched_rt_runtime_us"),
            period_us: root.number("/proc/sys/kernel/sched_rt_period_us"),
            group: group(root, cgroups),
            fair_server: kernel.at_least(6, 12) || !fair_servers.is_empty(),
            fair_servers,
            hrtick: config.has("SCHED_HRTICK"),
        }
    }
}

fn group(root: &Root, cgroups: &Cgroups) -> Option<RtGroup> {
    let mount = cgroups.v1.get("cpu")?;
    let root_file = format!("{mount}/cpu.rt_runtime_us");
    if !root.exists(&root_file) {
        return None;
    }
    let own = cgroups.own.get("cpu").cloned().unwrap_or_else(|| "/".into());
    let own_file = format!("{mount}{}/cpu.rt_runtime_us", own.trim_end_matches('/'));
    Some(RtGroup { root_runtime_us: root.number(&root_file), own_runtime_us: root.number(&own_file), root_file, own })
}
