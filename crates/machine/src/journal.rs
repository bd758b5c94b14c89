//! Nothing is lost: what is about to be changed is on the disk before it is changed.
//!
//! `/var/lib/ontick/tune.jsonl` (`kernel.jsonl` for kernels that were installed) holds one record a line, each
//! flushed before the step it speaks of. The first line of a session says in which boot of the machine it was made: values of /proc and /sys do not
//! outlive a boot, files do. A line that was cut off (power, full disk) was never acted upon.

mod undo;

use std::io;

use ontick_undo::state_dir::{StateDirError, StateLock};
use serde::{Deserialize, Serialize};

use crate::root::{Root, reason};

pub use undo::{Content, Undo};

const FOLDER: &str = "/var/lib/ontick";
/// Held by whoever changes the machine; only root can open it.
const LOCK: &str = "/var/lib/ontick/.lock";
/// Where the journal of `tune` lies.
pub const PATH: &str = "/var/lib/ontick/tune.jsonl";
/// Where a journal of `tune` goes that cannot be read in full.
pub const DAMAGED: &str = "/var/lib/ontick/tune.jsonl.damaged";

/// What a journal is about: each has its own way back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Book {
    /// Settings, undone by `tune revert`.
    Tune,
    /// An installed kernel, undone by `kernel rollback`.
    Kernel,
}

impl Book {
    /// Where it lies.
    pub fn path(self) -> &'static str {
        match self {
            Self::Tune => PATH,
            Self::Kernel => "/var/lib/ontick/kernel.jsonl",
        }
    }

    /// Where it goes if it cannot be read in full.
    pub fn damaged(self) -> &'static str {
        match self {
            Self::Tune => DAMAGED,
            Self::Kernel => "/var/lib/ontick/kernel.jsonl.damaged",
        }
    }

    fn format(self) -> &'static str {
        match self {
            Self::Tune => "ontick-tune/1",
            Self::Kernel => "ontick-kernel/1",
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "step")]
enum Record {
    Begin {
        journal: String,
        boot: String,
        /// The command that puts the settings back when it ends.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        command: Option<String>,
    },
    Intend {
        seq: u64,
        knob: String,
        undo: Undo,
    },
    Done {
        seq: u64,
        seen: Option<String>,
    },
    Void {
        seq: u64,
    },
}

/// A change that was made or begun, and not yet undone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its number in the journal.
    pub seq: u64,
    /// The knob, or what else asked for it (`boot`, `isolate`).
    pub knob: String,
    /// How to undo it.
    pub undo: Undo,
    /// Whether the change is known to have been made; otherwise ontick was stopped around it.
    pub done: bool,
    /// What the kernel showed after the change.
    pub seen: Option<String>,
    /// The boot of the machine in which it was made.
    pub boot: String,
    /// The command for whose time alone it was made; none for what stands until it is reverted.
    pub command: Option<String>,
}

/// The journal could not be used. Nothing was changed that it does not hold.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// Another ontick is changing settings.
    #[error("another ontick is changing this machine's settings (it holds {FOLDER}): wait until it has ended")]
    Busy,
    /// It was written by a version of ontick that knows more.
    #[error(
        "the journal {path} is written in the form {format}, which this version of ontick does not know: revert with the version that wrote it"
    )]
    Foreign {
        /// The journal.
        path: &'static str,
        /// Its format.
        format: String,
    },
    /// Another user could have written it.
    #[error("{0}")]
    Untrusted(String),
    /// The disk refused.
    #[error("the journal {path} cannot be {verb}: {reason}; nothing is changed that could not be put back")]
    Io {
        /// The journal.
        path: &'static str,
        /// `read`, `written`.
        verb: &'static str,
        /// Why.
        reason: String,
    },
}

/// The journal, held against other onticks while it lives.
pub struct Journal {
    root: Root,
    book: Book,
    lock: Option<StateLock>,
    boot: String,
    command: Option<String>,
    entries: Vec<Entry>,
    next: u64,
    begun: bool,
    damage: Vec<String>,
    /// A line that was written whole cannot be read any more.
    unreadable: bool,
    /// The format of another version of ontick.
    foreign: Option<String>,
}

impl Journal {
    /// Opens the journal to change settings. Makes its folder, and nothing else yet.
    pub fn open(root: &Root) -> Result<Self, JournalError> {
        Self::open_book(root, Book::Tune)
    }

    /// Opens the journal of one kind of change. Whichever it is, one ontick changes a machine at a time.
    pub fn open_book(root: &Root, book: Book) -> Result<Self, JournalError> {
        let refused = |e| refused(book, "written", e);
        // Another ontick that ends takes the folder away.
        let lock = loop {
            root.make_state_dir(FOLDER).map_err(refused)?;
            let place = root.outside(LOCK).map_err(|e| failed(book, "written", e))?;
            match StateLock::take(&place) {
                Err(StateDirError::Io(e)) if e.kind() == io::ErrorKind::NotFound => {}
                taken => break taken.map_err(refused)?.ok_or(JournalError::Busy)?,
            }
        };
        Ok(Self { lock: Some(lock), ..Self::read_book(root, book)? })
    }

    /// Reads the journal only to look at it.
    pub fn read(root: &Root) -> Result<Self, JournalError> {
        Self::read_book(root, Book::Tune)
    }

    /// Reads the journal of one kind of change only to look at it.
    pub fn read_book(root: &Root, book: Book) -> Result<Self, JournalError> {
        root.check_state(FOLDER, book.path()).map_err(|e| refused(book, "read", e))?;
        let text = match root.bytes(book.path()) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(e) if e.kind() == io::ErrorKind::NotFound => String::new(),
            Err(e) => return Err(failed(book, "read", e)),
        };
        let boot = root.value("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let mut journal = Self {
            root: root.clone(),
            book,
            lock: None,
            boot,
            command: None,
            entries: Vec::new(),
            next: 1,
            begun: false,
            damage: Vec::new(),
            unreadable: false,
            foreign: None,
        };
        journal.load(&text);
        match journal.foreign.take() {
            Some(format) => Err(JournalError::Foreign { path: book.path(), format }),
            None => Ok(journal),
        }
    }

    fn load(&mut self, text: &str) {
        let (mut boot, mut command) = (String::new(), None);
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        for (i, line) in lines.iter().enumerate() {
            match serde_json::from_str(line) {
                Ok(Record::Begin { journal, boot: of, command: by }) if journal == self.book.format() => {
                    (boot, command) = (of, by);
                }
                Ok(Record::Begin { journal, .. }) => self.foreign = self.foreign.take().or(Some(journal)),
                Ok(Record::Intend { seq, knob, undo }) => {
                    self.next = self.next.max(seq.saturating_add(1));
                    let (boot, command) = (boot.clone(), command.clone());
                    self.hold(Entry { seq, knob, undo, done: false, seen: None, boot, command });
                }
                Ok(Record::Done { seq, seen }) => {
                    if let Some(entry) = self.entries.iter_mut().find(|e| e.seq == seq) {
                        (entry.done, entry.seen) = (true, seen);
                    }
                }
                Ok(Record::Void { seq }) => self.entries.retain(|e| e.seq != seq),
                Err(_) if line.trim().is_empty() => {}
                Err(_) if was_cut_off(&lines, i) => {
                    self.damage.push(format!("line {} was cut off; nothing is lost by that", i + 1));
                }
                Err(_) => {
                    self.unreadable = true;
                    self.damage.push(format!("line {} cannot be read; what it announced may stand", i + 1));
                }
            }
        }
    }

    /// A second change of one thing takes the first one's place, in the order of undoing too.
    fn hold(&mut self, entry: Entry) {
        let lasts = |e: &Entry| e.undo.outlives_boot() || e.boot == entry.boot;
        match self.entries.iter_mut().find(|e| e.undo.same_thing(&entry.undo) && lasts(e)) {
            Some(held) => *held = entry,
            None => self.entries.push(entry),
        }
    }

    /// The changes that stand, oldest first. Those of an earlier boot that did not outlive it are not among them.
    pub fn entries(&self) -> impl DoubleEndedIterator<Item = &Entry> {
        self.entries.iter().filter(|e| e.undo.outlives_boot() || e.boot == self.boot)
    }

    /// Says that what is changed from here on stands for the time of this command alone.
    pub fn for_command(&mut self, command: &str) {
        self.command = Some(command.into());
    }

    /// Whether all that stands was for the time of commands alone. Whoever holds the journal then knows that they were
    /// killed, and with them those that should have put it back.
    pub fn is_abandoned(&self) -> bool {
        self.entries().count() > 0 && self.entries().all(|entry| entry.command.is_some())
    }

    /// Changes that a restart of the machine undid.
    pub fn undone_by_restart(&self) -> usize {
        self.entries.len() - self.entries().count()
    }

    /// Whether a line that was written whole could not be read, so that a change may stand of which nothing is known.
    pub fn lost_something(&self) -> bool {
        self.unreadable
    }

    /// Lines that could not be read.
    pub fn damage(&self) -> &[String] {
        &self.damage
    }

    /// Where what cannot be read of it is kept.
    pub fn damaged(&self) -> &'static str {
        self.book.damaged()
    }

    /// The standing change of a file or folder.
    pub fn entry(&self, path: &str) -> Option<&Entry> {
        self.entries().find(|e| e.undo.path() == path)
    }

    /// Writes down a change before it is made, and waits until that is on the disk.
    pub fn intend(&mut self, knob: &str, undo: Undo) -> Result<u64, JournalError> {
        self.intend_all(knob, vec![undo])
    }

    /// Writes down several changes with one wait for the disk; returns the number of the first.
    pub fn intend_all(&mut self, knob: &str, undos: Vec<Undo>) -> Result<u64, JournalError> {
        if !self.begun {
            self.begin()?;
        }
        let first = self.next;
        let record = |(seq, undo): (u64, &Undo)| line(&Record::Intend { seq, knob: knob.into(), undo: undo.clone() });
        let text: String = (first..).zip(&undos).map(record).collect();
        self.append_text(&text, undos.iter().any(|undo| self.is_secret(undo)))?;
        self.next += undos.len() as u64;
        for (seq, undo) in (first..).zip(undos) {
            let (boot, command) = (self.boot.clone(), self.command.clone());
            self.hold(Entry { seq, knob: knob.into(), undo, done: false, seen: None, boot, command });
        }
        Ok(first)
    }

    /// Writes down that a change was made, and what the kernel shows since.
    pub fn done(&mut self, seq: u64, seen: Option<String>) -> Result<(), JournalError> {
        self.append(&Record::Done { seq, seen: seen.clone() })?;
        if let Some(entry) = self.entries.iter_mut().find(|e| e.seq == seq) {
            (entry.done, entry.seen) = (true, seen);
        }
        Ok(())
    }

    /// Writes down that an announced change was not made.
    pub fn void(&mut self, seq: u64) -> Result<(), JournalError> {
        self.append(&Record::Void { seq })?;
        self.entries.retain(|e| e.seq != seq);
        Ok(())
    }

    /// Forgets changes that were undone: rewrites the journal without them, removes an empty one.
    pub fn forget(&mut self, undone: &[u64]) -> Result<(), JournalError> {
        self.keep_unreadable()?;
        let boot = self.boot.clone();
        self.entries.retain(|e| !undone.contains(&e.seq) && (e.undo.outlives_boot() || e.boot == boot));
        self.damage.clear();
        if self.entries.is_empty() {
            self.begun = false;
            return self.root.remove(self.book.path()).map_err(|e| failed(self.book, "written", e));
        }
        let text = self.text();
        self.root.replace(self.book.path(), text.as_bytes()).map_err(|e| failed(self.book, "written", e))
    }

    /// What cannot be read stays beside the journal, for whoever can make something of it.
    fn keep_unreadable(&mut self) -> Result<(), JournalError> {
        if self.unreadable {
            let bytes = self.root.bytes(self.book.path()).map_err(|e| failed(self.book, "read", e))?;
            let private = self.root.is_public(self.book.path()) == Some(false);
            self.root.append(self.book.damaged(), &bytes, private).map_err(|e| failed(self.book, "written", e))?;
            self.unreadable = false;
        }
        Ok(())
    }

    /// Removes the journal's folder where nothing is left in it.
    pub fn close(self) {
        // Left by a disk that took the name and not the first line.
        if self.root.bytes(self.book.path()).is_ok_and(|bytes| bytes.is_empty()) {
            let _ = self.root.remove(self.book.path());
        }
        let lock = LOCK.rsplit('/').next().unwrap_or_default();
        if self.lock.is_some() && self.entries.is_empty() && self.root.list(FOLDER).iter().all(|name| name == lock) {
            // Whoever opens the lock's file meanwhile finds that it is gone, and makes another.
            if let Ok(place) = self.root.outside(LOCK) {
                let _ = std::fs::remove_file(place);
            }
            let _ = self.root.remove_folder(FOLDER);
        }
    }

    fn begin(&mut self) -> Result<(), JournalError> {
        // Of an earlier boot only what outlives it is kept; a line that was cut off goes too.
        if self.undone_by_restart() > 0 || !self.damage.is_empty() {
            self.forget(&[])?;
        }
        // An append after a line without an end would be lost with it.
        let ended = self.root.bytes(self.book.path()).map_or(true, |b| b.is_empty() || b.ends_with(b"\n"));
        if !ended {
            self.root.append(self.book.path(), b"\n", false).map_err(|e| failed(self.book, "written", e))?;
        }
        let (boot, command) = (self.boot.clone(), self.command.clone());
        self.append(&Record::Begin { journal: self.book.format().into(), boot, command })?;
        self.begun = true;
        Ok(())
    }

    fn append(&mut self, record: &Record) -> Result<(), JournalError> {
        self.append_text(&line(record), false)
    }

    /// Whether it holds what others may not read where it lies: a boot loader's passwords.
    fn is_secret(&self, undo: &Undo) -> bool {
        let copies = match undo {
            Undo::File { path, backup, .. } => [Some(path), backup.as_ref()],
            _ => return false,
        };
        copies.into_iter().flatten().any(|path| self.root.is_public(path) == Some(false))
    }

    fn append_text(&mut self, text: &str, private: bool) -> Result<(), JournalError> {
        self.root.append(self.book.path(), text.as_bytes(), private).map_err(|e| {
            // Perhaps half a line was written: the next record begins a new one.
            self.begun = false;
            failed(self.book, "written", e)
        })
    }

    fn text(&self) -> String {
        let mut text = String::new();
        let mut session = None;
        for e in &self.entries {
            if session != Some((&e.boot, &e.command)) {
                let (boot, command) = (e.boot.clone(), e.command.clone());
                text += &line(&Record::Begin { journal: self.book.format().into(), boot, command });
                session = Some((&e.boot, &e.command));
            }
            text += &line(&Record::Intend { seq: e.seq, knob: e.knob.clone(), undo: e.undo.clone() });
            if e.done {
                text += &line(&Record::Done { seq: e.seq, seen: e.seen.clone() });
            }
        }
        text
    }
}

/// A line that cannot be read was never written whole if nothing but a new session follows it.
fn was_cut_off(lines: &[&str], i: usize) -> bool {
    lines.get(i + 1).is_none_or(|next| matches!(serde_json::from_str(next), Ok(Record::Begin { .. })))
}

fn line(record: &Record) -> String {
    serde_json::to_string(record).expect("a record is always representable as JSON") + "\n"
}

fn refused(book: Book, verb: &'static str, error: StateDirError) -> JournalError {
    match error {
        StateDirError::Io(error) => failed(book, verb, error),
        untrusted => JournalError::Untrusted(untrusted.to_string()),
    }
}

fn failed(book: Book, verb: &'static str, error: io::Error) -> JournalError {
    let hint = if error.kind() == io::ErrorKind::PermissionDenied { " (run it with sudo)" } else { "" };
    JournalError::Io { path: book.path(), verb, reason: format!("{}{hint}", reason(&error)) }
}

#[cfg(test)]
mod standing;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value_format::ValueFormat;
    use proptest::prelude::*;

    pub(super) fn value(path: &str, original: &str) -> Undo {
        Undo::Value { path: path.into(), form: ValueFormat::Plain, original: original.into(), wanted: "1".into() }
    }

    pub(super) fn machine() -> (tempfile::TempDir, Root) {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("proc/sys/kernel/random")).unwrap();
        std::fs::write(dir.path().join("proc/sys/kernel/random/boot_id"), "a\n").unwrap();
        let root = Root::at(dir.path()).unwrap();
        (dir, root)
    }

    #[test]
    fn what_was_begun_is_known_wherever_the_file_was_cut() {
        let (dir, root) = machine();
        let mut journal = Journal::open(&root).unwrap();
        let one = journal.intend("one", value("/a", "5\n")).unwrap();
        journal.done(one, Some("1\n".into())).unwrap();
        journal.intend("two", value("/b", "6\n")).unwrap();
        drop(journal);
        let path = dir.path().join(&PATH[1..]);
        let whole = std::fs::read(&path).unwrap();
        let lines: Vec<usize> = (0..whole.len()).filter(|i| whole[*i] == b'\n').collect();
        for cut in 0..=whole.len() {
            std::fs::write(&path, &whole[..cut]).unwrap();
            let journal = Journal::read(&root).unwrap();
            // A line counts once all of it is there, with or without its end.
            let expected = usize::from(cut >= lines[1]) + usize::from(cut >= lines[3]);
            assert_eq!(journal.entries().count(), expected, "cut at {cut}");
            assert!(
                journal.entries().all(|e| matches!(&e.undo, Undo::Value { original, .. } if original.ends_with('\n')))
            );
        }
    }

    #[test]
    fn writing_goes_on_after_a_cut() {
        let (dir, root) = machine();
        let mut journal = Journal::open(&root).unwrap();
        journal.intend("one", value("/a", "5\n")).unwrap();
        drop(journal);
        let path = dir.path().join(&PATH[1..]);
        let mut torn = std::fs::read(&path).unwrap();
        torn.extend_from_slice(b"{\"step\":\"intend\",\"seq\":2,\"kn");
        std::fs::write(&path, &torn).unwrap();
        let mut journal = Journal::open(&root).unwrap();
        assert_eq!(journal.damage().len(), 1);
        journal.intend("three", value("/c", "7\n")).unwrap();
        drop(journal);
        let journal = Journal::read(&root).unwrap();
        assert_eq!(journal.entries().map(|e| e.knob.as_str()).collect::<Vec<_>>(), ["one", "three"]);
        assert!(journal.damage().is_empty());
    }

    #[test]
    fn a_line_that_cannot_be_read_is_kept() {
        let (dir, root) = machine();
        let mut journal = Journal::open(&root).unwrap();
        journal.intend("one", value("/a", "5\n")).unwrap();
        journal.intend("two", value("/b", "5\n")).unwrap();
        drop(journal);
        let path = dir.path().join(&PATH[1..]);
        let spoilt = std::fs::read_to_string(&path).unwrap().replace("\"/a\"", "\"/a");
        std::fs::write(&path, &spoilt).unwrap();
        let mut journal = Journal::open(&root).unwrap();
        assert!(journal.lost_something() && journal.damage()[0].contains("line 2 cannot be read"));
        assert_eq!(journal.entries().map(|e| e.knob.as_str()).collect::<Vec<_>>(), ["two"]);
        journal.forget(&[2]).unwrap();
        journal.close();
        assert_eq!(std::fs::read_to_string(dir.path().join(&DAMAGED[1..])).unwrap(), spoilt);
    }

    fn mode(place: &std::path::Path) -> u32 {
        use std::os::unix::fs::MetadataExt;
        std::fs::metadata(place).unwrap().mode() & 0o7777
    }

    fn set_mode(place: &std::path::Path, mode: u32) {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(place, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_journal_that_others_could_have_written_is_not_believed() {
        let (dir, root) = machine();
        let mut journal = Journal::open(&root).unwrap();
        journal.intend("one", value("/a", "5\n")).unwrap();
        drop(journal);
        for at_fault in [&PATH[1..], &FOLDER[1..], "var/lib", "var"] {
            let place = dir.path().join(at_fault);
            let before = mode(&place);
            set_mode(&place, 0o777);
            for refused in [Journal::read(&root).err(), Journal::open(&root).err()] {
                let Some(JournalError::Untrusted(why)) = refused else { panic!("{at_fault}: {refused:?}") };
                assert!(why.contains("can be written by others") && why.contains("sudo chmod go-w"), "{why}");
            }
            set_mode(&place, before);
        }
        assert_eq!(Journal::read(&root).unwrap().entries().count(), 1);
    }

    /// `flock` needs a file that is open, and only its owner can open this one.
    #[test]
    fn nobody_else_can_hold_the_lock() {
        let (dir, root) = machine();
        let journal = Journal::open(&root).unwrap();
        assert_eq!((mode(&dir.path().join(&LOCK[1..])), mode(&dir.path().join(&FOLDER[1..]))), (0o600, 0o755));
        // Whoever holds the folder itself is in nobody's way.
        drop(journal);
        let folder = std::fs::File::open(dir.path().join(&FOLDER[1..])).unwrap();
        rustix::fs::flock(&folder, rustix::fs::FlockOperation::LockExclusive).unwrap();
        Journal::open(&root).unwrap().close();
        assert!(!root.exists(FOLDER));
    }

    #[test]
    fn a_journal_that_holds_what_others_may_not_read_is_its_owners_alone() {
        let (dir, root) = machine();
        std::fs::write(dir.path().join("grub.cfg"), "password").unwrap();
        set_mode(&dir.path().join("grub.cfg"), 0o600);
        let file = |path: &str| Undo::File {
            path: path.into(),
            original: Some(Content::Text("password".into())),
            wanted: Content::Text("x".into()),
            backup: None,
            stood: None,
        };
        let place = dir.path().join(&PATH[1..]);
        let mut journal = Journal::open(&root).unwrap();
        journal.intend("one", value("/a", "5\n")).unwrap();
        assert_eq!(mode(&place), 0o644);
        let seq = journal.intend("boot", file("/grub.cfg")).unwrap();
        journal.done(seq, None).unwrap();
        assert_eq!(mode(&place), 0o600);
        // It stays so when it is written anew.
        journal.forget(&[1]).unwrap();
        assert_eq!(mode(&place), 0o600);
    }

    #[test]
    fn a_later_versions_journal_is_left_alone() {
        let (dir, root) = machine();
        std::fs::create_dir_all(dir.path().join("var/lib/ontick")).unwrap();
        let text = "{\"step\":\"begin\",\"journal\":\"ontick-tune/9\",\"boot\":\"a\"}\n{\"step\":\"sing\"}\n";
        std::fs::write(dir.path().join(&PATH[1..]), text).unwrap();
        assert!(matches!(Journal::open(&root), Err(JournalError::Foreign { format, .. }) if format == "ontick-tune/9"));
        assert_eq!(std::fs::read_to_string(dir.path().join(&PATH[1..])).unwrap(), text);
    }

    #[test]
    fn a_restart_undoes_values_but_not_files() {
        let (dir, root) = machine();
        let mut journal = Journal::open(&root).unwrap();
        journal.intend("one", value("/a", "5\n")).unwrap();
        let file = Undo::File {
            path: "/f".into(),
            original: None,
            wanted: Content::Text("x".into()),
            backup: None,
            stood: None,
        };
        journal.intend("boot", file).unwrap();
        drop(journal);
        std::fs::write(dir.path().join("proc/sys/kernel/random/boot_id"), "b\n").unwrap();
        let mut journal = Journal::open(&root).unwrap();
        assert_eq!((journal.entries().count(), journal.undone_by_restart()), (1, 1));
        journal.intend("one", value("/a", "6\n")).unwrap();
        drop(journal);
        let journal = Journal::read(&root).unwrap();
        assert_eq!(journal.entries().map(|e| e.undo.path()).collect::<Vec<_>>(), ["/f", "/a"]);
    }

    #[test]
    fn settings_of_a_killed_command_are_reported_from_those_that_stay() {
        let (_dir, root) = machine();
        let mut journal = Journal::open(&root).unwrap();
        assert!(!journal.is_abandoned());
        journal.for_command("switch run");
        let one = journal.intend("one", value("/a", "5\n")).unwrap();
        journal.intend("two", value("/b", "5\n")).unwrap();
        // Written anew, it is still known.
        journal.forget(&[one]).unwrap();
        drop(journal);
        let mut journal = Journal::open(&root).unwrap();
        assert!(journal.is_abandoned());
        journal.intend("three", value("/c", "5\n")).unwrap();
        drop(journal);
        assert!(!Journal::read(&root).unwrap().is_abandoned());
    }

    #[test]
    fn a_second_ontick_waits() {
        let (_dir, root) = machine();
        let held = Journal::open(&root).unwrap();
        assert!(matches!(Journal::open(&root), Err(JournalError::Busy)));
        drop(held);
        Journal::open(&root).unwrap().close();
        assert!(!root.exists(FOLDER));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_text_is_answered(text in "(\\{\"step\":\"(begin|intend|done|void)\"[^\n]{0,30}\n|.{0,20}\n){0,6}") {
            let (dir, root) = machine();
            std::fs::create_dir_all(dir.path().join("var/lib/ontick")).unwrap();
            std::fs::write(dir.path().join(&PATH[1..]), text).unwrap();
            let _ = Journal::read(&root).unwrap().entries().count();
        }

        #[test]
        fn bytes_of_files_read_back(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let content = Content::from(bytes.clone());
            let back: Content = serde_json::from_str(&serde_json::to_string(&content).unwrap()).unwrap();
            prop_assert_eq!(back.bytes(), &bytes[..]);
        }
    }
}
