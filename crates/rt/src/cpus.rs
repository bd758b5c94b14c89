//! Which CPUs there are, and lists of them as the kernel writes them (`0-2,5`).

mod choice;
pub mod claim;
mod interrupts;
mod whereabouts;

use std::fs;

use rustix::thread::{CpuSet, sched_getaffinity};

pub use choice::{Choice, Why, choose};
pub use interrupts::Interrupt;
pub use whereabouts::Whereabouts;

/// CPUs that are online, ascending.
pub fn online() -> Vec<u32> {
    let listed = fs::read_to_string("/sys/devices/system/cpu/online").ok().and_then(|text| parse_list(&text));
    listed.filter(|cpus| !cpus.is_empty()).unwrap_or_else(|| vec![0])
}

/// CPUs that the calling thread may run on, ascending.
pub fn allowed() -> Vec<u32> {
    sched_getaffinity(None).map(|set| members(&set)).unwrap_or_else(|_| online())
}

/// The members of a set, ascending.
pub(crate) fn members(set: &CpuSet) -> Vec<u32> {
    (0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).map(|cpu| cpu as u32).collect()
}

/// Reads a CPU list: `3`, `0-2,5`; an empty text is an empty list, `None` if it is not a list.
///
/// ```
/// assert_eq!(ontick_rt::cpus::parse_list("0-2,5\n"), Some(vec![0, 1, 2, 5]));
/// assert_eq!(ontick_rt::cpus::parse_list("two"), None);
/// ```
pub fn parse_list(text: &str) -> Option<Vec<u32>> {
    let mut cpus = Vec::new();
    for part in text.trim().split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        if first > last || last as usize >= CpuSet::MAX_CPU {
            return None;
        }
        cpus.extend(first..=last);
    }
    cpus.sort_unstable();
    cpus.dedup();
    Some(cpus)
}

/// CPUs that the scheduler puts no normal task on: isolated at boot (`isolcpus=`) or by a cpuset partition.
pub fn isolated() -> Vec<u32> {
    let mut cpus = listed("/sys/devices/system/cpu/isolated");
    cpus.extend(listed("/sys/fs/cgroup/cpuset.cpus.isolated"));
    cpus
}

fn listed(path: &str) -> Vec<u32> {
    fs::read_to_string(path).ok().and_then(|text| parse_list(&text)).unwrap_or_default()
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
    let mut isolated = listed("/sys/devices/system/cpu/isolated");
    isolated.extend(listed("/sys/devices/system/cpu/nohz_full"));
    // They are not among those allowed, and are to be had all the same.
    isolated.retain(|cpu| !holders.iter().any(|holder| holder.cpu == *cpu));
    choose(&online(), &free, &isolated, interrupts::at_first_sight())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_list_is_answered(text in "[0-9,\\- \n]{0,24}") {
            let _ = parse_list(&text);
        }
    }

    #[test]
    fn this_thread_runs_somewhere_online() {
        let online = online();
        assert!(allowed().iter().all(|cpu| online.contains(cpu)));
        assert!(online.contains(&preferred()));
    }

    #[test]
    fn a_huge_range_is_refused_without_filling_memory() {
        assert_eq!(parse_list("0-4294967295"), None);
    }
}
