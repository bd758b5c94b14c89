//! Settings of the machine that stand only while a command runs, and go back however it ends.
//!
//! What is changed is in the journal of `ontick tune`. A command that ends, with an error or by a panic too,
//! puts everything back itself. For one that is killed a guardian does: a second ontick that waits, in a
//! process group of its own, for the pipe from the first to end.

use std::ffi::OsString;
use std::time::{Duration, Instant};

use ontick_machine::journal::JournalError;
use ontick_machine::{Journal, Reverted, Root, revert};
use ontick_undo::guardian::{self, Guardian, Word};

use crate::failure::{Failure, Outcome};
use crate::{itself, terminal};

/// The journal is asked for so often.
const TURN: Duration = Duration::from_millis(5);

/// No process that was killed takes longer to end.
const DYING: Duration = Duration::from_secs(1);

/// The right to change settings for as long as it lives.
pub struct TemporarySettings {
    root: Root,
    journal: Option<Journal>,
    guardian: Option<Guardian>,
    /// Who puts everything back at the end: the guardian, where this process has given up rights meanwhile.
    by_guardian: bool,
}

impl TemporarySettings {
    /// Begins, if no earlier change is in force: that would be put back with ours.
    pub fn begin() -> Result<Self, Failure> {
        Self::begin_with(&[])
    }

    /// As [`begin`](Self::begin), the guardian with these options more.
    pub fn begin_with(options: &[OsString]) -> Result<Self, Failure> {
        let root = Root::live();
        let mut journal = Journal::open(&root)?;
        journal.for_command(&std::env::args().skip(1).take(2).collect::<Vec<_>>().join(" "));
        let mut standing: Vec<&str> = journal.entries().map(|e| e.knob.as_str()).collect();
        standing.dedup();
        if !standing.is_empty() {
            return Err(Failure::new(format!(
                "settings that ontick changed before are still in force ({}): restore them first (sudo ontick tune revert)",
                standing.join(", ")
            )));
        }
        let guardian = start_guardian(options)?;
        Ok(Self { root, journal: Some(journal), guardian: Some(guardian), by_guardian: false })
    }

    /// Where the changes are written down.
    pub fn journal(&mut self) -> &mut Journal {
        self.journal.as_mut().expect("the journal is held until the settings are restored")
    }

    /// Who puts everything back where this process cannot.
    pub fn guardian(&mut self) -> &mut Guardian {
        self.guardian.as_mut().expect("the guardian is there until the settings are restored")
    }

    /// From now on only the guardian has the rights that putting back may take.
    pub fn leave_to_guardian(&mut self) {
        self.by_guardian = true;
    }

    /// Puts everything back that was changed so far; more may be changed then.
    pub fn put_back_now(&mut self) -> Result<(), Failure> {
        let root = self.root.clone();
        complete(&revert(&root, self.journal(), false))
    }

    /// Puts everything back.
    pub fn restore(mut self) -> Result<(), Failure> {
        self.put_back()
    }

    fn put_back(&mut self) -> Result<(), Failure> {
        let Some(mut journal) = self.journal.take() else { return Ok(()) };
        if self.by_guardian {
            drop(journal);
            if self.guardian.take().is_some_and(Guardian::act) {
                return Ok(());
            }
            // It was killed, or could not: what is left this process tries itself, and says what became of it.
            journal = open_when_free(&self.root)?;
        }
        let reverted = revert(&self.root, &mut journal, false);
        journal.close();
        if let Some(guardian) = self.guardian.take() {
            guardian.settle();
        }
        complete(&reverted)
    }
}

/// Fails where not all was put back.
fn complete(reverted: &Reverted) -> Result<(), Failure> {
    if reverted.complete() {
        return Ok(());
    }
    let open = reverted.steps.iter().filter(|s| !s.outcome.settled()).map(|s| s.path.as_str());
    let why = reverted.stopped.clone().unwrap_or_else(|| open.collect::<Vec<_>>().join(", "));
    Err(Failure::new(format!("not all settings could be put back ({why}): see ontick tune status")))
}

impl Drop for TemporarySettings {
    fn drop(&mut self) {
        if let Err(failure) = self.put_back() {
            terminal::report(&failure);
        }
    }
}

/// Starts a guardian with these options more.
pub fn start_guardian(options: &[OsString]) -> Result<Guardian, Failure> {
    let mut command = itself::command();
    command.args(["tune", "revert", "--when-killed"]).args(options);
    Guardian::start(&mut command).map_err(|e| Failure::new(format!("ontick cannot start itself as guardian: {e}")))
}

/// A process that is killed may close the pipe before the journal; and only another ontick of root's can hold it, which
/// ends some time.
fn open_when_free(root: &Root) -> Result<Journal, JournalError> {
    loop {
        match Journal::open(root) {
            Err(JournalError::Busy) => std::thread::sleep(TURN),
            opened => return opened,
        }
    }
}

/// Puts back what a command left that was killed together with its guardian; none if nothing is left, or if it still
/// runs. What `ontick tune apply` set stays.
pub fn revert_abandoned() -> Result<Option<Reverted>, Failure> {
    let root = Root::live();
    if !Journal::read(&root)?.is_abandoned() {
        return Ok(None);
    }
    // A process that was killed holds it until the last of its threads has ended.
    let began = Instant::now();
    let mut journal = loop {
        match Journal::open(&root) {
            Err(JournalError::Busy) if began.elapsed() < DYING => std::thread::sleep(TURN),
            Err(JournalError::Busy) => return Ok(None),
            opened => break opened?,
        }
    };
    let reverted = journal.is_abandoned().then(|| revert(&root, &mut journal, false));
    journal.close();
    Ok(reverted)
}

/// Before a command looks at the machine: what one left that was killed together with its guardian would pass for what was
/// there before.
pub fn put_back_abandoned() -> Result<(), Failure> {
    let Some(reverted) = revert_abandoned()? else { return Ok(()) };
    complete(&reverted)?;
    let mut paths: Vec<&str> = reverted.steps.iter().map(|step| step.path.as_str()).collect();
    paths.sort_unstable();
    paths.dedup();
    terminal::say(&format!("settings that a killed command left are put back: {}", paths.join(", ")));
    Ok(())
}

/// What the guardian does: waits, and puts back what a killed command could not.
pub fn guard() -> Result<Outcome, Failure> {
    match guardian::wait() {
        Word::Settled => Ok(Outcome::Met),
        _ => put_back_of_killed(),
    }
}

/// Puts back what a command that was killed just now could not.
pub fn put_back_of_killed() -> Result<Outcome, Failure> {
    let root = Root::live();
    let mut journal = open_when_free(&root)?;
    let complete = revert(&root, &mut journal, false).complete();
    journal.close();
    Ok(if complete { Outcome::Met } else { Outcome::NotMet })
}
