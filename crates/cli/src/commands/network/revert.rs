//! `ontick network revert`

use clap::Args;
use ontick_switch::apply::{Live, Reverted, SwitchDir, revert};
use serde::Serialize;

use super::applied_flags::AppliedFlags;
use crate::commands::switch::target_flags::lock;
use crate::commands::switch::{release, revert as of_switch};
use crate::failure::{Failure, Outcome};
use crate::{privileges, terminal};

/// Remove the switches of a network from this machine and restore everything as it was before.
///
/// The last one goes first. What another program changed meanwhile is reported and left. Exit status 1 if something could
/// not be undone; that is kept for another attempt.
#[derive(Args)]
#[command(after_help = "Example:\n  sudo ontick network revert network.toml")]
pub struct Revert {
    #[command(flatten)]
    applied: AppliedFlags,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What `--json` prints for each switch.
#[derive(Serialize)]
struct Shown {
    node: String,
    #[serde(flatten)]
    reverted: Reverted,
}

impl Revert {
    pub fn run(self) -> Result<Outcome, Failure> {
        privileges::SWITCH_CHANGE.require("network revert")?;
        let applied = self.applied.find()?;
        let folders: Vec<&SwitchDir> = applied.iter().rev().map(|(_, folder, _)| folder).collect();
        let reverted = self.take_away(&folders)?;
        self.print(&reverted)?;
        // Killed together with its guardians, `switch run` leaves settings of the machine, too.
        let settings = of_switch::revert_settings()?;
        let all = reverted.iter().all(|one| one.reverted.complete());
        Ok(if all && settings { Outcome::Met } else { Outcome::NotMet })
    }

    fn take_away(&self, folders: &[&SwitchDir]) -> Result<Vec<Shown>, Failure> {
        let Some(first) = folders.first() else { return Ok(Vec::new()) };
        // One lock is for all switches: the process that serves several finds all of them gone.
        let held = lock(first)?;
        let watchers: Vec<_> = folders.iter().filter_map(|folder| folder.watcher()).collect();
        release::ports(folders);
        let mut reverted = Vec::new();
        for folder in folders {
            let of_this = revert(&Live, folder, &held)?.unwrap_or_default();
            reverted.push(Shown { node: folder.name().into(), reverted: of_this });
        }
        drop(held);
        of_switch::await_end(watchers);
        Ok(reverted)
    }

    fn print(&self, reverted: &[Shown]) -> Result<(), Failure> {
        let text = match (self.json, reverted) {
            (true, all) => serde_json::to_string_pretty(all)? + "\n",
            (false, []) => "No switch of the network is set up here.\n".into(),
            (false, all) => all.iter().map(|one| of_switch::text(&one.node, &one.reverted)).collect(),
        };
        terminal::print(&text)
    }
}
