//! The kernel that was tried becomes the one that is booted.

use ontick_machine::Facts;
use ontick_machine::boot::{self, BootFiles, BootPlan, Edit, Written};
use ontick_machine::journal::{Content, Journal, JournalKind, Undo};
use ontick_machine::merge;
use ontick_machine::root::{FileError, Root};
use serde::Serialize;

use super::{Installed, KeepError, loader};

/// What `keep` would do.
#[derive(Debug, Clone, Serialize)]
pub struct Keeping {
    /// The kernel.
    pub kernel: Installed,
    /// The boot loader's files.
    pub place: BootFiles,
    /// Boot files that will change.
    pub edits: Vec<Edit>,
    /// What a reader must know.
    pub notes: Vec<String>,
}

/// Plans it. A kernel that does not run now was never seen to come up: that takes `untried`.
pub fn keeping(root: &Root, facts: &Facts, untried: bool) -> Result<Keeping, KeepError> {
    let journal = Journal::read_kind(root, JournalKind::Kernel)?;
    // After a rollback the modules of the running kernel are still there, and nothing that could be booted.
    let is_there = |kernel: &Installed| root.exists(&format!("{}/{}", kernel.folder, kernel.kernel));
    let kernel = Installed::find(root, &journal).filter(is_there).ok_or(KeepError::NotInstalled)?;
    if journal.entries().any(|e| !e.done) {
        return Err(KeepError::Interrupted);
    }
    let runs = root.is_live() && facts.kernel.release == kernel.release;
    if !runs && !untried {
        return Err(KeepError::Untried(kernel.release));
    }
    let place = boot::find(root)?;
    let mut written = loader::write(root, facts, &place, &kernel, loader::Stage::Keep)?;
    if let BootFiles::RaspberryPi { cmdline, .. } = &place {
        carry_over(root, &journal, &kernel, cmdline, &mut written)?;
    }
    for edit in &written.edits {
        refuse_tangled(root, &journal, edit)?;
    }
    Ok(Keeping { kernel, place, edits: written.edits, notes: written.notes })
}

/// Makes it the one that is booted.
pub fn keep(root: &Root, plan: &Keeping, journal: &mut Journal) -> Result<Vec<Written>, KeepError> {
    let own = plan.kernel.cmdline.as_ref().map(|name| format!("{}/{name}", plan.kernel.folder));
    // The text in its own folder first: it goes with that, the journal holds what it is.
    let (inside, outside): (Vec<&Edit>, Vec<&Edit>) =
        plan.edits.iter().partition(|e| own.as_deref() == Some(e.path.as_str()));
    for edit in inside {
        rewrite(root, &plan.kernel, edit, journal)?;
    }
    let outside = outside.into_iter().cloned().collect();
    let applied = boot::apply(root, &BootPlan::of_edits(plan.place.clone(), outside, false), journal);
    match applied.stopped {
        Some(problem) => Err(KeepError::BootFiles(problem)),
        None => Ok(applied.written),
    }
}

/// A line that was edited since the install belongs on the new kernel's command line, too.
fn carry_over(
    root: &Root,
    journal: &Journal,
    kernel: &Installed,
    shared: &str,
    written: &mut loader::Written,
) -> Result<(), KeepError> {
    let Some(name) = &kernel.cmdline else { return Ok(()) };
    let own = format!("{}/{name}", kernel.folder);
    // It is kept already.
    if shared == own {
        return Ok(());
    }
    let installed = journal.entry(&kernel.folder).and_then(|entry| match &entry.undo {
        Undo::Tree { texts, .. } => texts.iter().find(|(n, _)| n == name).map(|(_, content)| content.clone()),
        _ => None,
    });
    let text = |path: &str| root.text(path).map_err(FileError::of(path, "cannot be read"));
    let (Some(Content::Text(installed)), now) = (installed, text(shared)?) else { return Ok(()) };
    let standing = text(&own)?;
    if now == installed || now == standing {
        return Ok(());
    }
    // Their edit of the shared line, made on ours: the same as taking out of it what they did not have.
    match merge::without(&now, &installed, &standing) {
        Some(merged) => {
            written.notes.push(format!("{shared} was edited since the install: {own} follows it"));
            written.edits.extend(Edit::new(&own, Some(standing), merged));
        }
        None => written
            .notes
            .push(format!("{shared} and {own} were both edited since the install: the new kernel keeps its own")),
    }
    Ok(())
}

/// Writes a text of the kernel's own folder anew, so that the folder is still known to be ours.
fn rewrite(root: &Root, kernel: &Installed, edit: &Edit, journal: &mut Journal) -> Result<(), KeepError> {
    let name = edit.path.rsplit('/').next().unwrap_or_default();
    let foreign = || KeepError::ForeignFolder(kernel.folder.clone());
    let entry = journal.entry(&kernel.folder).cloned().ok_or_else(foreign)?;
    let Undo::Tree { path, mut texts } = entry.undo else {
        return Err(foreign());
    };
    let mut hold = |texts: &[(String, Content)]| -> Result<(), KeepError> {
        let undo = Undo::Tree { path: path.clone(), texts: texts.to_vec() };
        let seq = journal.intend(&entry.knob, undo)?;
        Ok(journal.done(seq, None)?)
    };
    // Either is ours until the new one is certainly there.
    texts.push((name.into(), Content::Text(edit.after.clone())));
    hold(&texts)?;
    root.replace(&edit.path, edit.after.as_bytes()).map_err(FileError::of(&edit.path, "cannot be written"))?;
    texts.retain(|(n, content)| n != name || content.bytes() == edit.after.as_bytes());
    hold(&texts)
}

/// Somebody edited what ontick had written: whatever is written now, the way back would not be clear.
fn refuse_tangled(root: &Root, journal: &Journal, edit: &Edit) -> Result<(), KeepError> {
    let Some(Undo::File { original, wanted, stood, .. }) = journal.entry(&edit.path).map(|e| &e.undo) else {
        return Ok(());
    };
    let Some(now) = root.bytes(&edit.path).ok().map(Content::from) else { return Ok(()) };
    if [Some(wanted), original.as_ref(), stood.as_ref()].contains(&Some(&now)) {
        return Ok(());
    }
    match (original, wanted, &now) {
        (Some(Content::Text(before)), Content::Text(wanted), Content::Text(now))
            if merge::without(before, wanted, now).is_some() =>
        {
            Ok(())
        }
        _ => Err(KeepError::Edited(edit.path.clone())),
    }
}
