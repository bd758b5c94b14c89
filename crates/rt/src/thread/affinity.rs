//! Which CPU a thread runs on.

use std::io;

use rustix::thread::{CpuSet, sched_setaffinity};

use super::Refusal;
use crate::online::online;

/// Lets the calling thread run on these CPUs only.
pub fn set_affinity(cpus: &[u32]) -> io::Result<()> {
    set_affinity_of(0, cpus)
}

/// Lets thread `tid` of this process (0: the calling one) run on these CPUs only.
pub fn set_affinity_of(tid: i32, cpus: &[u32]) -> io::Result<()> {
    let mut set = CpuSet::new();
    cpus.iter().filter(|cpu| (**cpu as usize) < CpuSet::MAX_CPU).for_each(|cpu| set.set(*cpu as usize));
    Ok(sched_setaffinity(rustix::process::Pid::from_raw(tid), &set)?)
}

/// Pins the calling thread.
pub(super) fn pin(cpu: u32) -> Result<(), Refusal> {
    let what = format!("CPU {cpu}");
    let online = online();
    if !online.contains(&cpu) {
        let list: Vec<String> = online.iter().map(u32::to_string).collect();
        return Err(Refusal::new(what, "it is not online", format!("choose one of CPU {}", list.join(", "))));
    }
    set_affinity(&[cpu]).map_err(|error| {
        let why = format!("{error}: this process is confined to other CPUs");
        Refusal::new(what, why, "choose one that Cpus_allowed_list in /proc/self/status names, or change the cpuset")
    })
}
