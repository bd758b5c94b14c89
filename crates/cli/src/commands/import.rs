//! `ontick import`

use std::path::PathBuf;

use clap::Args;
use ontick_record::import::{self, Format};
use ontick_record::store;

use crate::failure::{Failure, Outcome};
use crate::terminal;

/// Convert the output of cyclictest, oslat, hwlatdetect, jitterdebugger, rtla, zyclictest or isochron into a record.
#[derive(Args)]
#[command(after_help = "Example:\n  ontick import cyclictest.hist --to cyclictest.json")]
pub struct Import {
    /// What the other tool wrote
    file: PathBuf,
    /// The tool that wrote it, if that cannot be detected
    #[arg(long)]
    format: Option<Format>,
    /// Write the record to this file instead of printing it
    #[arg(long, value_name = "FILE")]
    to: Option<PathBuf>,
    /// Print the record, which is JSON, also when it is written to a file
    #[arg(long)]
    json: bool,
}

impl Import {
    pub fn run(self) -> Result<Outcome, Failure> {
        let text = store::read_text(&self.file)?;
        let name = self.file.display().to_string();
        let run = import::read(&text, &name, self.format).map_err(|error| Failure::new(format!("{name}: {error}")))?;
        if let Some(path) = &self.to {
            store::write_whole(path, store::text(&run).as_bytes())?;
        }
        if self.json || self.to.is_none() {
            terminal::print(&store::text(&run))?;
        }
        Ok(Outcome::Met)
    }
}
