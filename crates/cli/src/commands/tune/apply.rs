//! `ontick tune apply`

use clap::Args;
use ontick_machine::boot::{self, BootApplied, BootPlan, Ran};
use ontick_machine::isolate::{self, Isolated};
use ontick_machine::plan::{Item, State};
use ontick_machine::{Applied, Journal, apply};
use serde::Serialize;

use super::{Prepared, Wanted, print_json, render};
use crate::failure::{Failure, Outcome};
use crate::terminal;

/// Change the settings; the previous values are saved, and `ontick tune revert` restores them.
///
/// Values of the running kernel are lost at the next restart; --boot sets them at every boot. Exit status 1 if a
/// setting was refused; the others are changed all the same.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  sudo ontick tune apply\n  sudo ontick tune apply governor stat-interval\n  sudo ontick tune apply --cpu 3 --isolate\n  sudo ontick tune apply --boot --tryboot"
)]
pub struct Apply {
    #[command(flatten)]
    wanted: Wanted,
}

/// What was done; `--json` prints it.
#[derive(Serialize)]
pub(super) struct Done {
    pub applied: Applied,
    /// Settings that were asked for by name and are left as they are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<Item>,
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
    pub commands: Vec<Ran>,
}

impl Apply {
    pub fn run(self) -> Result<Outcome, Failure> {
        let root = self.wanted.root.open_to_change("tune apply")?;
        let prepared = self.wanted.prepare(root)?;
        let mut journal = Journal::open(&prepared.root)?;
        let done = carry_out(prepared, &mut journal);
        journal.close();
        let done = done?;
        let complete = done.complete();
        if self.wanted.json {
            print_json(&done)?;
        } else {
            terminal::print(&render::done(&done, &terminal::style()))?;
        }
        match done.stopped() {
            Some(why) => Err(Failure::new(why)),
            None if complete => Ok(Outcome::Met),
            None => Ok(Outcome::NotMet),
        }
    }
}

fn carry_out(prepared: Prepared, journal: &mut Journal) -> Result<Done, Failure> {
    let Prepared { root, facts, aim, plan, boot } = prepared;
    let applied = apply(&root, &plan, journal);
    let left = if aim.only.is_empty() { Vec::new() } else { plan.left().cloned().collect() };
    let mut done = Done { applied, left, isolated: None, boot: None };
    if done.applied.stopped.is_some() {
        return Ok(done);
    }
    if aim.isolate {
        // What cannot be isolated is reported; the settings that were made stand.
        let refused = |why| Isolated { refused: Some(why), ..Isolated::default() };
        done.isolated = Some(isolate::isolate(&root, &facts, &aim, journal).unwrap_or_else(refused));
    }
    if let Some(plan) = boot {
        let files = boot::apply(&root, &plan, journal);
        let (mut unit_refused, mut commands) = (None, Vec::new());
        if files.stopped.is_none() {
            if plan.edits.iter().any(|e| e.path == boot::unit::PATH) {
                unit_refused = boot::unit::enable(&root, journal).err();
            }
            commands = boot::run(&root, &plan.commands);
        }
        done.boot = Some(BootDone { plan, files, unit_refused, commands });
    }
    Ok(done)
}

impl Done {
    fn complete(&self) -> bool {
        let boot = |b: &BootDone| b.unit_refused.is_none() && b.commands.iter().all(|c| c.failed.is_none());
        self.applied.complete()
            && self.left.iter().all(|item| matches!(item.state, State::Left(_)))
            && self.isolated.as_ref().is_none_or(|i| i.refused.is_none())
            && self.boot.as_ref().is_none_or(boot)
    }

    /// Why it ended early, where it did.
    fn stopped(&self) -> Option<&String> {
        self.applied.stopped.as_ref().or(self.boot.as_ref().and_then(|b| b.files.stopped.as_ref()))
    }
}
