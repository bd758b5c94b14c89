//! Carrying out a plan: each value is journaled, then written, then read back.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::facts::Facts;
use crate::journal::{Entry, Journal, JournalError, Undo};
use crate::knobs;
use crate::plan::{Item, TuningPlan};
use crate::root::{Root, irqbalance, reason};
use crate::value_format::ValueFormat;

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
    /// What a reader must know besides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// How a change went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "outcome", content = "detail")]
pub enum Outcome {
    /// The kernel shows the wanted value.
    Done,
    /// The kernel took the write but shows this.
    Different(String),
    /// The kernel refused, for this reason; the old value stays.
    Refused(String),
}

/// Makes the changes of a plan. A refused one is reported and the others are still made; only a journal
/// that cannot be written ends it, before anything is changed that could not be put back.
pub fn apply(root: &Root, plan: &TuningPlan, journal: &mut Journal) -> Applied {
    let mut applied = Applied::default();
    make(root, plan, journal, &mut applied);
    // Last, so that interrupts have had the time to be delivered.
    for change in applied.changes.iter_mut().filter(|c| c.outcome == Outcome::Done && c.note.is_none()) {
        change.note =
            knobs::interrupts::lags(root, &change.path).map(|cpus| format!("on CPU {cpus} until it occurs next"));
    }
    applied
}

/// Makes changes of what appeared with those of a plan, which was carried out.
pub fn apply_appeared(root: &Root, facts: &Facts, plan: &TuningPlan, journal: &mut Journal, applied: &mut Applied) {
    if applied.stopped.is_none() {
        make(root, &plan.appeared(root, facts), journal, applied);
    }
}

fn make(root: &Root, plan: &TuningPlan, journal: &mut Journal, applied: &mut Applied) {
    let mut names = Names::of(root, journal);
    for item in plan.changes() {
        match change(root, item, journal, &mut names) {
            Ok(change) => applied.changes.push(change),
            Err(error) => {
                applied.stopped = Some(error.to_string());
                break;
            }
        }
    }
}

/// The names by which the journal has files, each by the one without links: a file has one entry, whatever it was called by.
struct Names(BTreeMap<String, String>);

impl Names {
    fn of(root: &Root, journal: &Journal) -> Self {
        let mut names = Self(BTreeMap::new());
        for entry in journal.entries().filter(|e| matches!(e.undo, Undo::Value { .. } | Undo::Along { .. })) {
            names.name(root, entry.undo.path());
        }
        names
    }

    /// What the journal calls a file, which has this name from now on if it had none.
    fn name(&mut self, root: &Root, path: &str) -> String {
        let is_file = path.starts_with('/');
        let real = root.real(path).ok().filter(|_| is_file).unwrap_or_else(|| path.into());
        self.0.entry(real).or_insert_with(|| path.into()).clone()
    }
}

fn change(root: &Root, item: &Item, journal: &mut Journal, names: &mut Names) -> Result<Change, JournalError> {
    let reported = |outcome, note| Change {
        knob: item.knob.into(),
        path: item.path.clone(),
        from: item.current.clone(),
        to: item.wanted.clone(),
        outcome,
        note,
    };
    let shown = match root.text(&item.path) {
        Ok(text) => text,
        Err(e) => return Ok(reported(Outcome::Refused(format!("cannot be read: {}", reason(&e))), None)),
    };
    let path = names.name(root, &item.path);
    let standing = journal.entry(&path).cloned();
    let (original, theirs) = first_original(standing.as_ref(), item.form, &shown);
    let note =
        theirs.then(|| format!("another program had set {}, to which revert goes back", item.form.value(&shown)));
    let (form, wanted) = (item.form, item.wanted.clone());
    let along = Along::of(root, item, &path, journal, names);
    let mut undos = along.undos();
    undos.push(Undo::Value { path, form, original, wanted });
    let first = journal.intend_all(item.knob, undos)?;
    let seq = first + along.fresh.len() as u64;
    let written = root.set(&item.path, &item.wanted);
    let now = root.text(&item.path).unwrap_or_default();
    let may_come = written.as_ref().is_err_and(irqbalance::may_come);
    let outcome = match written {
        Ok(()) if item.form.same(&now, &item.wanted) => Outcome::Done,
        Ok(()) => Outcome::Different(item.form.value(&now)),
        Err(e) => Outcome::Refused(match knobs::refusal(item.knob, &e) {
            Some(hint) => format!("{}: {hint}", reason(&e)),
            None => reason(&e),
        }),
    };
    let refused = matches!(outcome, Outcome::Refused(_)) && now == shown;
    match (refused, standing) {
        // As where ontick was stopped around it: revert takes back what may come yet.
        _ if may_come => {}
        // Refused: what was in the journal before is so again.
        (true, None) => journal.void(seq)?,
        (true, Some(before)) => {
            let again = journal.intend(&before.knob, before.undo)?;
            if before.done {
                journal.done(again, before.readback)?;
            }
        }
        (false, _) => journal.done(seq, Some(now))?,
    }
    along.settle(root, first, refused, journal)?;
    Ok(reported(outcome, note))
}

/// What the kernel may change along with one setting.
struct Along {
    /// Not in the journal yet: file and value.
    fresh: Vec<(String, String)>,
    /// In the journal already, as ontick's: file and number.
    held: Vec<(String, u64)>,
}

impl Along {
    /// `own` is what the journal calls the item's file.
    fn of(root: &Root, item: &Item, own: &str, journal: &Journal, names: &mut Names) -> Self {
        let mut along = Self { fresh: Vec::new(), held: Vec::new() };
        let paths: Vec<String> =
            knobs::along(root, item.knob, &item.path).iter().map(|path| names.name(root, path)).collect();
        for path in paths.into_iter().filter(|path| path != own) {
            let Ok(shown) = root.text(&path) else { continue };
            match journal.entry(&path) {
                None => along.fresh.push((path, shown)),
                Some(entry) if entry.readback.as_deref().is_some_and(|seen| seen == shown) => {
                    along.held.push((path, entry.seq));
                }
                Some(_) => {}
            }
        }
        along
    }

    fn undos(&self) -> Vec<Undo> {
        let undo = |(path, shown): &(String, String)| Undo::Along {
            path: path.clone(),
            form: ValueFormat::Plain,
            original: shown.clone(),
        };
        self.fresh.iter().map(undo).collect()
    }

    /// Writes down what the kernel made of them; `first` is the number of the first fresh one.
    fn settle(self, root: &Root, first: u64, refused: bool, journal: &mut Journal) -> Result<(), JournalError> {
        for (seq, (path, shown)) in (first..).zip(self.fresh) {
            match root.text(&path) {
                Ok(now) if refused && now == shown => journal.void(seq)?,
                now => journal.done(seq, now.ok())?,
            }
        }
        for (path, seq) in self.held {
            journal.done(seq, root.text(&path).ok())?;
        }
        Ok(())
    }
}

/// A value that ontick set before goes back to what was there before that; one that somebody else set
/// since is the new original, which is reported.
fn first_original(standing: Option<&Entry>, form: ValueFormat, shown: &str) -> (String, bool) {
    let (entry, original, wanted) = match standing.map(|e| (e, &e.undo)) {
        Some((entry, Undo::Value { original, wanted, .. })) => (entry, original, Some(wanted.as_str())),
        Some((entry, Undo::Along { original, .. })) => (entry, original, None),
        _ => return (shown.into(), false),
    };
    let last = entry.readback.as_deref().or(wanted);
    match !entry.done || last.is_some_and(|last| form.same(shown, last)) || form.same(shown, original) {
        true => (original.clone(), false),
        false => (shown.into(), true),
    }
}

#[cfg(test)]
mod tests;
