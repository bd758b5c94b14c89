//! `ontick switch confirm`

use clap::Args;

use super::target_flags::{NameFlags, lock};
use crate::failure::{Failure, Outcome};
use crate::terminal;

/// Keep a switch that was set up with --confirm.
///
/// Exit status 1 if no switch waits for confirmation.
#[derive(Args)]
#[command(after_help = "Example:\n  sudo ontick switch confirm cell4")]
pub struct Confirm {
    #[command(flatten)]
    name: NameFlags,
}

impl Confirm {
    pub fn run(self) -> Result<Outcome, Failure> {
        self.name.state.check()?;
        let folder = self.name.folder()?;
        // Either the guardian has it already, or it stays.
        let stays = match &folder {
            Some(folder) => {
                let _lock = lock(folder)?;
                folder.confirm()
            }
            None => false,
        };
        let name = folder.as_ref().map(|folder| folder.name()).unwrap_or("");
        match stays {
            true => terminal::print(&format!("Switch {name} stays.\n"))?,
            false => terminal::print("No switch waits to be confirmed.\n")?,
        }
        Ok(if stays { Outcome::Met } else { Outcome::NotMet })
    }
}
