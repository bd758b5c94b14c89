//! Carrying out a plan: each value is journaled, then written, then read back.

use serde::Serialize;

use crate::journal::{Journal, JournalError, Undo};
use crate::plan::{Item, Plan};
use crate::root::{Root, reason};

/// What became of a plan.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Applied {
    /// One for each change of the plan, in order.
    pub changes: Vec<Change>,
    /// Why it ended early, where it did: what was changed until then is in the journal.
    pub stopped: Option<String>,
}

impl Applied {
    /// Whether every change was made.
    pub fn complete(&self) -> bool {
        self.stopped.is_none() && self.changes.iter().all(|c| c.outcome == Outcome::Done)
    }
}

/// What became of one change.
#[derive(Debug, Clone, Serialize)]
pub struct Change {
    /// The knob.
    pub knob: String,
    /// The file.
    pub path: String,
    /// The value before.
    pub from: String,
    /// The value that was wanted.
    pub to: String,
    /// How it went.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// How a change went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "outcome", content = "detail")]
pub enum Outcome {
    /// The kernel shows the wanted value.
    Done,
    /// The kernel took the write but shows this.
    Different(String),
    /// The kernel refused, for this reason; the old value stands.
    Refused(String),
}

/// Makes the changes of a plan. A refused one is reported and the others are still made; only a journal
/// that cannot be written ends it, before anything is changed that could not be put back.
pub fn apply(root: &Root, plan: &Plan, journal: &mut Journal) -> Applied {
    let mut applied = Applied::default();
    for item in plan.changes() {
        match change(root, item, journal) {
            Ok(outcome) => applied.changes.push(Change {
                knob: item.knob.into(),
                path: item.path.clone(),
                from: item.current.clone(),
                to: item.wanted.clone(),
                outcome,
            }),
            Err(error) => {
                applied.stopped = Some(error.to_string());
                break;
            }
        }
    }
    applied
}

fn change(root: &Root, item: &Item, journal: &mut Journal) -> Result<Outcome, JournalError> {
    let shown = match root.text(&item.path) {
        Ok(text) => text,
        Err(e) => return Ok(Outcome::Refused(format!("cannot be read: {}", reason(&e)))),
    };
    let original = first_original(journal, item, &shown);
    let (path, form, wanted) = (item.path.clone(), item.form, item.wanted.clone());
    let standing = journal.entry(&item.path).cloned();
    let seq = journal.intend(item.knob, Undo::Value { path, form, original, wanted })?;
    let written = root.set(&item.path, &item.wanted);
    let now = root.text(&item.path).unwrap_or_default();
    let outcome = match written {
        Ok(()) if item.form.same(&now, &item.wanted) => Outcome::Done,
        Ok(()) => Outcome::Different(item.form.value(&now)),
        Err(e) => Outcome::Refused(reason(&e)),
    };
    match (&outcome, standing) {
        // Refused: what stood in the journal before stands again.
        (Outcome::Refused(_), None) if now == shown => journal.void(seq)?,
        (Outcome::Refused(_), Some(before)) if now == shown => {
            let again = journal.intend(&before.knob, before.undo)?;
            if before.done {
                journal.done(again, before.seen)?;
            }
        }
        _ => journal.done(seq, Some(now))?,
    }
    Ok(outcome)
}

/// A value that ontick set before goes back to what was there before that; one that somebody else set
/// since is the new original.
fn first_original(journal: &Journal, item: &Item, shown: &str) -> String {
    let standing = journal.entry(&item.path);
    match standing.map(|e| (e, &e.undo)) {
        Some((entry, Undo::Value { original, wanted, form, .. })) => {
            let ours = !entry.done || form.same(shown, entry.seen.as_deref().unwrap_or(wanted));
            if ours { original.clone() } else { shown.into() }
        }
        _ => shown.into(),
    }
}
