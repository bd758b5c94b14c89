//! What becomes of a run: shown, recorded, judged.

use std::path::PathBuf;

use clap::Args;
use ontick_record::run::Judged;
use ontick_record::{Requirement, Run, store};

use crate::attempts::Attempts;
use crate::failure::{Failure, Outcome};
use crate::terminal;

/// What becomes of a run.
#[derive(Args, Debug, Clone)]
pub struct OutputFlags {
    /// Print the record as JSON instead of the table
    #[arg(long)]
    pub json: bool,
    /// Write the record to this file; during the run its journal, FILE.journal, is synced to disk every second
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Write an HTML report to this file
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Exit with status 1 unless this holds: "99% < 3us", "p99.9 < 50us", "max < 100us", "missed = 0" (repeatable)
    #[arg(long, value_name = "REQUIREMENT")]
    pub require: Vec<Requirement>,
    /// Standard output belongs to something else: the result is shown on standard error
    #[arg(skip)]
    pub quiet: bool,
}

impl OutputFlags {
    /// Finds out before a long run whether its results can be written afterwards.
    pub fn check(&self) -> Result<(), Failure> {
        for path in [&self.record, &self.html].into_iter().flatten() {
            store::check_writable(path)?;
        }
        Ok(())
    }

    /// Judges `run` on the series that `judged` picks.
    pub fn judge(&self, run: &mut Run, judged: impl Fn(&ontick_record::Series) -> bool) {
        let verdicts: Vec<Judged> =
            self.require.iter().map(|r| r.judge(run.series.iter().filter(|s| judged(s)))).collect();
        run.requirements = verdicts;
    }

    /// Prints table or JSON, and writes what was asked for: each of them, whatever became of the others. What was measured
    /// is shown even where a disk is full.
    pub fn deliver(&self, run: &Run) -> Result<Outcome, Failure> {
        let mut attempts = Attempts::default();
        if let Some(path) = &self.record {
            attempts.note(store::write_whole(path, store::text(run).as_bytes()));
        }
        if let Some(path) = &self.html {
            attempts.note(store::write_whole(path, ontick_report::html(run).as_bytes()));
        }
        if self.quiet {
            terminal::show(&ontick_report::text::summary(run, &terminal::style()));
        } else if self.json {
            attempts.note(terminal::print(&store::text(run)));
        } else {
            attempts.note(terminal::print(&ontick_report::text::summary(run, &terminal::style())));
        }
        attempts.end().map(|()| Outcome::of(run))
    }
}
