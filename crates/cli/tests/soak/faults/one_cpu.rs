//! All threads of processes on one CPU, as if the others were taken offline for them.

use std::fs;

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// They may be where they were before when this goes.
pub struct Confined(Vec<(Pid, CpuSet)>);

impl Confined {
    pub fn confine(processes: &[u32]) -> Self {
        let mut found = Vec::new();
        for process in processes {
            let threads = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
            let threads = threads.filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?));
            found.extend(threads.filter_map(|thread| Some((thread, sched_getaffinity(Some(thread)).ok()?))));
        }
        let mut one = CpuSet::new();
        let first = found.first().and_then(|(_, allowed)| (0..CpuSet::MAX_CPU).find(|cpu| allowed.is_set(*cpu)));
        one.set(first.unwrap_or(0));
        for (thread, _) in &found {
            let _ = sched_setaffinity(Some(*thread), &one);
        }
        Self(found)
    }
}

impl Drop for Confined {
    fn drop(&mut self) {
        for (thread, allowed) in &self.0 {
            let _ = sched_setaffinity(Some(*thread), allowed);
        }
    }
}
