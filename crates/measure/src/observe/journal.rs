//! The journal that keeps a run safe against a sudden end.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ontick_record::journal::{Added, Journal};
use ontick_record::run::Run;
use ontick_record::store;

use super::Observer;
use crate::Error;

/// A journal without a line for so long gets one that tells the time alone: where samples come, a second has its line by then.
const SILENT: Duration = Duration::from_millis(1_100);

/// The journal of a run, to be removed when the run is safely recorded.
pub struct RunJournal {
    path: PathBuf,
    journal: Journal,
    /// When it got its last line.
    written: Instant,
}

impl RunJournal {
    /// Where it is.
    pub fn path(&self) -> &Path {
        self.journal.path()
    }

    /// Removes it.
    pub fn remove(self) -> Result<(), Error> {
        self.journal.remove().map_err(|error| Error::Record { path: self.path, error })
    }
}

impl Observer<'_> {
    /// Keeps a journal for the record `path`, so that a killed run loses at most its last second.
    /// `run` has one series, without samples, for each that will be measured. Beside a device there is no journal.
    pub fn keep_journal(&mut self, path: PathBuf, run: &Run) -> Result<(), Error> {
        if store::is_device(&path) {
            return Ok(());
        }
        let journal = Journal::create(&path, run).map_err(|error| Error::Record { path: path.clone(), error })?;
        self.journal = Some(RunJournal { path, journal, written: Instant::now() });
        Ok(())
    }

    /// The journal, which stays until it is removed.
    pub fn into_journal(self) -> Option<RunJournal> {
        self.journal
    }

    /// Journals that the run goes on, where nothing told so for a while: a killed run without samples lasted, too.
    pub(super) fn append_time(&mut self) {
        if self.journal.as_ref().is_some_and(|journal| journal.written.elapsed() >= SILENT) {
            self.append(Added { series: self.part.series, ..Added::default() });
        }
    }

    /// Journals what was added, as of now. Where the disk refuses, the run goes on: what it measures is not lost.
    pub(crate) fn append(&mut self, mut added: Added) {
        added.duration_ns = self.began.elapsed().as_nanos() as u64;
        let Some(RunJournal { journal, written, .. }) = &mut self.journal else { return };
        *written = Instant::now();
        if let Err(error) = journal.append(&added) {
            let note = format!("{}: {error}; the run went on while its journal stopped", journal.path().display());
            self.note(note);
        }
    }
}
