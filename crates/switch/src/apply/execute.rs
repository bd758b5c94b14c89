//! Carries a plan out, or back.

use ontick_tsn::config;
use ontick_undo::Undone;
use serde::Serialize;

use super::{
    Difference, Host, Journal, JournalError, Lock, Plan, Refused, Snapshot, Step, SwitchDir, SwitchDirError,
    differences,
};

/// A plan was not carried out.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ApplyError {
    /// It is set up already, or parts of it are.
    #[error("switch {0} is set up already")]
    Exists(String),
    /// Another switch has one of its ports. Nothing was begun.
    #[error("port {port} belongs to switch {switch}")]
    PortTaken {
        /// The port.
        port: String,
        /// The switch that has it.
        switch: String,
    },
    /// Nothing was begun.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// A step was refused; everything is as before.
    #[error("{step}: {refused}. Everything is as before")]
    Step {
        /// What it was for.
        step: String,
        /// Why.
        refused: Refused,
    },
    /// A step did not bring about what it should have; everything is as before.
    #[error("{step}: {difference}. Everything is as before")]
    Differs {
        /// What it was for.
        step: String,
        /// What is otherwise.
        difference: Difference,
    },
    /// And what had been done could not all be undone.
    #[error("{why}, but {open} could not be undone")]
    Stuck {
        /// The first fault.
        why: String,
        /// The switch.
        name: String,
        /// What is still in force.
        open: String,
    },
}

impl From<SwitchDirError> for ApplyError {
    fn from(error: SwitchDirError) -> Self {
        ApplyError::Journal(error.into())
    }
}

/// Carries a plan out, all of it or nothing. `configuration` is kept beside the journal.
pub fn apply(
    host: &impl Host,
    folder: &SwitchDir,
    _lock: &Lock,
    plan: &Plan,
    configuration: &str,
) -> Result<(), ApplyError> {
    if Journal::read(folder)?.is_some() {
        return Err(ApplyError::Exists(folder.name().into()));
    }
    refuse_taken(folder, configuration)?;
    let mut journal = Journal::begin(folder)?;
    let done = folder.keep_configuration(configuration, plan).map_err(ApplyError::from).and_then(|()| {
        plan.steps.iter().try_for_each(|step| carry_out(host, &mut journal, step))?;
        // A later step may have spoilt an earlier one's work.
        let now = Snapshot::of(host);
        plan.steps.iter().try_for_each(|step| compare(&now, step))?;
        Ok(journal.complete()?)
    });
    let Err(fault) = done else { return Ok(()) };
    let reverted = undo_all(host, journal)?;
    match reverted.complete() {
        true => Err(fault),
        false => {
            let why = fault.to_string().trim_end_matches(". Everything is as before").to_owned();
            Err(ApplyError::Stuck { why, name: folder.name().into(), open: reverted.open() })
        }
    }
}

/// Two switches at one port would each put back what it found there, and the one that goes last what the other had set. At
/// the port itself a dedicated core leaves nothing that would show whose it is.
fn refuse_taken(folder: &SwitchDir, configuration: &str) -> Result<(), ApplyError> {
    let ports = ports_of(configuration);
    for other in folder.others() {
        // One of an earlier boot, or of another network namespace, has none of these ports.
        let Ok(Some(_)) = Journal::read(&other) else { continue };
        let theirs = other.configuration().map(|text| ports_of(&text)).unwrap_or_default();
        if let Some(port) = ports.iter().find(|port| theirs.contains(port)) {
            return Err(ApplyError::PortTaken { port: port.clone(), switch: other.name().into() });
        }
    }
    Ok(())
}

fn ports_of(configuration: &str) -> Vec<String> {
    let parsed = config::read(configuration);
    parsed.map(|parsed| parsed.switch.ports.into_iter().map(|port| port.name).collect()).unwrap_or_default()
}

/// Carries one step out, and compares.
pub(crate) fn carry_out(host: &impl Host, journal: &mut Journal, step: &Step) -> Result<(), ApplyError> {
    journal.intend(&step.what, &step.undos)?;
    for act in &step.acts {
        host.act(act).map_err(|refused| ApplyError::Step { step: step.what.clone(), refused })?;
    }
    compare(host, step)?;
    Ok(journal.done()?)
}

fn compare(host: &impl Host, step: &Step) -> Result<(), ApplyError> {
    match differences(host, &step.expects).into_iter().next() {
        None => Ok(()),
        Some(difference) => Err(ApplyError::Differs { step: step.what.clone(), difference }),
    }
}

/// What became of all changes.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Reverted {
    /// One after the other, the last change first.
    pub undone: Vec<UndoneStep>,
    /// What of the journal could not be read.
    pub damage: Vec<String>,
    /// Where such a journal is kept, for somebody to look at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub damaged: Option<String>,
}

/// What became of one change.
#[derive(Debug, Clone, Serialize)]
pub struct UndoneStep {
    /// The step that made it.
    pub step: String,
    /// What was to be put back.
    pub what: String,
    /// What became of it.
    #[serde(flatten)]
    pub outcome: Undone,
}

impl Reverted {
    /// Whether nothing of it is left, as far as the whole journal knows.
    pub fn complete(&self) -> bool {
        self.settled() && self.damage.is_empty()
    }

    fn settled(&self) -> bool {
        self.undone.iter().all(|reported| reported.outcome.settled())
    }

    fn open(&self) -> String {
        let open = self.undone.iter().filter(|reported| !reported.outcome.settled());
        open.map(|reported| reported.what.as_str()).collect::<Vec<_>>().join(", ")
    }
}

/// Takes everything of a switch back; none if nothing is applied.
pub fn revert(host: &impl Host, folder: &SwitchDir, _lock: &Lock) -> Result<Option<Reverted>, JournalError> {
    match Journal::read(folder)? {
        Some(journal) => Ok(Some(undo_all(host, journal)?)),
        None => {
            // Perhaps begun and no more, or of an earlier boot.
            folder.remove()?;
            Ok(None)
        }
    }
}

/// The journal goes only when all is undone: what was refused can be tried again.
fn undo_all(host: &impl Host, journal: Journal) -> Result<Reverted, JournalError> {
    let mut reverted = Reverted { undone: Vec::new(), damage: journal.damage().to_vec(), damaged: None };
    for entry in journal.entries().iter().rev() {
        for undo in entry.undos.iter().rev() {
            let outcome = undo.carry_out(host);
            reverted.undone.push(UndoneStep { step: entry.step.clone(), what: undo.what(), outcome });
        }
    }
    if reverted.settled() {
        if !reverted.damage.is_empty() {
            reverted.damaged = Some(journal.keep_aside()?);
        }
        journal.forget()?;
    }
    Ok(reverted)
}
