//! Moving tasks between control groups, and back.

use std::io;
use std::time::{Duration, Instant};

use ontick_undo::Undone;

use super::UnmovedTask;
use crate::journal::{Journal, Undo};
use crate::ownership::{Movable, Task, sample_tasks as all, started};
use crate::root::{Root, reason};
use crate::target::Target;

/// Moves every task of a version 1 group into another; all are journaled first.
pub(super) fn move_all(
    root: &Root,
    from: &str,
    to: &str,
    target: &Target,
    journal: &mut Journal,
) -> (usize, Vec<UnmovedTask>) {
    let numbers: Vec<u32> = root.text(from).unwrap_or_default().lines().filter_map(|l| l.trim().parse().ok()).collect();
    // Workers of workqueues refuse too (EINVAL): their queue's mask decides.
    let fixed = |t: &Task| matches!(t.movable(), Movable::Bound | Movable::Workqueue);
    let (fixed, movable): (Vec<Task>, Vec<Task>) =
        all(root).into_iter().filter(|t| numbers.contains(&t.task)).partition(fixed);
    let meeting = fixed.iter().filter(|t| t.allowed.meets(&target.cpus));
    let mut stayed: Vec<UnmovedTask> = meeting.map(|t| stay(t, t.movable().remedy())).collect();
    let undo = |task: &Task| Undo::Task {
        task: task.task,
        started: task.started,
        name: task.name.clone(),
        from: from.into(),
        to: to.into(),
    };
    let first = match journal.intend_all("isolate", movable.iter().map(undo).collect()) {
        Ok(first) => first,
        Err(e) => {
            stayed.extend(movable.iter().map(|t| stay(t, &e.to_string())));
            return (0, stayed);
        }
    };
    let mut moved = 0;
    for (seq, task) in (first..).zip(&movable) {
        match root.set(to, &task.task.to_string()) {
            Ok(()) => moved += 1,
            Err(e) => {
                stayed.push(stay(task, &reason(&e)));
                // Without this line revert would look, and find the task where it always was.
                let _ = journal.void(seq);
            }
        }
    }
    (moved, stayed)
}

/// Tasks that may still run on the target's CPUs. Those of programs are left out: their group decides for them.
pub(super) fn staying(root: &Root, target: &Target) -> Vec<UnmovedTask> {
    let kernel = all(root).into_iter().filter(|t| t.kernel && t.allowed.meets(&target.cpus));
    kernel.map(|t| stay(&t, t.movable().remedy())).collect()
}

fn stay(task: &Task, why: &str) -> UnmovedTask {
    UnmovedTask { task: task.task, name: task.name.clone(), why: why.into() }
}

/// Puts a task back into the group that it was taken from, if it still runs and is still where it was put.
pub(crate) fn put_back(root: &Root, task: u32, since: u64, from: &str, to: &str) -> io::Result<Undone> {
    if started(root, task) != Some(since) {
        return Ok(Undone::Gone);
    }
    let within = |file: &str| root.text(file).is_ok_and(|t| t.lines().any(|l| l.trim() == task.to_string()));
    match () {
        () if within(to) => root.set(from, &task.to_string()).map(|()| Undone::Restored),
        () if within(from) => Ok(Undone::AlreadyAsBefore),
        () => Ok(Undone::ChangedByOthers(format!("another program has moved task {task} to another group since"))),
    }
}

/// A task that is ending keeps its group for a moment, and cannot be moved any more.
const PATIENCE: Duration = Duration::from_secs(2);
/// Where control groups are.
const MOUNT: &str = "/sys/fs/cgroup/";

/// Removes a folder of ours. What still runs in a control group, or in one that a program has made in it, goes on in the group
/// above: the kernel removes none that has tasks or groups.
pub(crate) fn remove_cgroup(root: &Root, group: &str) -> io::Result<()> {
    let began = Instant::now();
    loop {
        remove_inner(root, group);
        leave(root, group);
        match root.remove_folder(group) {
            Err(e) if e.kind() == io::ErrorKind::ResourceBusy && began.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(5));
            }
            result => return result,
        }
    }
}

/// Removes the groups in a control group, the innermost first.
fn remove_inner(root: &Root, group: &str) {
    if !group.starts_with(MOUNT) {
        return;
    }
    for name in root.list(group) {
        let inner = format!("{group}/{name}");
        // Files cannot be listed, and every group has this one.
        if root.exists(&format!("{inner}/cgroup.procs")) {
            remove_inner(root, &inner);
            leave(root, &inner);
            // One that is not empty yet is tried again.
            let _ = root.remove_folder(&inner);
        }
    }
}

fn leave(root: &Root, group: &str) {
    let Some((above, _)) = group.rsplit_once('/').filter(|_| group.starts_with(MOUNT)) else { return };
    let processes = root.text(&format!("{group}/cgroup.procs")).unwrap_or_default();
    for process in processes.lines() {
        // One that has ended meanwhile is fine.
        let _ = root.set(&format!("{above}/cgroup.procs"), process);
    }
}
