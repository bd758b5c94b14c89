//! `ontick baseline …`

mod check;
mod save;

use std::path::PathBuf;

use clap::Subcommand;
use ontick_record::{Run, store};

use crate::failure::{Failure, Outcome};
use crate::lazily::Lazily;

/// Keep records of a job, and hold later runs of it against them.
#[derive(Subcommand)]
pub enum Baseline {
    Save(Lazily<save::Save>),
    Check(Lazily<check::Check>),
}

impl Baseline {
    pub fn run(self) -> Result<Outcome, Failure> {
        match self {
            Baseline::Save(Lazily(save)) => save.run(),
            Baseline::Check(Lazily(check)) => check.run(),
        }
    }
}

/// The runs of files, each beside its name.
fn read(files: &[PathBuf]) -> Result<Vec<(PathBuf, Run)>, Failure> {
    let read = |file: &PathBuf| Ok((file.clone(), store::read_any(file)?));
    files.iter().map(read).collect()
}
