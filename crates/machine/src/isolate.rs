//! Keeping CPUs for one program without a reboot: a version 2 partition where the kernel has it, else
//! version 1 cpusets and every movable task moved away. Everything is journaled and reverted like a knob.

mod group;
pub(crate) mod tasks;

use serde::Serialize;

use crate::facts::Facts;
use crate::journal::Journal;
use crate::root::Root;
use crate::target::Target;
use ontick_units::CpuList;

/// What isolation did.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Isolated {
    /// The group for programs that are to run on the isolated CPUs.
    pub group: Option<String>,
    /// How: `cgroup v2 partition`, `cgroup v1 cpuset`.
    pub method: String,
    /// Tasks that were moved away.
    pub moved: usize,
    /// Tasks that may still run there, and why they were not moved.
    pub stayed: Vec<UnmovedTask>,
    /// Why it could not be done, where it could not.
    pub refused: Option<String>,
}

/// Why no CPU can be isolated while the machine runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IsolateError {
    /// The target does not ask for it.
    #[error("isolation moves other programs' tasks: it must be asked for")]
    NotAsked,
    /// Nothing would be left for the others.
    #[error("this machine has one CPU: none can be isolated")]
    OneCpu,
    /// The kernel lacks an option.
    #[error("this kernel is built without CPUSETS: isolate at boot instead")]
    NoCpusets,
    /// The control groups are not there.
    #[error("no cpuset control group is mounted: isolate at boot instead")]
    NotMounted,
}

/// A task that could not be moved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UnmovedTask {
    /// Its thread number.
    pub task: u32,
    /// Its name.
    pub name: String,
    /// Why.
    pub why: String,
}

/// Isolates the target's CPUs. Moves other programs' tasks, so the caller must want that.
pub fn isolate(root: &Root, facts: &Facts, target: &Target, journal: &mut Journal) -> Result<Isolated, IsolateError> {
    if !target.isolate {
        return Err(IsolateError::NotAsked);
    }
    if !target.can_dedicate() {
        return Err(IsolateError::OneCpu);
    }
    let groups = &facts.cgroups;
    let partition = groups.v2.as_deref().filter(|_| groups.controllers.iter().any(|c| c == "cpuset"));
    let mut isolated = match (partition, groups.v1.get("cpuset")) {
        (Some(mount), v1) => {
            let done = group::partition(root, mount, target, journal);
            match (done.refused.is_some(), v1) {
                (true, Some(v1)) => group::cpuset(root, v1, target, journal),
                _ => done,
            }
        }
        (None, Some(v1)) => group::cpuset(root, v1, target, journal),
        (None, None) => return Err(no_cpuset(facts)),
    };
    let known: Vec<u32> = isolated.stayed.iter().map(|s| s.task).collect();
    isolated.stayed.extend(tasks::staying(root, target).into_iter().filter(|s| !known.contains(&s.task)));
    Ok(isolated)
}

/// The group that an earlier isolation made and that is still there.
pub fn standing(journal: &Journal) -> Option<String> {
    let ours = |path: &str| path.starts_with("/sys/fs/cgroup") && path.ends_with(&format!("/{}", group::NAME));
    journal.entries().map(|e| e.undo.path()).find(|path| ours(path)).map(str::to_owned)
}

/// The CPUs of such a group.
pub fn cpus(root: &Root, group: &str) -> Option<CpuList> {
    ["cpuset.cpus", "cpus"].iter().find_map(|file| root.value(&format!("{group}/{file}")))?.parse().ok()
}

fn no_cpuset(facts: &Facts) -> IsolateError {
    match facts.config.has("CPUSETS") {
        Some(false) => IsolateError::NoCpusets,
        _ => IsolateError::NotMounted,
    }
}
