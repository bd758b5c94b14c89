//! What becomes of a run: shown, recorded, judged.

use std::path::PathBuf;

use clap::Args;
use ontick_measure::Error;
use ontick_record::run::Judged;
use ontick_record::{Requirement, Run, journal, store};

use super::PictureFlags;
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
    #[command(flatten)]
    pub pictures: PictureFlags,
    /// Write the requirements and how they were met to this file, as JUnit XML for continuous integration
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Exit with status 1 unless this holds: "99% < 3us", "p99.9 < 50us", "max < 100us", "missed = 0"; of a switch's
    /// frames "sent > 95%", "delivered > 95%", "dropped = 0", "lost = 0" (repeatable)
    #[arg(long, value_name = "REQUIREMENT")]
    pub require: Vec<Requirement>,
    /// Standard output belongs to something else: the result is shown on standard error
    #[arg(skip)]
    pub quiet: bool,
    /// The bounds that are wanted are of what is exceeded once in so many cycles.
    #[arg(skip)]
    pub tail: Option<u64>,
}

impl OutputFlags {
    /// Finds out before a long run whether its results can be written and judged afterwards.
    pub fn check(&self) -> Result<(), Failure> {
        if let Some(of_frames) = self.require.iter().find(|requirement| requirement.frames().is_some()) {
            return Err(Failure::new(format!(
                "--require \"{of_frames}\": no frames go through a switch here (switch demo and switch verify judge these)"
            )));
        }
        self.check_files()
    }

    /// Finds out whether results can be written.
    pub fn check_files(&self) -> Result<(), Failure> {
        for path in [&self.record, &self.html, &self.junit].into_iter().flatten().chain(self.pictures.files()) {
            store::check_writable(path)?;
        }
        Ok(())
    }

    /// Finds out whether the record's journal can begin, which goes on with no other one.
    pub fn check_journal(&self) -> Result<(), Failure> {
        match &self.record {
            Some(path) if !store::is_device(path) => {
                journal::check_absent(path).map_err(|error| Error::Record { path: path.clone(), error }.into())
            }
            _ => Ok(()),
        }
    }

    /// Writes what kept a run from being a run to the JUnit file: a reader of it finds no file otherwise.
    pub fn report_failure(&self, measurement: &str, failure: &Failure) {
        if let Some(path) = &self.junit {
            let text = ontick_report::junit_of_failure(measurement, &failure.to_string());
            // The failure itself is what is shown.
            let _ = store::write_whole(path, text.as_bytes());
        }
    }

    /// Judges `run` on the series that `judged` picks.
    pub fn judge(&self, run: &mut Run, judged: impl Fn(&ontick_record::Series) -> bool) {
        let verdicts: Vec<Judged> =
            self.require.iter().map(|r| r.judge(run, run.series.iter().filter(|s| judged(s)))).collect();
        run.requirements = verdicts;
        if let Some(once_in) = self.tail {
            ontick_record::tail::estimate_all(run, once_in);
        }
    }

    /// Prints table or JSON, and writes what was asked for: each of them, whatever became of the others. What was measured
    /// is shown even where a disk is full.
    pub fn deliver(&self, run: &Run) -> Result<Outcome, Failure> {
        let mut attempts = Attempts::default();
        attempts.note(self.write_record(run));
        self.deliver_others(run, attempts)
    }

    /// Writes the record alone, where one was asked for.
    pub fn write_record(&self, run: &Run) -> Result<(), Failure> {
        match &self.record {
            Some(path) => Ok(store::write_whole(path, store::text(run).as_bytes())?),
            None => Ok(()),
        }
    }

    /// Everything but the record, whose attempt was made.
    pub fn deliver_others(&self, run: &Run, mut attempts: Attempts) -> Result<Outcome, Failure> {
        if let Some(path) = &self.html {
            attempts.note(store::write_whole(path, ontick_report::html(run).as_bytes()));
        }
        attempts.note(self.pictures.draw(run));
        if let Some(path) = &self.junit {
            attempts.note(store::write_whole(path, ontick_report::junit(run).as_bytes()));
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
