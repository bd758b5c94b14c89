//! What ontick changed on this machine, and whether it is still in force.

use serde::Serialize;

use crate::boot::grubenv;
use crate::journal::{Balanced, Content, Entry, Journal, Undo};
use crate::knobs;
use crate::root::Root;
use crate::value_format::ValueFormat;

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
    /// Whether it is in force.
    pub state: SettingState,
    /// What a reader must know besides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Whether a change is in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SettingState {
    /// As ontick set it.
    AsSet,
    /// As it was before.
    AsBefore,
    /// Somebody else changed it.
    ChangedByOthers,
    /// It is not there any more.
    Gone,
}

/// Whether a value is in force; leaves what it is now in `now`.
fn value(
    root: &Root,
    entry: &Entry,
    path: &str,
    form: ValueFormat,
    original: &str,
    wanted: Option<&String>,
    now: &mut String,
) -> SettingState {
    let Ok(shown) = root.text(path) else { return SettingState::Gone };
    *now = form.value(&shown);
    let left = |last: &String| form.same(last, &shown);
    match () {
        () if form.same(&shown, original) => SettingState::AsBefore,
        () if entry.readback.iter().chain(wanted).any(left) => SettingState::AsSet,
        () if !entry.done && wanted.is_none() => SettingState::AsSet,
        () => SettingState::ChangedByOthers,
    }
}

/// Looks at every change that the journal holds.
pub fn status(root: &Root, journal: &Journal) -> Status {
    let balanced = Balanced::new(root, journal.entries());
    let standing = |entry: &Entry| {
        let (mut original, mut set, mut now) = (String::new(), String::new(), String::new());
        let state = match &entry.undo {
            Undo::Value { path, form, original: o, wanted } => {
                (original, set) = (form.value(o), wanted.clone());
                value(root, entry, path, *form, o, Some(wanted), &mut now)
            }
            Undo::Along { path, form, original: o } => {
                original = form.value(o);
                set = entry.readback.as_ref().map(|seen| form.value(seen)).unwrap_or_default();
                value(root, entry, path, *form, o, None, &mut now)
            }
            Undo::File { path, original, wanted, .. } => match root.bytes(path).ok() {
                now if now.as_deref() == Some(wanted.bytes()) => SettingState::AsSet,
                now if now.as_deref() == original.as_ref().map(Content::bytes) => SettingState::AsBefore,
                None => SettingState::Gone,
                Some(_) => SettingState::ChangedByOthers,
            },
            Undo::Link { path, target } => match root.link_target(path) {
                Some(now) if now == *target => SettingState::AsSet,
                Some(_) => SettingState::ChangedByOthers,
                None => SettingState::AsBefore,
            },
            Undo::Folder { path } | Undo::Tree { path, .. } | Undo::Placed { path, .. } if root.exists(path) => {
                SettingState::AsSet
            }
            Undo::Folder { .. } | Undo::Tree { .. } | Undo::Placed { .. } => SettingState::AsBefore,
            Undo::Variable { path, key, wanted, .. } => match root.text(path) {
                Ok(text) if grubenv::get(&text, key) == Some(wanted) => SettingState::AsSet,
                Ok(_) => SettingState::AsBefore,
                Err(_) => SettingState::Gone,
            },
            Undo::Firmware { path, wanted, .. } => match root.bytes(path) {
                Ok(now) if now == wanted.bytes() => SettingState::AsSet,
                _ => SettingState::AsBefore,
            },
            Undo::Task { task, started, .. } => match crate::ownership::started(root, *task) == Some(*started) {
                true => SettingState::AsSet,
                false => SettingState::Gone,
            },
        };
        let along = matches!(entry.undo, Undo::Along { .. });
        let chosen = state == SettingState::ChangedByOthers && balanced.chose(entry, &now);
        let state = if chosen { SettingState::AsSet } else { state };
        let note = match (along, knobs::interrupts::lags(root, entry.undo.path())) {
            (false, None) if chosen => Some(format!("irqbalance chose CPU {now} of those that are left to it")),
            (true, _) => Some("the kernel changed it with another setting".into()),
            (_, lag) => lag.map(|cpus| format!("on CPU {cpus} until it occurs next")),
        };
        let path = entry.undo.path().into();
        // What the kernel could have changed along and did not is no change.
        let none = along && state == SettingState::AsBefore;
        (!none).then(|| Standing { knob: entry.knob.clone(), path, original, set, now, state, note })
    };
    Status {
        changes: journal.entries().filter_map(standing).collect(),
        undone_by_restart: journal.undone_by_restart(),
        damage: journal.damage().to_vec(),
    }
}
