//! `ontick tune revert`

use clap::Args;
use ontick_machine::boot::{self, CommandOutcome};
use ontick_machine::{Journal, Reverted, revert};
use serde::Serialize;

use super::search::watchdog;
use super::{print_json, render};
use crate::commands::switch;
use crate::failure::{Failure, Outcome};
use crate::flags::RootFlag;
use crate::{temporary_settings, terminal};

/// Restore exactly what was there before, boot files included, the latest change first.
///
/// What another program changed meanwhile is reported and left as it is. Exit status 1 if anything could not be
/// restored; that stays in the journal for another attempt.
#[derive(Args)]
#[command(after_help = "Examples:\n  sudo ontick tune revert\n  sudo ontick tune revert --force")]
pub struct Revert {
    /// Restore also what another program has changed since
    #[arg(long)]
    force: bool,
    /// Waits on standard input for the command that it guards to end
    #[arg(long, hide = true)]
    when_killed: bool,
    #[command(flatten)]
    watchdog: watchdog::GuardianFlags,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    root: RootFlag,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Undone<'a> {
    #[serde(flatten)]
    reverted: &'a Reverted,
    ran: &'a [CommandOutcome],
}

impl Revert {
    pub fn run(self) -> Result<Outcome, Failure> {
        if self.when_killed {
            return self.watchdog.guard().unwrap_or_else(temporary_settings::guard);
        }
        let root = self.root.open_to_change("tune revert")?;
        let mut journal = Journal::open(&root)?;
        let reverted = revert(&root, &mut journal, self.force);
        let ran = boot::run(&root, &reverted.commands);
        journal.close();
        if self.json {
            print_json(&Undone { reverted: &reverted, ran: &ran })?;
        } else {
            terminal::print(&render::reverted(&reverted, &ran, root.is_live(), &terminal::style()))?;
        }
        if root.is_live() {
            for name in switch::abandoned() {
                eprintln!(
                    "ontick: switch {name} is still set up, but its process is gone: sudo ontick switch revert {name}"
                );
            }
        }
        let complete = reverted.complete() && ran.iter().all(|r| r.failed.is_none());
        match reverted.stopped {
            Some(why) => Err(Failure::new(why)),
            None if complete => Ok(Outcome::Met),
            None => Ok(Outcome::NotMet),
        }
    }
}
