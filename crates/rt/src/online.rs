//! CPUs as the kernel's own lists have them.

use std::fs;
use std::path::Path;

use ontick_units::CpuList;
use rustix::thread::CpuSet;

/// CPUs that are online, ascending.
pub fn online() -> Vec<u32> {
    let online = listed(Path::new("/sys/devices/system/cpu/online"));
    if online.is_empty() { vec![0] } else { online }
}

/// The CPUs that a file of the kernel lists, of those that a thread can be bound to; none where there is no such file.
pub(crate) fn listed(file: &Path) -> Vec<u32> {
    let text = fs::read_to_string(file).unwrap_or_default();
    let cpus: CpuList = text.parse().unwrap_or_default();
    cpus.iter().filter(|cpu| (*cpu as usize) < CpuSet::MAX_CPU).collect()
}
