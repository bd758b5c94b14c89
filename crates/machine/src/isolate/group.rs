//! The control groups that keep CPUs apart.

use super::{Isolated, tasks};
use crate::journal::{Journal, JournalError, Undo};
use crate::root::{FileError, Root};
use crate::target::Target;
use crate::value_format::ValueFormat;

pub(super) use crate::facts::cgroups::OWN as NAME;
const REST: &str = "ontick-rest";

/// Version 2: the kernel itself takes the CPUs from every other group.
pub(super) fn partition(root: &Root, mount: &str, target: &Target, journal: &mut Journal) -> Isolated {
    let group = format!("{mount}/{NAME}");
    let mut steps = Steps { root, journal, begun: Vec::new() };
    let state = format!("{group}/cpuset.cpus.partition");
    let cpus = target.cpus.to_string();
    let made = steps
        .set(&format!("{mount}/cgroup.subtree_control"), "+cpuset", ValueFormat::Controllers)
        .and_then(|()| steps.folder(&group))
        .and_then(|()| steps.fresh(&format!("{group}/cpuset.cpus"), &cpus))
        // Since Linux 6.7 a partition's CPUs are named here too; older kernels have no such file.
        .and_then(|()| match root.exists(&format!("{group}/cpuset.cpus.exclusive")) {
            true => steps.fresh(&format!("{group}/cpuset.cpus.exclusive"), &cpus),
            false => Ok(()),
        })
        .and_then(|()| steps.fresh(&state, "isolated"))
        .and_then(|()| match root.value(&state).unwrap_or_default() {
            s if s == "isolated" => Ok(()),
            s => Err(StepError::Kernel(s)),
        });
    let method = "cgroup v2 partition".to_owned();
    match made {
        Ok(()) => Isolated { group: Some(group), method, ..Isolated::default() },
        Err(problem) => {
            let refused = steps.take_back(problem);
            Isolated { method, refused: Some(refused), ..Isolated::default() }
        }
    }
}

/// Version 1: a group for the isolated CPUs, one for the rest, and the tasks of the root group into the rest.
pub(super) fn cpuset(root: &Root, mount: &str, target: &Target, journal: &mut Journal) -> Isolated {
    let (group, rest) = (format!("{mount}/{NAME}"), format!("{mount}/{REST}"));
    // Mounted alone (`-o noprefix`) the files have no prefix.
    let prefix = if root.exists(&format!("{mount}/cpuset.cpus")) { "cpuset." } else { "" };
    let memory = root.value(&format!("{mount}/{prefix}mems")).unwrap_or_else(|| "0".into());
    let mut steps = Steps { root, journal, begun: Vec::new() };
    let made = [(&group, &target.cpus), (&rest, &target.others)].into_iter().try_for_each(|(folder, cpus)| {
        steps.folder(folder)?;
        steps.fresh(&format!("{folder}/{prefix}cpus"), &cpus.to_string())?;
        steps.fresh(&format!("{folder}/{prefix}mems"), &memory)
    });
    let method = "cgroup v1 cpuset".to_owned();
    if let Err(problem) = made {
        let refused = steps.take_back(problem);
        return Isolated { method, refused: Some(refused), ..Isolated::default() };
    }
    // While the root group balances load over all CPUs, the isolated ones are part of that.
    let balanced = steps.set(&format!("{mount}/{prefix}sched_load_balance"), "0", ValueFormat::Plain);
    let (moved, mut stayed) =
        tasks::move_all(root, &format!("{mount}/tasks"), &format!("{rest}/tasks"), target, steps.journal);
    if let Err(why) = balanced {
        stayed.push(super::UnmovedTask { task: 0, name: "load balancing".into(), why: why.to_string() });
    }
    Isolated { group: Some(group), method, moved, stayed, refused: None }
}

/// Why a step was not made.
#[derive(Debug, thiserror::Error)]
enum StepError {
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    File(#[from] FileError),
    #[error("the kernel says: {0}")]
    Kernel(String),
    #[error("{0} is there already and not from ontick: remove it first (rmdir)")]
    Exists(String),
}

/// Journaled steps that can be taken back together.
struct Steps<'a> {
    root: &'a Root,
    journal: &'a mut Journal,
    begun: Vec<u64>,
}

impl Steps<'_> {
    /// Sets a value that was there before.
    fn set(&mut self, path: &str, wanted: &str, form: ValueFormat) -> Result<(), StepError> {
        let original = self.root.text(path).map_err(FileError::of(path, ""))?;
        if form.same(&original, wanted) {
            return Ok(());
        }
        // Where another program has changed it since, what was before ontick is in the journal.
        if self.journal.entry(path).is_some() {
            self.fresh(path, wanted)?;
            return self.holds(path, wanted, form).map(drop);
        }
        let undo = Undo::Value { path: path.into(), form, original, wanted: wanted.into() };
        let seq = self.journal.intend("isolate", undo)?;
        self.begun.push(seq);
        self.fresh(path, wanted)?;
        let set = self.holds(path, wanted, form)?;
        Ok(self.journal.done(seq, Some(set))?)
    }

    /// What is there now, if it is what was wanted.
    fn holds(&self, path: &str, wanted: &str, form: ValueFormat) -> Result<String, StepError> {
        let now = self.root.text(path).map_err(FileError::of(path, ""))?;
        if form.same(&now, wanted) { Ok(now) } else { Err(StepError::Kernel(now.trim().into())) }
    }

    /// Sets a value in a group of our own, which goes away with it.
    fn fresh(&mut self, path: &str, wanted: &str) -> Result<(), StepError> {
        Ok(self.root.set(path, wanted).map_err(FileError::of(path, ""))?)
    }

    fn folder(&mut self, path: &str) -> Result<(), StepError> {
        if self.root.exists(path) {
            return match self.journal.entry(path) {
                Some(_) => Ok(()),
                None => Err(StepError::Exists(path.into())),
            };
        }
        let seq = self.journal.intend("isolate", Undo::Folder { path: path.into() })?;
        self.begun.push(seq);
        self.root.make_folder(path).map_err(FileError::of(path, ""))?;
        Ok(self.journal.done(seq, None)?)
    }

    /// Undoes what was begun; what cannot be undone stays in the journal for revert.
    fn take_back(&mut self, problem: StepError) -> String {
        for seq in std::mem::take(&mut self.begun).into_iter().rev() {
            let Some(entry) = self.journal.entries().find(|e| e.seq == seq).cloned() else { continue };
            let undone = match &entry.undo {
                Undo::Folder { path } => tasks::remove_cgroup(self.root, path),
                Undo::Value { path, form, original, wanted } => match self.root.text(path) {
                    Ok(now) if form.same(&now, original) => Ok(()),
                    _ => self.root.set(path, &form.restoring(original, wanted)),
                },
                _ => Ok(()),
            };
            if undone.is_ok() {
                let _ = self.journal.void(seq);
            }
        }
        problem.to_string()
    }
}
