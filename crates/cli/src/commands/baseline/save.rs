//! `ontick baseline save`

use std::path::PathBuf;

use clap::Args;
use ontick_record::baseline::{self, Saved};

use crate::failure::{Failure, Outcome};
use crate::terminal;

/// Put records of a job into a folder, as what later runs of it are held against.
///
/// All records of a folder are of one job on one machine: of the same measurement, series, methods, intervals, policies
/// and loads. The kernel and its settings may differ.
#[derive(Args)]
#[command(after_help = "Example:\n  ontick baseline save baseline monday.json tuesday.json wednesday.json")]
pub struct Save {
    /// Folder of the baseline; made where it is missing
    folder: PathBuf,
    /// Records, journals, or other tools' output
    #[arg(value_name = "RECORD", required = true)]
    records: Vec<PathBuf>,
    /// Remove the records that are there: these are the baseline from now on
    #[arg(long)]
    replace: bool,
}

impl Save {
    pub fn run(self) -> Result<Outcome, Failure> {
        let runs = super::read(&self.records)?;
        let saved = baseline::save(&self.folder, &runs, self.replace)?;
        let line = |saved: &Saved| match saved {
            Saved::New(path) => format!("saved   {}\n", path.display()),
            Saved::Known(path) => format!("there   {}\n", path.display()),
        };
        terminal::print(&saved.iter().map(line).collect::<String>())?;
        Ok(Outcome::Met)
    }
}
