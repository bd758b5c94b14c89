//! The journal of a search: what it was asked for, then each quartet as soon as it is measured. A search that was killed
//! goes on from there as if nothing had happened: what decides follows from the quartets alone.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use ontick_record::output_file;
use ontick_undo::privilege::is_privileged;
use ontick_undo::record_log::{self, End, Line, line};
use ontick_undo::trust::{self, Untrusted};
use ontick_units::exact;
use rustix::fs::{Mode, OFlags};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::boots::BootStep;
use super::quartet::Done;

const FORMAT: &str = "ontick-search/1";
/// No search of any length has a larger one.
const LARGEST: u64 = 64 << 20;

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "step")]
enum Record<B> {
    Begin {
        journal: String,
        search: B,
    },
    Quartet(Box<Done>),
    Unusable(Unusable),
    Boot(BootStep),
    /// The search ended of its own; it may go on with more time.
    End,
}

/// Candidates that made the machine unusable together, or one that did alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unusable {
    /// Their numbers, ascending.
    pub on: Vec<usize>,
    /// They were undone after this long, in ns.
    pub undone_after_ns: u64,
}

impl Unusable {
    /// Why they are not measured together any more.
    pub fn why(&self) -> String {
        format!("unusable: undone after {}", exact(self.undone_after_ns))
    }
}

/// Why a journal cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SearchJournalError {
    /// There is one already.
    #[error("{} is there already", .0.display())]
    Exists(PathBuf),
    /// There is none.
    #[error("{}: there is no search to go on with", .0.display())]
    None(PathBuf),
    /// It is something else, or of another version.
    #[error("{} is no journal of a search, or of another version of ontick", .0.display())]
    Foreign(PathBuf),
    /// A whole line cannot be read.
    #[error("{}, line {line}: cannot be read; what was measured from there on is lost", path.display())]
    Damaged {
        /// The journal.
        path: PathBuf,
        /// Its line.
        line: usize,
    },
    /// Another user could have written it.
    #[error(
        "{0}, and a search does what its journal says: look at it, then remove it or make it yours (chown, chmod go-w)"
    )]
    Untrusted(Untrusted),
    /// The system refused.
    #[error("{}: {error}", path.display())]
    Io {
        /// The journal.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
}

/// What a journal holds.
#[derive(Debug)]
pub struct Kept<B> {
    /// What was asked for.
    pub search: B,
    /// What was measured.
    pub done: Vec<Done>,
    /// What cannot be measured.
    pub unusable: Vec<Unusable>,
    /// What became of its boots.
    pub boots: Vec<BootStep>,
    /// Whether the search ended of its own.
    pub ended: bool,
}

/// A journal that is written.
#[derive(Debug)]
pub struct SearchJournal {
    file: File,
    path: PathBuf,
}

impl SearchJournal {
    /// Begins one. One that is there already is not overwritten.
    pub fn create<B: Serialize>(path: &Path, search: B) -> Result<Self, SearchJournalError> {
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::AlreadyExists => SearchJournalError::Exists(path.into()),
            _ => SearchJournalError::Io { path: path.into(), error },
        };
        let file = output_file::create_new(path).map_err(failed)?;
        // The guardian writes into it, too: what hangs.
        rustix::fs::fcntl_setfl(&file, OFlags::APPEND).map_err(|error| failed(error.into()))?;
        let mut journal = Self { file, path: path.into() };
        journal.append(&Record::Begin { journal: FORMAT.into(), search })?;
        Ok(journal)
    }

    /// Reads one, whole or cut off. An empty one is none: its search was killed as it began. With privileges only one of
    /// root's, the caller's or this user's (the one who called sudo) is believed: it names commands that are run.
    pub fn read<B: DeserializeOwned>(path: &Path, user: Option<u32>) -> Result<Kept<B>, SearchJournalError> {
        let bytes = bytes(&mut open(path, OFlags::RDONLY, user)?, path)?;
        if bytes.is_empty() {
            return Err(SearchJournalError::None(path.into()));
        }
        let mut kept: Option<Kept<B>> = None;
        for (line, record) in record_log::read(&bytes, |record: &Record<B>| matches!(record, Record::Begin { .. })) {
            match (record, &mut kept) {
                (Line::Record(Record::Begin { journal, search }), None) if journal == FORMAT => {
                    kept =
                        Some(Kept { search, done: Vec::new(), unusable: Vec::new(), boots: Vec::new(), ended: false });
                }
                (Line::Record(Record::Quartet(done)), Some(kept)) => {
                    kept.ended = false;
                    kept.done.push(*done);
                }
                (Line::Record(Record::Unusable(unusable)), Some(kept)) => kept.unusable.push(unusable),
                (Line::Record(Record::Boot(step)), Some(kept)) => {
                    kept.ended = false;
                    kept.boots.push(step);
                }
                (Line::Record(Record::End), Some(kept)) => kept.ended = true,
                (Line::CutOff, Some(_)) => {}
                (Line::Unreadable, Some(_)) => return Err(SearchJournalError::Damaged { path: path.into(), line }),
                _ => return Err(SearchJournalError::Foreign(path.into())),
            }
        }
        kept.ok_or_else(|| SearchJournalError::Foreign(path.into()))
    }

    /// Goes on with one that was read, on the same condition.
    pub fn resume<B: DeserializeOwned>(path: &Path, user: Option<u32>) -> Result<Self, SearchJournalError> {
        let failed = |error| SearchJournalError::Io { path: path.into(), error };
        let mut file = open(path, OFlags::RDWR | OFlags::APPEND, user)?;
        let bytes = bytes(&mut file, path)?;
        match record_log::end_of::<Record<B>>(&bytes) {
            End::Line => {}
            End::Record => file.write_all(b"\n").map_err(failed)?,
            End::HalfRecord(start) => file.set_len(start as u64).map_err(failed)?,
        }
        Ok(Self { file, path: path.into() })
    }

    /// Adds a quartet; it is on the disk when this returns.
    pub fn add(&mut self, done: &Done) -> Result<(), SearchJournalError> {
        self.append::<()>(&Record::Quartet(Box::new(done.clone())))
    }

    /// Adds what cannot be measured.
    pub fn add_unusable(&mut self, unusable: &Unusable) -> Result<(), SearchJournalError> {
        self.append::<()>(&Record::Unusable(unusable.clone()))
    }

    /// Adds what became of a boot.
    pub fn add_boot(&mut self, step: &BootStep) -> Result<(), SearchJournalError> {
        self.append::<()>(&Record::Boot(step.clone()))
    }

    /// The search ended of its own.
    pub fn end(&mut self) -> Result<(), SearchJournalError> {
        self.append::<()>(&Record::End)
    }

    fn append<B: Serialize>(&mut self, record: &Record<B>) -> Result<(), SearchJournalError> {
        let text = line(record);
        self.file
            .write_all(text.as_bytes())
            .and_then(|()| self.file.sync_data())
            .map_err(|error| SearchJournalError::Io { path: self.path.clone(), error })
    }
}

/// Never through a link, nor in a folder by another user's link, and never a pipe, which would be waited for.
fn open(path: &Path, access: OFlags, user: Option<u32>) -> Result<File, SearchJournalError> {
    let untrusted = |why: &str| SearchJournalError::Untrusted(Untrusted { path: path.into(), why: why.into() });
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => SearchJournalError::None(path.into()),
        _ if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => untrusted("is a link"),
        _ => SearchJournalError::Io { path: path.into(), error },
    };
    let name = path.file_name().ok_or_else(|| failed(io::ErrorKind::IsADirectory.into()))?;
    let flags = access | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let folder = output_file::open_folder_of(path).map_err(failed)?;
    let file: File = rustix::fs::openat(folder, name, flags, Mode::empty()).map_err(|e| failed(e.into()))?.into();
    // What is open is looked at: the path may lead elsewhere by now.
    let found = file.metadata().map_err(failed)?;
    if !found.is_file() {
        return Err(untrusted("is not a file"));
    }
    if is_privileged() {
        trust::check_metadata_of(path, &found, user).map_err(SearchJournalError::Untrusted)?;
    }
    Ok(file)
}

fn bytes(file: &mut File, path: &Path) -> Result<Vec<u8>, SearchJournalError> {
    let mut bytes = Vec::new();
    let read = file.take(LARGEST).read_to_end(&mut bytes);
    read.map_err(|error| SearchJournalError::Io { path: path.into(), error })?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::{Block, Comparison, Quartet};

    fn done(in_time: u64) -> Done {
        let block = Block { in_time, steal: 0.1, ..Block::default() };
        Done { quartet: Quartet { comparison: Comparison::of(vec![1, 2]), trial_first: true }, blocks: [block; 4] }
    }

    #[test]
    fn an_empty_journal_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        std::fs::write(&path, "").unwrap();
        assert!(matches!(SearchJournal::read::<String>(&path, None), Err(SearchJournalError::None(_))));
        std::fs::write(&path, "somebody's").unwrap();
        assert!(matches!(SearchJournal::read::<String>(&path, None), Err(SearchJournalError::Foreign(_))));
    }

    fn read(path: &Path) -> Kept<String> {
        SearchJournal::read(path, None).unwrap()
    }

    /// Wherever a journal is cut off, the quartets before are there, and more can be added.
    #[test]
    fn a_search_goes_on_wherever_it_was_killed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("j");
        let mut journal = SearchJournal::create(&path, "asked").unwrap();
        (0..3).for_each(|n| journal.add(&done(n)).unwrap());
        let unusable = Unusable { on: vec![0, 2], undone_after_ns: 5 };
        journal.add_unusable(&unusable).unwrap();
        assert_eq!(read(&path).unusable, [unusable]);
        journal.end().unwrap();
        let whole = std::fs::read(&path).unwrap();
        assert_eq!((read(&path).done.len(), read(&path).ended), (3, true));
        let first = whole.iter().position(|byte| *byte == b'\n').unwrap();
        for cut in first..whole.len() {
            std::fs::write(&path, &whole[..cut]).unwrap();
            let before = read(&path);
            assert_eq!(before.search, "asked");
            SearchJournal::resume::<String>(&path, None).unwrap().add(&done(9)).unwrap();
            let after = read(&path);
            assert_eq!(after.done[..before.done.len()], before.done, "cut at {cut}");
            assert_eq!(after.done[before.done.len()..], [done(9)], "cut at {cut}");
            assert!(!after.ended);
        }
    }

    #[test]
    fn what_is_no_journal_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("j");
        let refused = || SearchJournal::read::<String>(&path, None).unwrap_err().to_string();
        assert!(refused().contains("no search to go on with"));
        for text in
            ["{}\n", "{\"step\":\"end\"}\n", "{\"step\":\"begin\",\"journal\":\"ontick-tune/1\",\"search\":\"\"}\n"]
        {
            std::fs::write(&path, text).unwrap();
            assert!(refused().contains("no journal of a search"), "{text}: {}", refused());
        }
        let begin = "{\"step\":\"begin\",\"journal\":\"ontick-search/1\",\"search\":\"\"}\n";
        std::fs::write(&path, format!("{begin}?\n{{\"step\":\"end\"}}\n")).unwrap();
        assert!(refused().contains("line 2"));
        assert!(matches!(SearchJournal::create(&path, ""), Err(SearchJournalError::Exists(_))));
    }

    /// Root would run what another user asks for there.
    #[test]
    fn another_users_journal_is_not_believed_with_privileges() {
        if !rustix::process::geteuid().is_root() {
            return ontick_skip::skipped!("only root can give a file to another user");
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("j");
        SearchJournal::create(&path, "asked").unwrap();
        std::os::unix::fs::chown(&path, Some(65_534), None).unwrap();
        let refused = |user| {
            let whys =
                [SearchJournal::read::<String>(&path, user).err(), SearchJournal::resume::<String>(&path, user).err()];
            whys.map(|why| why.map(|why| why.to_string()))
        };
        for why in refused(None).into_iter().chain(refused(Some(65_533))) {
            assert!(why.as_ref().is_some_and(|why| why.contains("another user (uid 65534)")), "{why:?}");
        }
        assert_eq!(refused(Some(65_534)), [None, None], "the user who called sudo");
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o666)).unwrap();
        let [read, resumed] = refused(Some(65_534));
        assert!(read.unwrap().contains("written by others") && resumed.is_some());
    }

    #[test]
    fn what_two_write_is_all_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("j");
        let mut journal = SearchJournal::create(&path, "asked").unwrap();
        let unusable = Unusable { on: vec![1], undone_after_ns: 5 };
        SearchJournal::resume::<String>(&path, None).unwrap().add_unusable(&unusable).unwrap();
        journal.add(&done(0)).unwrap();
        assert_eq!((read(&path).unusable, read(&path).done), (vec![unusable], vec![done(0)]));
    }

    #[test]
    fn no_journal_is_begun_or_read_by_another_users_link_to_a_folder() {
        use std::os::unix::fs::{PermissionsExt, lchown, symlink};
        if !rustix::process::geteuid().is_root() {
            return ontick_skip::skipped!("only root can give a link to another user");
        }
        let [shared, other] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        std::fs::set_permissions(shared.path(), PermissionsExt::from_mode(0o1777)).unwrap();
        let link = shared.path().join("work");
        symlink(other.path(), &link).unwrap();
        SearchJournal::create(&link.join("j"), "asked").unwrap();
        lchown(&link, Some(65_534), None).unwrap();
        let (new, old) = (link.join("new"), link.join("j"));
        let refused = [
            SearchJournal::create(&new, "asked").err(),
            SearchJournal::read::<String>(&old, None).err(),
            SearchJournal::resume::<String>(&old, None).err(),
        ];
        for why in refused.map(|why| why.unwrap().to_string()) {
            assert!(why.contains("work belongs to user 65534"), "{why}");
        }
        assert!(!other.path().join("new").exists());
    }

    #[test]
    fn a_link_a_pipe_and_a_folder_are_no_journals() {
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str| folder.path().join(name);
        SearchJournal::create(&place("j"), "asked").unwrap();
        std::os::unix::fs::symlink(place("j"), place("link")).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, place("pipe"), rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        for (name, why) in [("link", "is a link"), ("pipe", "is not a file"), (".", "is not a file")] {
            let refused = SearchJournal::read::<String>(&place(name), None).unwrap_err().to_string();
            assert!(refused.contains(why), "{name}: {refused}");
        }
    }
}
