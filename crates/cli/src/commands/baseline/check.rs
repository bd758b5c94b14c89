//! `ontick baseline check`

use std::path::PathBuf;

use clap::Args;
use ontick_record::baseline::Baseline;
use ontick_record::compare::RelativeRequirement;
use ontick_record::store;
use ontick_report::{decisions, junit_of_decisions};

use crate::attempts::Attempts;
use crate::failure::{Failure, Outcome};
use crate::terminal;

/// Whether new runs are no worse than those of a baseline.
///
/// The runs' percentiles are held against each other, so that what changes from run to run counts: three runs on each side
/// are the fewest that can decide. Where there is one on each side, its samples decide. Exit status: 0 no worse, 1 worse, 3
/// cannot tell.
#[derive(Args)]
#[command(after_help = "Example:\n  ontick baseline check baseline new.json --require 'p99 <= 1.2x'")]
pub struct Check {
    /// Folder of the baseline
    folder: PathBuf,
    /// Records of new runs, journals, or other tools' output
    #[arg(value_name = "RECORD", required = true)]
    records: Vec<PathBuf>,
    /// In each series, the percentile of the new runs must be at most so many times the baseline's ("p99 <= 1.2x"), with 95 %
    /// confidence (repeatable)
    #[arg(long, value_name = "REQUIREMENT", required = true)]
    require: Vec<RelativeRequirement>,
    /// Write the requirements and how they were met to this file, as JUnit XML for continuous integration
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Print JSON: a list of decisions
    #[arg(long)]
    json: bool,
}

impl Check {
    pub fn run(self) -> Result<Outcome, Failure> {
        let baseline = Baseline::read(&self.folder)?;
        let runs = super::read(&self.records)?;
        baseline.check(&runs)?;
        let found: Vec<_> = self.require.iter().flat_map(|requirement| baseline.decide(&runs, requirement)).collect();
        let mut attempts = Attempts::default();
        if let Some(path) = &self.junit {
            attempts.note(store::write_whole(path, junit_of_decisions("baseline check", &found).as_bytes()));
        }
        attempts.note(terminal::print(&match self.json {
            true => serde_json::to_string_pretty(&found)? + "\n",
            false => decisions(&found, &terminal::style()),
        }));
        attempts.end().map(|()| Outcome::of_decisions(&found))
    }
}
