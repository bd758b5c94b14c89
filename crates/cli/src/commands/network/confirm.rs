//! `ontick network confirm`

use clap::Args;

use super::applied_flags::AppliedFlags;
use crate::commands::switch::target_flags::lock;
use crate::failure::{Failure, Outcome};
use crate::terminal;

/// Keep the switches that were set up by `ontick network apply` with --confirm.
///
/// Exit status 1 if none of them waits for confirmation.
#[derive(Args)]
#[command(after_help = "Example:\n  sudo ontick network confirm network.toml")]
pub struct Confirm {
    #[command(flatten)]
    applied: AppliedFlags,
}

impl Confirm {
    pub fn run(self) -> Result<Outcome, Failure> {
        let applied = self.applied.find()?;
        // One lock is for all switches: either the guardian has them already, or they stay.
        let _lock = applied.first().map(|(_, folder, _)| lock(folder)).transpose()?;
        let stay: Vec<&str> =
            applied.iter().filter(|(_, folder, _)| folder.confirm()).map(|(node, ..)| node.name.as_str()).collect();
        let (text, outcome) = match stay.as_slice() {
            [] => ("No switch of the network waits to be confirmed.\n".into(), Outcome::NotMet),
            [name] => (format!("Switch {name} stays.\n"), Outcome::Met),
            names => (format!("Switches {} stay.\n", names.join(", ")), Outcome::Met),
        };
        terminal::print(&text)?;
        Ok(outcome)
    }
}
