//! Every setting of this machine that `ontick tune` could touch, and many more, as they are shown.

use std::collections::BTreeMap;
use std::fs;

use ontick_machine::{Facts, Root};

use crate::run;

/// Files and what they show.
pub type Settings = BTreeMap<String, String>;

/// Folders of settings, with all below them.
const FOLDERS: [&str; 5] = [
    "/proc/sys/kernel",
    "/proc/sys/vm",
    "/sys/devices/virtual/workqueue",
    "/sys/kernel/mm/transparent_hugepage",
    "/sys/devices/system/cpu/cpufreq",
];
const FILES: [&str; 19] = [
    "/proc/irq/default_smp_affinity",
    "/proc/irq/*/smp_affinity",
    "/proc/irq/*/smp_affinity_list",
    "/sys/kernel/mm/ksm/run",
    "/sys/kernel/debug/sched/preempt",
    "/sys/kernel/debug/sched/fair_server/*/runtime",
    "/sys/devices/system/cpu/online",
    "/sys/devices/system/cpu/cpu*/online",
    "/sys/devices/system/cpu/cpu*/cpuidle/state*/disable",
    "/sys/devices/system/cpu/intel_pstate/no_turbo",
    "/sys/devices/system/clocksource/clocksource0/current_clocksource",
    "/sys/class/net/*/queues/rx-*/rps_cpus",
    "/sys/class/net/*/queues/tx-*/xps_cpus",
    "/sys/module/pcie_aspm/parameters/policy",
    "/sys/fs/cgroup/*/cpu.rt_*_us",
    "/sys/fs/cgroup/*/cpuset.*s",
    "/sys/fs/cgroup/*/cpuset.sched_load_balance",
    "/sys/fs/cgroup/cgroup.subtree_control",
    "/var/lib/ontick/*",
];
/// What changes by itself, or acts when it is read: beginnings and ends of paths.
const RESTLESS: [&str; 9] = [
    "/proc/sys/kernel/ns_last_pid",
    "/proc/sys/kernel/random",
    "/proc/sys/kernel/pty",
    "/proc/sys/kernel/tainted",
    "/proc/sys/kernel/perf_event_max_sample_rate",
    "/proc/sys/kernel/hung_task_detect_count",
    "/proc/sys/vm/stat_refresh",
    "/proc/sys/vm/drop_caches",
    "/proc/sys/vm/compact_memory",
];
const COUNTERS: [&str; 6] =
    ["/stats", "/khugepaged/full_scans", "/khugepaged/pages_collapsed", "_cur_freq", "_avg_freq", "/affected_cpus"];

/// As they are now. What cannot be read is left out.
pub fn settings() -> Settings {
    let root = Root::live();
    let mut paths: Vec<String> = FILES.iter().flat_map(|pattern| root.matching(pattern)).collect();
    FOLDERS.iter().for_each(|folder| below(folder, &mut paths));
    let shown = |path: String| Some((fs::read_to_string(&path).ok()?, path));
    paths.into_iter().filter_map(shown).map(|(text, path)| (path, text)).collect()
}

fn below(folder: &str, paths: &mut Vec<String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
        match entry.file_type() {
            _ if RESTLESS.contains(&path.as_str()) || COUNTERS.iter().any(|end| path.ends_with(end)) => {}
            Ok(kind) if kind.is_dir() => below(&path, paths),
            Ok(kind) if kind.is_file() => paths.push(path),
            _ => {}
        }
    }
}

/// Those that differ, with what they were and are.
pub fn difference<'a>(before: &'a Settings, after: &'a Settings) -> BTreeMap<&'a str, [Option<&'a String>; 2]> {
    let both = before.keys().chain(after.keys());
    let pairs = both.map(|path| (path.as_str(), [before.get(path), after.get(path)]));
    pairs.filter(|(_, [before, after])| before != after).collect()
}

/// Puts everything back, should a test fail half-way: as a user would, and what is still different by hand.
pub struct AsBefore(pub Settings);

impl Drop for AsBefore {
    fn drop(&mut self) {
        run(&["tune", "revert"]);
        for (path, [before, _]) in difference(&self.0, &settings()) {
            if let Some(value) = before {
                eprintln!("{path} is put back by the test itself");
                let _ = fs::write(path, value);
            }
        }
    }
}

/// Whether nobody else sets these things meanwhile.
pub fn nobody_else_tunes() -> bool {
    let rivals = Facts::gather(&Root::live()).rivals;
    let running = rivals.iter().find(|rival| rival.running);
    if let Some(rival) = running {
        ontick_skip::skipped!("{} runs here and sets {}", rival.name, rival.sets);
    }
    running.is_none()
}
