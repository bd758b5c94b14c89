//! What ontick changed on this machine, and whether it still stands.

use serde::Serialize;

use crate::journal::{Content, Journal, Undo};
use crate::root::Root;

/// The changes that stand in the journal.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Status {
    /// One for each, oldest first.
    pub changes: Vec<Standing>,
    /// Changes that a restart of the machine undid.
    pub undone_by_restart: usize,
    /// Lines of the journal that could not be read.
    pub damage: Vec<String>,
}

/// One change.
#[derive(Debug, Clone, Serialize)]
pub struct Standing {
    /// The knob.
    pub knob: String,
    /// The file, link, folder or control group.
    pub path: String,
    /// The value before; empty for files.
    pub original: String,
    /// The value that ontick set; empty for files.
    pub set: String,
    /// The value now; empty for files.
    pub now: String,
    /// Whether it stands.
    pub state: Stands,
}

/// Whether a change stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stands {
    /// As ontick set it.
    AsSet,
    /// As it was before.
    AsBefore,
    /// Somebody else changed it.
    ChangedByOthers,
    /// It is not there any more.
    Gone,
}

/// Looks at every change that the journal holds.
pub fn status(root: &Root, journal: &Journal) -> Status {
    let standing = |entry: &crate::journal::Entry| {
        let (mut original, mut set, mut now) = (String::new(), String::new(), String::new());
        let state = match &entry.undo {
            Undo::Value { path, form, original: o, wanted } => {
                (original, set) = (form.value(o), wanted.clone());
                match root.text(path) {
                    Err(_) => Stands::Gone,
                    Ok(shown) => {
                        now = form.value(&shown);
                        let seen = entry.seen.as_ref().is_some_and(|seen| form.same(seen, &shown));
                        match () {
                            () if form.same(&shown, o) => Stands::AsBefore,
                            () if seen || form.same(&shown, wanted) => Stands::AsSet,
                            () => Stands::ChangedByOthers,
                        }
                    }
                }
            }
            Undo::File { path, original, wanted, .. } => match root.bytes(path).ok() {
                now if now.as_deref() == Some(wanted.bytes()) => Stands::AsSet,
                now if now.as_deref() == original.as_ref().map(Content::bytes) => Stands::AsBefore,
                None => Stands::Gone,
                Some(_) => Stands::ChangedByOthers,
            },
            Undo::Link { path, target } => match root.link_target(path) {
                Some(now) if now == *target => Stands::AsSet,
                Some(_) => Stands::ChangedByOthers,
                None => Stands::AsBefore,
            },
            Undo::Folder { path } if root.exists(path) => Stands::AsSet,
            Undo::Folder { .. } => Stands::AsBefore,
            Undo::Task { task, started, .. } => match crate::own::started(root, *task) == Some(*started) {
                true => Stands::AsSet,
                false => Stands::Gone,
            },
        };
        Standing { knob: entry.knob.clone(), path: entry.undo.path().into(), original, set, now, state }
    };
    Status {
        changes: journal.entries().map(standing).collect(),
        undone_by_restart: journal.undone_by_restart(),
        damage: journal.damage().to_vec(),
    }
}
