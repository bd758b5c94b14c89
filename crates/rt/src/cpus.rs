//! Which CPUs there are, and lists of them as the kernel writes them (`0-2,5`).

mod choice;
pub mod claim;
mod command_line;
mod counts;
mod interrupts;
mod rivals;
mod whereabouts;

use std::collections::BTreeMap;
use std::path::Path;

use rustix::thread::{CpuSet, sched_getaffinity};

pub use choice::{Choice, Why, choose};
pub use counts::{InterruptCounts, InterruptRow};
pub use interrupts::Interrupt;
pub use rivals::{Rival, RivalWatch};
pub use whereabouts::Whereabouts;

use crate::online::listed;
pub use crate::online::online;

/// CPUs that the calling thread may run on, ascending.
pub fn allowed() -> Vec<u32> {
    sched_getaffinity(None).map(|set| members(&set)).unwrap_or_else(|_| online())
}

/// The members of a set, ascending.
pub(crate) fn members(set: &CpuSet) -> Vec<u32> {
    (0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).map(|cpu| cpu as u32).collect()
}

/// CPUs that the scheduler puts no normal task on: isolated at boot (`isolcpus=`) or by a cpuset partition.
pub fn isolated() -> Vec<u32> {
    let mut cpus = listed(Path::new("/sys/devices/system/cpu/isolated"));
    cpus.extend(listed(Path::new("/sys/fs/cgroup/cpuset.cpus.isolated")));
    cpus
}

/// The CPU to dedicate when the user names none; [`choose`] says how it is found.
pub fn preferred() -> u32 {
    preference().cpu
}

/// The CPU to dedicate when the user names none, and why that one: of those that no other process holds, if there are any.
pub fn preference() -> Choice {
    preference_beside(&claim::holders(), claim::Occupancy::Rests)
}

/// The same for a thread of this occupancy, beside these holders.
fn preference_beside(holders: &[claim::Holder], occupancy: claim::Occupancy) -> Choice {
    let pinned = rivals::pinned_at_first_sight();
    let (online, allowed) = (online(), allowed());
    let mut isolated = listed(Path::new("/sys/devices/system/cpu/isolated"));
    isolated.extend(listed(Path::new("/sys/devices/system/cpu/nohz_full")));
    let interrupts = interrupts::at_first_sight();
    let expected = choose(&online, &allowed, &isolated, interrupts).cpu;

    let free = free_of_rivals(claim::free(occupancy, holders, &allowed, &online), pinned);
    // They are not among those allowed, and are to be had all the same.
    isolated.retain(|cpu| !holders.iter().any(|holder| holder.cpu == *cpu) && !pinned.contains_key(cpu));
    let choice = choose(&online, &free, &isolated, interrupts);
    let holder = holders.iter().find(|holder| holder.cpu == expected).map(ToString::to_string);
    match holder.or_else(|| pinned.get(&expected).map(Rival::process)).filter(|_| choice.cpu != expected) {
        Some(by) => Choice { why: Why::Occupied { cpu: expected, by }, ..choice },
        None => choice,
    }
}

/// A real-time thread of another process that is pinned to this CPU, as it was when this was first asked.
pub fn pinned_rival(cpu: u32) -> Option<&'static Rival> {
    rivals::pinned_at_first_sight().get(&cpu)
}

/// Those without a real-time thread that is pinned there; all where each has one.
fn free_of_rivals(cpus: Vec<u32>, pinned: &BTreeMap<u32, Rival>) -> Vec<u32> {
    let free: Vec<u32> = cpus.iter().copied().filter(|cpu| !pinned.contains_key(cpu)).collect();
    if free.is_empty() { cpus } else { free }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_with_a_pinned_real_time_thread_is_taken_only_where_there_is_no_other() {
        let rival = Rival {
            pid: 7,
            tid: 8,
            thread: "loop".into(),
            command: String::new(),
            policy: crate::thread::Policy::Fifo(99),
            ran_ns: 0,
        };
        let on = |cpus: &[u32]| cpus.iter().map(|cpu| (*cpu, rival.clone())).collect::<BTreeMap<_, _>>();
        assert_eq!(free_of_rivals(vec![0, 1, 3], &on(&[3])), [0, 1]);
        assert_eq!(free_of_rivals(vec![0, 1], &on(&[0, 1])), [0, 1]);
        assert_eq!(free_of_rivals(vec![0, 1], &on(&[])), [0, 1]);
    }

    #[test]
    fn this_thread_runs_somewhere_online() {
        let online = online();
        assert!(allowed().iter().all(|cpu| online.contains(cpu)));
        assert!(online.contains(&preferred()));
    }
}
