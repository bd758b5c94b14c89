//! Nothing is lost: what is about to be changed is on the disk before it is changed.
//!
//! `/var/lib/ontick/tune.jsonl` (`kernel.jsonl` for kernels that were installed) holds one record a line, each
//! flushed before the step it speaks of. The first line of a session says in which boot of the machine it was made: values
//! of /proc and /sys do not outlive a boot, files do. A line that was cut off (power, full disk) was never acted upon.

mod balanced;
mod error;
mod kind;
mod undo;

use std::io;

use ontick_undo::record_log::{self, End, Line, line};
use ontick_undo::state_dir::{StateDirError, StateLock};
use serde::{Deserialize, Serialize};

use crate::root::Root;

pub(crate) use balanced::Balanced;
pub use error::JournalError;
use error::{failed, place, refused};
pub use kind::{DAMAGED, JournalKind, PATH};
pub use undo::{Content, Undo};

const FOLDER: &str = "/var/lib/ontick";
/// Held by whoever changes the machine; only root can open it.
const LOCK: &str = "/var/lib/ontick/.lock";

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
        #[serde(rename = "seen")]
        readback: Option<String>,
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
    pub readback: Option<String>,
    /// The boot of the machine in which it was made.
    pub boot: String,
    /// The command for whose time alone it was made; none for what stays until it is reverted.
    pub command: Option<String>,
}

/// The journal, held against other onticks while it lives.
pub struct Journal {
    root: Root,
    kind: JournalKind,
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
        Self::open_kind(root, JournalKind::Tune)
    }

    /// Opens the journal of one kind of change. Whichever it is, one ontick changes a machine at a time.
    pub fn open_kind(root: &Root, kind: JournalKind) -> Result<Self, JournalError> {
        let refused = |e| refused(root, kind, "written", e);
        // Another ontick that ends takes the folder away.
        let lock = loop {
            root.make_state_dir(FOLDER).map_err(refused)?;
            let place = root.outside(LOCK).map_err(|e| failed(root, kind, "written", e))?;
            match StateLock::take(&place) {
                Err(StateDirError::Io(e)) if e.kind() == io::ErrorKind::NotFound => {}
                taken => break taken.map_err(refused)?.ok_or(JournalError::Busy)?,
            }
        };
        Ok(Self { lock: Some(lock), ..Self::read_kind(root, kind)? })
    }

    /// Reads the journal only to look at it.
    pub fn read(root: &Root) -> Result<Self, JournalError> {
        Self::read_kind(root, JournalKind::Tune)
    }

    /// Reads the journal of one kind of change only to look at it.
    pub fn read_kind(root: &Root, kind: JournalKind) -> Result<Self, JournalError> {
        root.check_state(FOLDER, kind.path()).map_err(|e| refused(root, kind, "read", e))?;
        let bytes = match root.bytes(kind.path()) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(e) => return Err(failed(root, kind, "read", e)),
        };
        let boot = root.value("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let mut journal = Self {
            root: root.clone(),
            kind,
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
        journal.load(&bytes);
        match journal.foreign.take() {
            Some(format) => Err(JournalError::Foreign { path: place(root, kind), format }),
            None => Ok(journal),
        }
    }

    fn load(&mut self, journal: &[u8]) {
        let (mut boot, mut command) = (String::new(), None);
        for (number, line) in record_log::read(journal, |record| matches!(record, Record::Begin { .. })) {
            match line {
                Line::Record(Record::Begin { journal, boot: of, command: by }) if journal == self.kind.format() => {
                    (boot, command) = (of, by);
                }
                Line::Record(Record::Begin { journal, .. }) => self.foreign = self.foreign.take().or(Some(journal)),
                Line::Record(Record::Intend { seq, knob, undo }) => {
                    self.next = self.next.max(seq.saturating_add(1));
                    let (boot, command) = (boot.clone(), command.clone());
                    self.hold(Entry { seq, knob, undo, done: false, readback: None, boot, command });
                }
                Line::Record(Record::Done { seq, readback }) => {
                    if let Some(entry) = self.entries.iter_mut().find(|e| e.seq == seq) {
                        (entry.done, entry.readback) = (true, readback);
                    }
                }
                Line::Record(Record::Void { seq }) => self.entries.retain(|e| e.seq != seq),
                Line::CutOff => self.damage.push(format!("line {number} was cut off; nothing is lost by that")),
                Line::Unreadable => {
                    self.unreadable = true;
                    self.damage.push(format!("line {number} cannot be read; what it announced may be in force"));
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

    /// Whether all changes in force were for the time of commands alone. Whoever holds the journal then knows that they were
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
        self.kind.damaged()
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
            self.hold(Entry { seq, knob: knob.into(), undo, done: false, readback: None, boot, command });
        }
        Ok(first)
    }

    /// Writes down that a change was made, and what the kernel shows since.
    pub fn done(&mut self, seq: u64, readback: Option<String>) -> Result<(), JournalError> {
        self.append(&Record::Done { seq, readback: readback.clone() })?;
        if let Some(entry) = self.entries.iter_mut().find(|e| e.seq == seq) {
            (entry.done, entry.readback) = (true, readback);
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
            return self.root.remove(self.kind.path()).map_err(|e| failed(&self.root, self.kind, "written", e));
        }
        let text = self.text();
        self.root.replace(self.kind.path(), text.as_bytes()).map_err(|e| failed(&self.root, self.kind, "written", e))
    }

    /// What cannot be read stays beside the journal, for whoever can make something of it.
    fn keep_unreadable(&mut self) -> Result<(), JournalError> {
        if self.unreadable {
            let bytes = self.root.bytes(self.kind.path()).map_err(|e| failed(&self.root, self.kind, "read", e))?;
            let private = self.root.is_public(self.kind.path()) == Some(false);
            self.root
                .append(self.kind.damaged(), &bytes, private)
                .map_err(|e| failed(&self.root, self.kind, "written", e))?;
            self.unreadable = false;
        }
        Ok(())
    }

    /// Removes the journal's folder where nothing is left in it.
    pub fn close(self) {
        // Left by a disk that took the name and not the first line.
        if self.root.bytes(self.kind.path()).is_ok_and(|bytes| bytes.is_empty()) {
            let _ = self.root.remove(self.kind.path());
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
        // Half a record that was there before is damage, and gone by now. With its end and no session after it, one of this
        // session would count as a whole line that was spoilt: they are written at once.
        let end = if self.ends_with_line() { "" } else { "\n" };
        let (boot, command) = (self.boot.clone(), self.command.clone());
        let begin = line(&Record::Begin { journal: self.kind.format().into(), boot, command });
        self.append_text(&format!("{end}{begin}"), false)?;
        self.begun = true;
        Ok(())
    }

    fn ends_with_line(&self) -> bool {
        let bytes = self.root.bytes(self.kind.path());
        bytes.map_or(true, |bytes| record_log::end_of::<Record>(&bytes) == End::Line)
    }

    fn append(&mut self, record: &Record) -> Result<(), JournalError> {
        // After a record that was cut off only the begin of a session is read as one of its own.
        if !self.begun && !self.ends_with_line() {
            self.begin()?;
        }
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
        self.root.append(self.kind.path(), text.as_bytes(), private).map_err(|e| {
            // Perhaps half a line was written: the next record begins a new one.
            self.begun = false;
            failed(&self.root, self.kind, "written", e)
        })
    }

    fn text(&self) -> String {
        let mut text = String::new();
        let mut session = None;
        for e in &self.entries {
            if session != Some((&e.boot, &e.command)) {
                let (boot, command) = (e.boot.clone(), e.command.clone());
                text += &line(&Record::Begin { journal: self.kind.format().into(), boot, command });
                session = Some((&e.boot, &e.command));
            }
            text += &line(&Record::Intend { seq: e.seq, knob: e.knob.clone(), undo: e.undo.clone() });
            if e.done {
                text += &line(&Record::Done { seq: e.seq, readback: e.readback.clone() });
            }
        }
        text
    }
}

#[cfg(test)]
mod standing;

#[cfg(test)]
mod tests;
