//! `ontick tune apply`

use clap::Args;
use ontick_machine::apply::apply_appeared;
use ontick_machine::boot;
use ontick_machine::isolate::{self, Isolated};
use ontick_machine::plan::{Item, OWN, State};
use ontick_machine::{Journal, apply};

use super::done::{BootDone, Done};
use super::errors::not_isolated;
use super::{Prepared, Wanted, print_json, render};
use crate::failure::{Failure, Outcome};
use crate::{temporary_settings, terminal};

/// Change the settings; the previous values are saved, and `ontick tune revert` restores them.
///
/// Values of the running kernel are lost at the next restart; --boot sets them at every boot. Exit status 1 if a
/// setting was refused; the others are changed all the same.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  sudo ontick tune apply\n  sudo ontick tune apply governor stat-interval\n  sudo ontick tune apply --cpu 3 --isolate\n  sudo ontick tune apply --interface eth1\n  sudo ontick tune apply --profile ./mine.toml   settings of a file\n  sudo ontick tune apply --boot --tryboot"
)]
pub struct Apply {
    #[command(flatten)]
    wanted: Wanted,
}

impl Apply {
    pub fn run(self) -> Result<Outcome, Failure> {
        let root = self.wanted.root.open_to_change("tune apply")?;
        if root.is_live() {
            temporary_settings::put_back_abandoned()?;
        }
        let prepared = self.wanted.prepare(root)?;
        let mut journal = Journal::open(&prepared.root)?;
        let done = carry_out(prepared, &mut journal);
        journal.close();
        let done = done?;
        let complete = done.complete();
        if self.wanted.json {
            print_json(&done)?;
        } else {
            terminal::print(&render::done(&done, &self.wanted.root, &terminal::style()))?;
        }
        match done.stopped() {
            Some(why) => Err(Failure::new(why)),
            None if complete => Ok(Outcome::Met),
            None => Ok(Outcome::NotMet),
        }
    }
}

pub(super) fn carry_out(prepared: Prepared, journal: &mut Journal) -> Result<Done, Failure> {
    let Prepared { root, facts, target, plan, boot } = prepared;
    let mut applied = apply(&root, &plan, journal);
    apply_appeared(&root, &facts, &plan, journal, &mut applied);
    // What was not there at first may have come with another setting.
    let came = |item: &&Item| applied.changes.iter().any(|change| change.knob == item.knob && change.path != item.path);
    let is_absent = |item: &&Item| matches!(item.state, State::Absent(_)) && item.knob != OWN;
    let left = plan.left().filter(|item| !(is_absent(item) && came(item)));
    // Of a whole profile what is left is no news, and what was asked for by name is.
    let left = left.filter(|item| !target.only.is_empty() || item.knob == OWN).cloned().collect();
    let unseen = render::unseen(&plan.items, root.is_live());
    let mut done = Done { applied, left, unseen, isolated: None, boot: None };
    if done.applied.stopped.is_some() {
        return Ok(done);
    }
    if target.isolate {
        // What cannot be isolated is reported; the settings that were made stand.
        let refused = |why| Isolated { refused: Some(not_isolated(why)), ..Isolated::default() };
        done.isolated = Some(isolate::isolate(&root, &facts, &target, journal).unwrap_or_else(refused));
    }
    if let Some(plan) = boot {
        let files = boot::apply(&root, &plan, journal);
        let (mut unit_refused, mut commands) = (None, Vec::new());
        if files.stopped.is_none() {
            if plan.edits.iter().any(|e| e.path == boot::unit::PATH) {
                unit_refused = boot::unit::enable(&root, boot::unit::PATH, journal).err().map(|e| e.to_string());
            }
            commands = boot::run(&root, &plan.commands);
        }
        done.boot = Some(BootDone { plan, files, unit_refused, commands });
    }
    Ok(done)
}
