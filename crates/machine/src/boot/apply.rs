//! Writing boot files: journaled, with a dated backup beside them, each whole or not at all.

use jiff::Timestamp;
use ontick_undo::program;
use serde::Serialize;

use super::{BootPlan, BootWriteError, Edit, standing};
use crate::journal::{Content, Entry, Journal, Undo};
use crate::root::{FileError, Root};

/// What became of a plan.
#[derive(Debug, Clone, Default, Serialize)]
pub struct BootApplied {
    /// Files that were written, and where the backup of each lies.
    pub written: Vec<Written>,
    /// Why it ended early, where it did: the file that it speaks of is as it was.
    pub stopped: Option<String>,
}

/// A file that was written.
#[derive(Debug, Clone, Serialize)]
pub struct Written {
    /// Which.
    pub path: String,
    /// Its dated backup; `None` for a new file.
    pub backup: Option<String>,
}

/// Writes the files of a plan. Stops at the first that cannot be written: half a change of the way a
/// machine boots is worse than none, and what was written goes back at once.
pub fn apply(root: &Root, plan: &BootPlan, journal: &mut Journal) -> BootApplied {
    let mut applied = BootApplied::default();
    let knob = if plan.trial { TRIAL } else { "boot" };
    let before: Vec<Option<Entry>> = plan.edits.iter().map(|e| journal.entry(&e.path).cloned()).collect();
    for edit in &plan.edits {
        match write(root, edit, knob, journal) {
            Ok(written) => applied.written.push(written),
            Err(problem) => {
                applied.stopped = Some(problem.to_string());
                break;
            }
        }
    }
    // Last: what was not made for good can still be tried.
    if !plan.trial && applied.stopped.is_none() {
        applied.stopped = end_trial(root, journal).err().map(|problem| problem.to_string());
    }
    if applied.stopped.is_some() {
        for ((edit, standing), _) in plan.edits.iter().zip(before).zip(&applied.written).rev() {
            take_back(root, edit, standing, journal);
        }
        applied.written.clear();
    }
    applied
}

const TRIAL: &str = "boot-trial";

fn write(root: &Root, edit: &Edit, knob: &str, journal: &mut Journal) -> Result<Written, BootWriteError> {
    if let Some(target) = root.link_target(&edit.path).filter(|_| !root.exists(&edit.path)) {
        return Err(BootWriteError::DanglingLink { path: edit.path.clone(), target });
    }
    let now = match root.bytes(&edit.path) {
        Ok(bytes) => Some(Content::from(bytes)),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => None,
        Err(e) => return Err(FileError::new(&edit.path, "cannot be read", &e).into()),
    };
    if now.as_ref().map(Content::bytes) != edit.before.as_deref().map(str::as_bytes) {
        return Err(BootWriteError::Changed(edit.path.clone()));
    }
    // A file that ontick wrote before goes back to what was there before that, with what others have edited since.
    let standing = standing::of(journal, &edit.path).cloned();
    let (original, base, backup) = match (standing.as_ref().map(|e| &e.undo), &now) {
        (Some(undo @ Undo::File { original, base, backup, .. }), Some(now)) => {
            let rest = standing::without_ours(undo, now).ok_or_else(|| BootWriteError::Edited(edit.path.clone()))?;
            // One that ontick made goes again, unless others have added to it since.
            match original.is_none() && rest == *base {
                true => (None, rest, backup.clone()),
                false => (rest, None, backup.clone()),
            }
        }
        _ => {
            let base = edit.base.clone().map(Content::Text);
            (now.clone(), base, now.as_ref().map(|_| free_name(root, &edit.path)))
        }
    };
    let wanted = Content::Text(edit.after.clone());
    let stood = now.clone().filter(|_| standing.is_some());
    let (path, backed_up) = (edit.path.clone(), backup.clone());
    let undo = Undo::File { path, original: original.clone(), wanted, backup: backed_up, stood, base };
    let seq = journal.intend(knob, undo)?;
    let written = back_up(root, &edit.path, original.as_ref(), backup.as_deref())
        .map_err(|e| FileError::new(&edit.path, "has a backup that cannot be written", &e).into())
        .and_then(|()| make_folders(root, &edit.path, journal))
        .and_then(|()| {
            let replaced = root.replace(&edit.path, edit.after.as_bytes());
            replaced.map_err(|e| FileError::new(&edit.path, "cannot be written", &e).into())
        });
    if let Err(problem) = written {
        // The entry is void only if the file is certainly as it was and nothing of ours lies beside it.
        let unchanged = root.bytes(&edit.path).ok().map(Content::from) == now;
        let keep = standing.is_some();
        let clean = root.clear_beside(&edit.path).is_ok()
            && (keep || backup.as_deref().is_none_or(|b| root.clear_beside(b).and_then(|()| root.remove(b)).is_ok()));
        if unchanged && clean {
            let _ = match standing {
                Some(entry) => journal.intend(&entry.knob, entry.undo).and_then(|again| journal.done(again, None)),
                None => journal.void(seq),
            };
        }
        return Err(problem);
    }
    match journal.done(seq, None) {
        Ok(()) => Ok(Written { path: edit.path.clone(), backup }),
        Err(problem) => {
            take_back(root, edit, standing, journal);
            Err(problem.into())
        }
    }
}

/// The copy can be read by those who may read the file.
fn back_up(root: &Root, path: &str, original: Option<&Content>, backup: Option<&str>) -> std::io::Result<()> {
    match (original, backup) {
        (Some(content), Some(backup)) if !root.exists(backup) => root.replace_like(backup, content.bytes(), Some(path)),
        _ => Ok(()),
    }
}

/// The folders of a file, where they are not there yet (`/etc/default/grub.d`), each journaled.
pub(crate) fn make_folders(root: &Root, path: &str, journal: &mut Journal) -> Result<(), BootWriteError> {
    let missing: Vec<&str> =
        path.match_indices('/').skip(1).map(|(at, _)| &path[..at]).filter(|f| !root.exists(f)).collect();
    for folder in missing {
        let seq = journal.intend("boot", Undo::Folder { path: folder.into() })?;
        root.make_folder(folder).map_err(FileError::of(folder, "cannot be made"))?;
        journal.done(seq, None)?;
    }
    Ok(())
}

/// Puts a file back after a later one of the same plan failed.
fn take_back(root: &Root, edit: &Edit, standing: Option<Entry>, journal: &mut Journal) {
    let Some(entry) = journal.entry(&edit.path).cloned() else { return };
    let back = match &edit.before {
        Some(text) => root.replace(&edit.path, text.as_bytes()),
        None => root.remove(&edit.path),
    };
    // What cannot be taken back stays in the journal, for revert.
    if back.is_err() {
        return;
    }
    let _ = match (standing, &entry.undo) {
        (Some(before), _) => journal.intend(&before.knob, before.undo).and_then(|seq| journal.done(seq, None)),
        (None, Undo::File { backup, .. }) => match backup.as_deref().map_or(Ok(()), |b| root.remove(b)) {
            Ok(()) => journal.void(entry.seq),
            Err(_) => Ok(()),
        },
        _ => Ok(()),
    };
}

/// The files of an earlier trial go when the change is made for good. One that somebody edited since stays, and in the journal.
fn end_trial(root: &Root, journal: &mut Journal) -> Result<(), BootWriteError> {
    let trial: Vec<Entry> = journal.entries().filter(|e| e.knob == TRIAL).cloned().collect();
    let mut ended = false;
    // The last one written is the one without which the others are nobody's.
    for entry in trial.iter().rev() {
        let Undo::File { path, wanted, .. } = &entry.undo else { continue };
        match root.bytes(path) {
            Ok(now) if now == wanted.bytes() => match root.remove(path) {
                Ok(()) => {}
                // Of no use any more, and still in the journal.
                Err(_) if ended => continue,
                Err(e) => return Err(FileError::new(path, "of the trial cannot be removed", &e).into()),
            },
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
            _ => continue,
        }
        ended = true;
        // A record that cannot be written stands for a file that is gone, and does no harm.
        let _ = journal.void(entry.seq);
    }
    Ok(())
}

/// `cmdline.txt.ontick-20260131-235959` (in UTC), or with a number after it where that is taken.
fn free_name(root: &Root, path: &str) -> String {
    let dated = format!("{path}.ontick-{}", Timestamp::now().strftime("%Y%m%d-%H%M%S"));
    let numbered = |n| if n == 1 { dated.clone() } else { format!("{dated}-{n}") };
    (1..).map(numbered).find(|name| !root.exists(name)).expect("some number is free")
}

/// A command that was run.
#[derive(Debug, Clone, Serialize)]
pub struct CommandOutcome {
    /// The command.
    pub command: String,
    /// What it said, if it failed.
    pub failed: Option<String>,
}

/// Runs the commands that a change of boot files asks for. In a root that is not this machine none is run.
pub fn run(root: &Root, commands: &[String]) -> Vec<CommandOutcome> {
    let one = |command: &String| {
        let failed = match program::command("sh").and_then(|mut sh| sh.args(["-c", command]).output()) {
            Ok(output) if output.status.success() => None,
            Ok(output) => Some(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
            Err(e) => Some(e.to_string()),
        };
        CommandOutcome { command: command.clone(), failed }
    };
    if root.is_live() { commands.iter().map(one).collect() } else { Vec::new() }
}
