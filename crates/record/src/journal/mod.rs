//! A run that is still going on, as a file that only grows: `kill -9` loses at most the last second.
//!
//! The first line is `{"journal":"ontick-journal/1","run":{…}}`, the document so far; each further line is what the last
//! second added. When lines have filled some megabytes the file is begun anew, so that it stays small however long the
//! run. [`recover`] makes a [`Run`] of it again.

mod added;
mod recover;
mod so_far;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{self, ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

pub use added::{Added, CauseName, KeptOutliers};
pub(crate) use recover::begins_one;
pub use recover::{is_journal, recover, recover_from};
use so_far::SoFar;

use crate::outliers::Outliers;
use crate::output_file;
use crate::run::Run;

/// Lines are gathered into a new first one when there are so many bytes of them.
const GATHER_AT: u64 = 4 << 20;

/// The journal of a run, beside the record that will replace it.
pub struct Journal {
    file: File,
    path: PathBuf,
    so_far: SoFar,
    /// Bytes of whole lines, and how many there may be before they are gathered.
    length: u64,
    gather_at: u64,
    /// A line could not be written: the file lacks what [`SoFar`] has.
    lacks: bool,
    /// Each line is to outlast a power cut.
    synced: bool,
}

/// Where the journal of the record `path` is: `run.json` → `run.json.journal`.
pub fn path_for(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".journal");
    name.into()
}

/// Whether [`Journal::create`] finds the place for the journal of this record free, to be known before a long run.
pub fn check_absent(path: &Path) -> io::Result<()> {
    let path = path_for(path);
    match path.symlink_metadata() {
        Ok(_) => Err(already_there(&path)),
        Err(_) => Ok(()),
    }
}

fn already_there(path: &Path) -> io::Error {
    let hint = "exists: the journal of a run that is going on or was killed (a report of it shows what was measured; then remove it)";
    io::Error::new(ErrorKind::AlreadyExists, format!("{} {hint}", path.display()))
}

impl Journal {
    /// Begins a journal for the record `path`. One that a killed run left there is not overwritten.
    pub fn create(path: &Path, run: &Run) -> io::Result<Self> {
        let path = path_for(path);
        let mut file = output_file::create_new(&path).map_err(|e| match e.kind() {
            ErrorKind::AlreadyExists => already_there(&path),
            kind => io::Error::new(kind, format!("{}: {e}", path.display())),
        })?;
        let outliers = run.series.iter().map(|_| Outliers::default()).collect();
        let so_far = SoFar { run: run.clone(), outliers };
        let first = so_far.first_line()?;
        let written = file.write_all(&first).and_then(|()| output_file::sync_folder_of(&path));
        if let Err(error) = written {
            let _ = std::fs::remove_file(&path);
            return Err(error);
        }
        let length = first.len() as u64;
        Ok(Self { file, path, so_far, length, gather_at: length + GATHER_AT, lacks: false, synced: true })
    }

    /// Goes on with a run, whose journal at that place, if there is one, is replaced at once or not at all. Its lines
    /// outlast the end of the process; a power cut, only those that are older than the system's write-back (half a minute).
    /// Where there is no room for that, the one that is there stays as it is until there is.
    pub fn resume(path: &Path, run: &Run) -> io::Result<Self> {
        let path = path_for(path);
        let outliers = run.series.iter().map(|_| Outliers::default()).collect();
        let so_far = SoFar { run: run.clone(), outliers };
        let first = so_far.first_line()?;
        let (file, length, lacks) = match output_file::begin_anew(&path, &first) {
            Ok(file) => (file, first.len() as u64, false),
            Err(error) if matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded) => {
                let file = output_file::open_again(&path).map_err(|_| error)?;
                let length = file.metadata()?.len();
                (file, length, true)
            }
            Err(error) => return Err(error),
        };
        Ok(Self { file, path, so_far, length, gather_at: length + GATHER_AT, lacks, synced: false })
    }

    /// Appends what a second added, as one write, so that a line is there whole or cut off at the end. Where that fails,
    /// on a full disk, say, the file stays as it was before; what it lacks comes as soon as there is room again.
    pub fn append(&mut self, added: &Added) -> io::Result<()> {
        let added = self.so_far.add(added.clone()).map_err(io::Error::other)?;
        if self.lacks || self.length >= self.gather_at {
            match self.gather() {
                Err(error) if self.lacks => return Err(error),
                Ok(()) => return Ok(()),
                // There is no room for two: the one goes on growing while it can.
                Err(_) => self.gather_at = self.length + GATHER_AT,
            }
        }
        let mut line = serde_json::to_vec(&added)?;
        line.push(b'\n');
        // A second that is on the disk outlasts a power cut, too.
        let sync = || if self.synced { self.file.sync_data() } else { Ok(()) };
        let written = (&self.file).write_all(&line).and_then(|()| sync());
        match written {
            Ok(()) => self.length += line.len() as u64,
            Err(_) => {
                self.lacks = true;
                let _ = self.file.set_len(self.length).and_then(|()| self.file.seek(SeekFrom::Start(self.length)));
            }
        }
        written
    }

    /// Begins the file anew with all that came so far in its first line.
    fn gather(&mut self) -> io::Result<()> {
        let first = self.so_far.first_line()?;
        self.file = output_file::begin_anew(&self.path, &first)?;
        self.length = first.len() as u64;
        (self.gather_at, self.lacks) = (self.length + GATHER_AT, false);
        Ok(())
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the journal, once the record itself is safely written.
    pub fn remove(self) -> io::Result<()> {
        std::fs::remove_file(self.path)
    }
}
