//! `ontick switch export`

use std::path::PathBuf;

use clap::Args;
use ontick_tsn::{config, yang};

use super::file;
use crate::failure::{Failure, Outcome};
use crate::terminal;

/// Print a switch in the form that network managers read, or in ontick's own normalised form.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  ontick switch export cell4.toml --yang > gates.json\n  ontick switch export cell4.toml           the same file, in one form"
)]
pub struct Export {
    /// The file that describes the switch
    file: PathBuf,
    /// As YANG of IEEE 802.1Qcw in JSON: gate parameters, frame sizes, streams, and classes that the tag's priority defines
    #[arg(long)]
    yang: bool,
}

impl Export {
    pub fn run(self) -> Result<Outcome, Failure> {
        let switch = file::read(&self.file)?;
        let text = match self.yang {
            true => {
                let exported =
                    yang::export(&switch).map_err(|error| Failure::new(format!("{}: {error}", self.file.display())))?;
                exported.notes.iter().for_each(|note| file::note(note));
                serde_json::to_string_pretty(&exported.document)? + "\n"
            }
            false => config::write(&switch),
        };
        terminal::print(&text)?;
        Ok(Outcome::Met)
    }
}
