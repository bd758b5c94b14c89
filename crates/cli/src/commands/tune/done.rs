//! What `tune apply` did.

use ontick_machine::Applied;
use ontick_machine::boot::{BootApplied, BootPlan, CommandOutcome};
use ontick_machine::isolate::Isolated;
use ontick_machine::plan::{Item, State};
use serde::Serialize;

/// What was done; `--json` prints it.
#[derive(Serialize)]
pub(super) struct Done {
    pub applied: Applied,
    /// Settings that were asked for by name and are left as they are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<Item>,
    /// What is said where none of the settings could be seen, as on a card.
    #[serde(skip)]
    pub unseen: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub isolated: Option<Isolated>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boot: Option<BootDone>,
}

/// What was done about the way the machine boots.
#[derive(Serialize)]
pub(super) struct BootDone {
    pub plan: BootPlan,
    pub files: BootApplied,
    /// Why the systemd unit could not be enabled, where it could not.
    pub unit_refused: Option<String>,
    pub commands: Vec<CommandOutcome>,
}

impl Done {
    pub(super) fn complete(&self) -> bool {
        let boot = |b: &BootDone| b.unit_refused.is_none() && b.commands.iter().all(|c| c.failed.is_none());
        self.applied.complete()
            && self.left.iter().all(|item| matches!(item.state, State::Left(_)))
            && self.isolated.as_ref().is_none_or(|i| i.refused.is_none())
            && self.boot.as_ref().is_none_or(boot)
    }

    /// Why it ended early, where it did.
    pub(super) fn stopped(&self) -> Option<&String> {
        self.applied.stopped.as_ref().or(self.boot.as_ref().and_then(|b| b.files.stopped.as_ref()))
    }
}
