//! The way back: every change that is in force is undone, the latest first. What somebody else changed
//! meanwhile is reported and left, unless forced.

use std::io;

use ontick_undo::Undone;
use serde::Serialize;

use crate::boot::grubenv;
use crate::isolate;
use crate::journal::{Balanced, Content, Entry, Journal, JournalError, Undo};
use crate::merge;
use crate::root::{IRQBALANCE, Root, reason};
use crate::tree;
use crate::value_format::ValueFormat;

/// What became of the changes that stood.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Reverted {
    /// One for each change, in the order of undoing.
    pub steps: Vec<Step>,
    /// Changes that a restart of the machine had undone before.
    pub undone_by_restart: usize,
    /// Commands that the machine must still run, so that the way it boots follows its files.
    pub commands: Vec<String>,
    /// Where the journal is kept, as a line of it cannot be read and what it announced may stand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub damaged: Option<&'static str>,
    /// Lines of the journal that could not be read.
    pub damage: Vec<String>,
    /// Why the journal could not be brought up to date, where it could not; values were restored all the same.
    pub stopped: Option<String>,
}

impl Reverted {
    /// Whether everything is as it was.
    pub fn complete(&self) -> bool {
        self.stopped.is_none() && self.damaged.is_none() && self.steps.iter().all(|s| s.outcome.settled())
    }
}

/// What became of one change.
#[derive(Debug, Clone, Serialize)]
pub struct Step {
    /// The knob.
    pub knob: String,
    /// The file, link, folder or task.
    pub path: String,
    /// The value that is to stand again; empty for files.
    pub original: String,
    /// Whether it is a value; of anything else the outcome says why in words.
    #[serde(skip)]
    pub is_value: bool,
    /// How it went.
    #[serde(flatten)]
    pub outcome: Undone,
}

/// Undoes everything in the journal.
pub fn revert(root: &Root, journal: &mut Journal, force: bool) -> Reverted {
    revert_but(root, journal, force, |_| false)
}

/// Undoes everything in the journal but some of it, which stays there.
pub fn revert_but(root: &Root, journal: &mut Journal, force: bool, stays: impl Fn(&Undo) -> bool) -> Reverted {
    let mut reverted = Reverted {
        undone_by_restart: journal.undone_by_restart(),
        damage: journal.damage().to_vec(),
        damaged: journal.lost_something().then(|| journal.damaged()),
        ..Reverted::default()
    };
    let entries: Vec<Entry> = journal.entries().rev().filter(|e| !stays(&e.undo)).cloned().collect();
    let outcomes = undo_all(root, &entries, force);
    let settled: Vec<u64> = entries.iter().zip(&outcomes).filter(|(_, o)| o.settled()).map(|(e, _)| e.seq).collect();
    let kept = journal.forget(&settled).err().map(|e: JournalError| e.to_string());
    reverted.stopped = kept;
    reverted.commands = crate::boot::commands_after(root, entries.iter().map(|e| e.undo.path()));
    let done = entries.into_iter().zip(outcomes);
    // What the kernel could have changed along and did not is no change.
    let shown = done.filter(|(e, o)| !matches!((&e.undo, o), (Undo::Along { .. }, Undone::AlreadyAsBefore)));
    reverted.steps = shown.map(|(entry, outcome)| step(entry, outcome)).collect();
    reverted
}

/// Undoes everything in the journal and leaves it there, for the process that holds the journal and goes on with it.
pub fn undo_for_holder(root: &Root, journal: &Journal) {
    let entries: Vec<Entry> = journal.entries().rev().cloned().collect();
    undo_all(root, &entries, false);
}

fn undo_all(root: &Root, entries: &[Entry], force: bool) -> Vec<Undone> {
    // Found out beforehand: restoring one value may make the kernel change another.
    let balanced = Balanced::new(root, entries);
    let theirs: Vec<Option<String>> =
        entries.iter().map(|e| if force { None } else { set_by_others(root, e, &balanced) }).collect();
    let undo = |(entry, theirs): (&Entry, &Option<String>)| undo(root, entry, theirs.as_deref(), force);
    let mut outcomes: Vec<Undone> = entries.iter().zip(&theirs).map(undo).collect();
    // What was refused may have waited for something later in the list (a limit, a group that held tasks).
    for (entry, outcome) in entries.iter().zip(&theirs).zip(&mut outcomes) {
        if matches!(outcome, Undone::Refused(_) | Undone::Superseded(_)) {
            *outcome = undo(entry);
        }
    }
    // A folder that holds something of ours yet goes later.
    for at in 0..entries.len() {
        let Undo::Folder { path } = &entries[at].undo else { continue };
        let below = |(e, o): (&Entry, &Undone)| !o.settled() && e.undo.path().starts_with(&format!("{path}/"));
        if matches!(outcomes[at], Undone::Superseded(_)) && entries.iter().zip(&outcomes).any(below) {
            outcomes[at] = Undone::Refused("it holds what is still to be put back".into());
        }
    }
    outcomes
}

fn step(entry: Entry, outcome: Undone) -> Step {
    let original = match &entry.undo {
        Undo::Value { form, original, .. } | Undo::Along { form, original, .. } => Some(form.value(original)),
        _ => None,
    };
    Step {
        path: entry.undo.path().into(),
        knob: entry.knob,
        is_value: original.is_some(),
        original: original.unwrap_or_default(),
        outcome,
    }
}

/// The value, where it is neither the one that ontick left there nor the one from before.
fn set_by_others(root: &Root, entry: &Entry, balanced: &Balanced) -> Option<String> {
    let (path, form, original, wanted) = match &entry.undo {
        Undo::Value { path, form, original, wanted } => (path, form, original, Some(wanted)),
        Undo::Along { path, form, original } => (path, form, original, None),
        _ => return None,
    };
    // ontick was stopped around this write: whatever the kernel made of it is ontick's.
    let now = root.text(path).ok().filter(|_| entry.done)?;
    let ours = [original].into_iter().chain(wanted).chain(&entry.readback).any(|last| form.same(&now, last));
    (!ours && !balanced.chose(entry, &now)).then_some(now)
}

fn undo(root: &Root, entry: &Entry, theirs: Option<&str>, force: bool) -> Undone {
    let undone = match &entry.undo {
        Undo::Value { path, form, original, wanted } => {
            let restoring = form.restoring(original, wanted);
            take_back_pending(root, entry, path, &restoring)
                .and_then(|()| undo_value(root, path, *form, original, &restoring, theirs))
        }
        Undo::Along { path, form, original } => undo_value(root, path, *form, original, &form.value(original), theirs),
        Undo::File { path, original, wanted, backup, stood, base } => {
            let ours = |now: &[u8]| now == wanted.bytes() || stood.as_ref().is_some_and(|s| now == s.bytes());
            let rest = original.as_ref().or(base.as_ref());
            undo_file(root, path, (original.as_ref(), rest, wanted), backup.as_deref(), ours, force)
        }
        Undo::Link { path, target } => match root.link_target(path) {
            None => Ok(Undone::AlreadyAsBefore),
            Some(now) if now != *target && !force => Ok(Undone::ChangedByOthers(format!("it points to {now} now"))),
            Some(_) => root.remove(path).map(|()| Undone::Restored),
        },
        Undo::Folder { path } if !root.exists(path) => Ok(Undone::AlreadyAsBefore),
        Undo::Folder { path } => undo_folder(root, path),
        Undo::Tree { path, texts } => tree::remove_tree(root, path, texts, force),
        Undo::Placed { path, size, crc } => tree::remove_placed(root, path, (*size, *crc), force),
        Undo::Variable { path, key, original, wanted } => undo_variable(root, path, key, original.as_deref(), wanted),
        Undo::Firmware { path, original, wanted } => undo_firmware(root, path, original.as_ref(), wanted),
        Undo::Task { task, started, from, to, .. } => isolate::tasks::put_back(root, *task, *started, from, to),
    };
    undone.unwrap_or_else(|e| Undone::Refused(reason(&e)))
}

/// What irqbalance was told when ontick was stopped may not show yet, and come later.
fn take_back_pending(root: &Root, entry: &Entry, path: &str, restoring: &str) -> io::Result<()> {
    match path == IRQBALANCE && !entry.done && root.exists(path) {
        true => root.set(path, restoring),
        false => Ok(()),
    }
}

fn undo_folder(root: &Root, path: &str) -> io::Result<Undone> {
    match isolate::tasks::remove_cgroup(root, path) {
        Err(e) if e.kind() == io::ErrorKind::DirectoryNotEmpty && !path.starts_with("/sys/") => {
            Ok(Undone::Superseded("others keep files in it".into()))
        }
        removed => removed.map(|()| Undone::Restored),
    }
}

fn undo_value(
    root: &Root,
    path: &str,
    form: ValueFormat,
    original: &str,
    restoring: &str,
    theirs: Option<&str>,
) -> io::Result<Undone> {
    let now = match root.text(path) {
        Ok(now) => now,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Undone::Gone),
        Err(e) => return Err(e),
    };
    if let Some(theirs) = theirs {
        if !form.same(&now, theirs) {
            root.set(path, &form.value(theirs))?;
        }
        return Ok(Undone::ChangedByOthers(form.value(theirs)));
    }
    if form.same(&now, original) {
        return Ok(Undone::AlreadyAsBefore);
    }
    root.set(path, restoring)?;
    let now = root.text(path)?;
    match form.same(&now, original) {
        true => Ok(Undone::Restored),
        false => Ok(Undone::Refused(format!("the kernel shows {} instead", form.value(&now)))),
    }
}

/// `rest` is what it holds without ontick's part where others have edited it.
fn undo_file(
    root: &Root,
    path: &str,
    (original, rest, wanted): (Option<&Content>, Option<&Content>, &Content),
    backup: Option<&str>,
    ours: impl Fn(&[u8]) -> bool,
    force: bool,
) -> io::Result<Undone> {
    root.clear_beside(path)?;
    let now = match root.bytes(path) {
        Ok(bytes) => Some(bytes),
        Err(e) if e.kind() == io::ErrorKind::NotFound => None,
        Err(e) => return Err(e),
    };
    let as_before = now.as_deref() == original.map(Content::bytes);
    let edited = !as_before && !now.as_deref().is_some_and(ours) && !force;
    if edited {
        let text =
            |content: Option<&Content>| content.and_then(|c| std::str::from_utf8(c.bytes()).ok().map(str::to_owned));
        let now = now.and_then(|bytes| String::from_utf8(bytes).ok());
        let (Some(rest), Some(wanted), Some(now)) = (text(rest), text(Some(wanted)), now) else {
            return Ok(Undone::ChangedByOthers("the file was edited".into()));
        };
        match merge::without(&rest, &wanted, &now) {
            Some(merged) => root.replace(path, merged.as_bytes())?,
            None => return Ok(Undone::ChangedByOthers("the file was edited where ontick had changed it".into())),
        }
    } else if !as_before {
        match original {
            // Where somebody removed the file, its copy has its mode.
            Some(content) => root.replace_like(path, content.bytes(), backup)?,
            None => root.remove(path)?,
        }
    }
    if let Some(backup) = backup {
        root.clear_beside(backup)?;
        root.remove(backup)?;
    }
    Ok(match (as_before, edited) {
        (true, _) => Undone::AlreadyAsBefore,
        (false, true) => Undone::TakenOut,
        (false, false) => Undone::Restored,
    })
}

/// A boot loader empties such a variable itself once it has acted upon it, and leaves its name there.
fn undo_variable(root: &Root, path: &str, key: &str, original: Option<&str>, wanted: &str) -> io::Result<Undone> {
    root.clear_beside(path)?;
    let text = match root.text(path) {
        Ok(text) => text,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Undone::Gone),
        Err(e) => return Err(e),
    };
    let now = grubenv::get(&text, key);
    let is_ours = now == Some(wanted) || now == Some("") && original.is_none();
    if !is_ours {
        return Ok(Undone::AlreadyAsBefore);
    }
    root.replace(path, grubenv::with(&text, key, original).map_err(io::Error::other)?.as_bytes())?;
    Ok(Undone::Restored)
}

/// A boot loader removes such a variable once it has acted upon it; another choice is somebody else's.
fn undo_firmware(root: &Root, path: &str, original: Option<&Content>, wanted: &Content) -> io::Result<Undone> {
    root.clear_beside(path)?;
    match root.bytes(path) {
        Ok(now) if now == wanted.bytes() => {}
        Ok(_) => return Ok(Undone::AlreadyAsBefore),
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Undone::AlreadyAsBefore),
        Err(e) => return Err(e),
    }
    root.set_variable(path, original.map(Content::bytes))?;
    Ok(Undone::Restored)
}
