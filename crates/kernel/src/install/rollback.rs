//! The way back: boot files first, and only when all of them are as they were, the kernel's files.

use ontick_machine::Facts;
use ontick_machine::Root;
use ontick_machine::journal::{Journal, Undo};
use ontick_machine::revert::{Reverted, revert_but};
use ontick_undo::Undone;
use serde::Serialize;

use super::Installed;

/// What became of it.
#[derive(Debug, Clone, Serialize)]
pub struct RolledBack {
    /// The kernel that was installed, where that is known.
    pub kernel: Option<Installed>,
    /// What was undone.
    #[serde(flatten)]
    pub reverted: Reverted,
    /// The modules of the kernel that runs now: they stay until another one runs.
    pub modules_stay: Option<String>,
    /// Whether settings that are tuned are in the kernel's own folder: they are to be reverted first.
    pub tuned: bool,
    /// What a reader must know.
    pub notes: Vec<String>,
}

impl RolledBack {
    /// Whether the machine boots as before, and nothing is left but what the running kernel needs.
    pub fn complete(&self) -> bool {
        self.reverted.complete()
    }
}

/// Undoes an installation, a whole one or what there is of it.
pub fn rollback(root: &Root, facts: &Facts, journal: &mut Journal, force: bool, modules_too: bool) -> RolledBack {
    let kernel = Installed::find(root, journal);
    let running = Installed::modules_of(&facts.kernel.release);
    let in_use = |undo: &Undo| root.is_live() && !modules_too && undo.path() == running;
    let mut reverted = revert_but(root, journal, force, is_file_of_kernel);
    let mut notes = Vec::new();
    if reverted.complete() {
        let rest = revert_but(root, journal, force, in_use);
        reverted.steps.extend(rest.steps);
        reverted.damage.extend(rest.damage);
        reverted.stopped = rest.stopped;
        reverted.damaged = rest.damaged;
    } else {
        notes.push("the kernel's own files stay until that is settled, as a boot entry may still name them".into());
    }
    let tuned = kernel.as_ref().is_some_and(|kernel| !reverted.complete() && is_tuned(root, kernel));
    let stays = journal.entries().any(|e| in_use(&e.undo));
    RolledBack { kernel, reverted, modules_stay: stays.then_some(running), tuned, notes }
}

/// Takes back what an install did before it failed, and nothing that stood before it.
pub(super) fn take_back(root: &Root, journal: &mut Journal, before: &[Undo]) -> Result<(), String> {
    let mut reverted = revert_but(root, journal, false, |undo| is_file_of_kernel(undo) || before.contains(undo));
    if reverted.complete() {
        reverted = revert_but(root, journal, false, |undo| before.contains(undo));
    }
    let open = reverted.steps.iter().filter(|s| !s.outcome.settled());
    let reported = open.map(|s| match &s.outcome {
        Undone::Refused(why) | Undone::ChangedByOthers(why) => format!("{}: {why}", s.path),
        _ => s.path.clone(),
    });
    let left: Vec<String> = reported.chain(reverted.stopped.clone()).collect();
    if left.is_empty() { Ok(()) } else { Err(left.join(", ")) }
}

fn is_file_of_kernel(undo: &Undo) -> bool {
    matches!(undo, Undo::Tree { .. } | Undo::Placed { .. } | Undo::Folder { .. })
}

/// Whether settings that are tuned are in the kernel's own folder.
fn is_tuned(root: &Root, kernel: &Installed) -> bool {
    let own = format!("{}/", kernel.folder);
    Journal::read(root).is_ok_and(|journal| journal.entries().any(|e| e.undo.path().starts_with(&own)))
}
