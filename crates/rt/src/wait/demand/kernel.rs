//! What programs must know of the running kernel.

use std::fs;
use std::io;

use ontick_bpf::btf::Types;

use super::NotCounted;

/// How long real-time threads may run in each period, in microseconds; -1 is without limit.
const ALL: &str = "/proc/sys/kernel/sched_rt_runtime_us";
/// See above; where control groups of the first version have the cpu controller.
const ROOT_GROUP: [&str; 2] = ["/sys/fs/cgroup/cpu/cpu.rt_runtime_us", "/sys/fs/cgroup/cpu,cpuacct/cpu.rt_runtime_us"];

/// What may stop real-time threads.
#[derive(Debug, Clone, Copy, Default)]
struct Limits {
    all_us: Option<i64>,
    root_group_us: Option<i64>,
    /// The kernel limits groups of threads, whatever all together may do (`CONFIG_RT_GROUP_SCHED`).
    has_groups: bool,
    /// Without groups it stops nobody then: a server has time for normal threads (Linux >= 6.12).
    has_fair_server: bool,
}

impl Limits {
    fn throttle(self) -> bool {
        let is_limit = |us: Option<i64>| us.is_some_and(|us| us >= 0);
        match self.has_groups {
            true => is_limit(self.all_us) || self.root_group_us.is_none_or(|us| us >= 0),
            false => is_limit(self.all_us) && !self.has_fair_server,
        }
    }
}

/// Numbers of the running kernel: its tracepoints, where a thread keeps what, in octets, and whether it stops real-time
/// threads that do not rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kernel {
    pub(super) wakeup: u32,
    pub(super) wakeup_new: u32,
    pub(super) migrate: u32,
    pub(super) switch: u32,
    pub(super) priority: i16,
    pub(super) number: i16,
    pub(super) is_queued: i16,
    pub(super) cpu: i16,
    pub(super) throttles: bool,
}

impl Kernel {
    /// Those of the kernel that runs. Reads some megabytes: before anything is timed.
    pub fn find() -> Result<Self, NotCounted> {
        let types = Types::of_the_kernel()?;
        let kernel = Self::of(&types).ok_or(io::Error::new(io::ErrorKind::Unsupported, "its types say too little"))?;
        let limit_us = |path| fs::read_to_string(path).ok()?.trim().parse().ok();
        let limits = Limits {
            all_us: limit_us(ALL),
            root_group_us: ROOT_GROUP.into_iter().find_map(limit_us),
            has_groups: types.function("sched_group_set_rt_runtime").is_some(),
            has_fair_server: types.member("rq", "fair_server").is_some(),
        };
        Ok(Self { throttles: limits.throttle(), ..kernel })
    }

    fn of(types: &Types) -> Option<Self> {
        let tracepoint = |name: &str| types.typedef(&format!("btf_trace_{name}"));
        let member = |structure, name| types.member(structure, name).and_then(|offset| i16::try_from(offset).ok());
        // Where a thread has its CPU depends on the architecture and the release.
        let cpu = member("task_struct", "cpu")
            .or_else(|| member("task_struct", "thread_info")?.checked_add(member("thread_info", "cpu")?));
        Some(Self {
            wakeup: tracepoint("sched_wakeup")?,
            wakeup_new: tracepoint("sched_wakeup_new")?,
            migrate: tracepoint("sched_migrate_task")?,
            switch: tracepoint("sched_switch")?,
            priority: member("task_struct", "prio")?,
            number: member("task_struct", "pid")?,
            is_queued: member("task_struct", "on_rq")?,
            cpu: cpu?,
            throttles: false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn real_time_threads_are_stopped_where_a_limit_is_in_force() {
        let throttles = |all_us, root_group_us, has_groups, has_fair_server| {
            Limits { all_us, root_group_us, has_groups, has_fair_server }.throttle()
        };
        let on = Some(950_000);
        assert!(throttles(on, None, false, false) && !throttles(on, None, false, true));
        assert!(!throttles(Some(-1), None, false, false) && !throttles(None, None, false, false));
        // Of groups the root has a limit of its own, also where it cannot be seen.
        assert!(throttles(on, Some(-1), true, true) && throttles(Some(-1), on, true, true));
        assert!(throttles(Some(-1), None, true, true) && !throttles(Some(-1), Some(-1), true, true));
    }
}
