//! Which CPUs there are, and lists of them as the kernel writes them (`0-2,5`).

mod choice;
pub mod claim;
mod counts;
mod interrupts;
mod whereabouts;

use std::fs;
use std::path::Path;

use ontick_units::CpuList;
use rustix::thread::{CpuSet, sched_getaffinity};

pub use choice::{Choice, Why, choose};
pub use counts::{InterruptCounts, InterruptRow};
pub use interrupts::Interrupt;
pub use whereabouts::Whereabouts;

/// CPUs that are online, ascending.
pub fn online() -> Vec<u32> {
    let online = listed(Path::new("/sys/devices/system/cpu/online"));
    if online.is_empty() { vec![0] } else { online }
}

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

/// The CPUs that a file of the kernel lists, of those that a thread can be bound to; none where there is no such file.
fn listed(file: &Path) -> Vec<u32> {
    let text = fs::read_to_string(file).unwrap_or_default();
    let cpus: CpuList = text.parse().unwrap_or_default();
    cpus.iter().filter(|cpu| (*cpu as usize) < CpuSet::MAX_CPU).collect()
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
    let free = claim::free(occupancy, holders, &allowed(), &online());
    let mut isolated = listed(Path::new("/sys/devices/system/cpu/isolated"));
    isolated.extend(listed(Path::new("/sys/devices/system/cpu/nohz_full")));
    // They are not among those allowed, and are to be had all the same.
    isolated.retain(|cpu| !holders.iter().any(|holder| holder.cpu == *cpu));
    choose(&online(), &free, &isolated, interrupts::at_first_sight())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_thread_runs_somewhere_online() {
        let online = online();
        assert!(allowed().iter().all(|cpu| online.contains(cpu)));
        assert!(online.contains(&preferred()));
    }
}
