//! `ontick tune status`

use clap::Args;
use ontick_machine::status::SettingState;
use ontick_machine::{Journal, status};

use super::{print_json, render};
use crate::failure::{Failure, Outcome};
use crate::flags::RootFlag;
use crate::terminal;

/// Show what ontick changed on this machine, and whether it is still in force.
///
/// Exit status 1 if another program has changed something since.
#[derive(Args)]
#[command(after_help = "Example:\n  ontick tune status")]
pub struct Status {
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    root: RootFlag,
}

impl Status {
    pub fn run(self) -> Result<Outcome, Failure> {
        let root = self.root.open()?;
        let now = status(&root, &Journal::read(&root)?);
        if self.json {
            print_json(&now)?;
        } else {
            terminal::print(&render::status(&now, &terminal::style()))?;
        }
        let theirs = now.changes.iter().any(|c| c.state == SettingState::ChangedByOthers);
        Ok(if theirs { Outcome::NotMet } else { Outcome::Met })
    }
}
