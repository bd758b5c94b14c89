//! Nothing is lost: how to undo a step is on the disk before the step begins.
//!
//! One record a line. The first says in which boot and in which network namespace the rest was written: neither's
//! settings outlive it. A line that was cut off was never acted upon.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;

use ontick_undo::record_log::{self, End, Line};
use serde::{Deserialize, Serialize};

use super::network::{NamespaceState, Network};
use super::switch_dir::failed;
use super::{SwitchDir, SwitchDirError, Undo};

const FILE: &str = "journal.jsonl";
const FORMAT: &str = "ontick-switch/1";

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "record")]
enum Record {
    Begin {
        journal: String,
        boot: String,
        #[serde(flatten)]
        network: Network,
    },
    Intend {
        step: String,
        undos: Vec<Undo>,
    },
    Done {
        step: String,
    },
    Complete,
}

/// A step that was begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// What it is for.
    pub step: String,
    /// How to undo it.
    pub undos: Vec<Undo>,
    /// Whether it is known to have been done.
    pub done: bool,
}

/// What is applied of a switch.
#[derive(Debug)]
pub struct Journal {
    folder: SwitchDir,
    entries: Vec<Entry>,
    complete: bool,
    damage: Vec<String>,
}

/// The journal cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// Its folder cannot be.
    #[error(transparent)]
    SwitchDir(#[from] SwitchDirError),
    /// It was written by a version of ontick that knows more.
    #[error(
        "{place} is written in the form {format}, which this ontick does not know: revert with the one that wrote it"
    )]
    Foreign {
        /// The file.
        place: String,
        /// Its form.
        format: String,
    },
    /// It was set up in another network namespace, which still exists.
    #[error(
        "switch {0} is set up in another network namespace of this machine: run ontick there (ip netns exec), or give this one another name"
    )]
    Elsewhere(String),
}

impl Journal {
    /// What is applied; none if nothing is.
    pub fn read(folder: &SwitchDir) -> Result<Option<Self>, JournalError> {
        folder.check()?;
        let place = folder.path(FILE);
        let bytes = match fs::read(&place) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(failed(&place, "read", &e).into()),
        };
        let mut journal = Self { folder: folder.clone(), entries: Vec::new(), complete: false, damage: Vec::new() };
        for (number, line) in record_log::read(&bytes, |record| matches!(record, Record::Begin { .. })) {
            match line {
                Line::Record(Record::Begin { journal: format, .. }) if format != FORMAT => {
                    return Err(JournalError::Foreign { place: place.display().to_string(), format });
                }
                Line::Record(Record::Begin { boot, network, .. }) => {
                    if boot != this_boot() {
                        return Ok(None);
                    }
                    match network.find() {
                        NamespaceState::Here => {}
                        NamespaceState::Elsewhere => return Err(JournalError::Elsewhere(folder.name().into())),
                        NamespaceState::Gone => return Ok(None),
                    }
                }
                Line::Record(Record::Intend { step, undos }) => {
                    journal.entries.push(Entry { step, undos, done: false })
                }
                Line::Record(Record::Done { step }) => {
                    if let Some(entry) = journal.entries.iter_mut().rev().find(|entry| entry.step == step) {
                        entry.done = true;
                    }
                }
                Line::Record(Record::Complete) => journal.complete = true,
                Line::CutOff => {}
                Line::Unreadable => {
                    journal.damage.push(format!("line {number} of {} cannot be read", place.display()));
                }
            }
        }
        // Only the first line was begun.
        Ok((!journal.entries.is_empty() || !journal.damage.is_empty()).then_some(journal))
    }

    /// A new one, which says that nothing was done so far. Whoever calls it holds the folder's lock.
    pub fn begin(folder: &SwitchDir) -> Result<Self, JournalError> {
        folder.remove()?;
        folder.make()?;
        let journal = Self { folder: folder.clone(), entries: Vec::new(), complete: false, damage: Vec::new() };
        journal.append(&Record::Begin {
            journal: FORMAT.into(),
            boot: this_boot(),
            network: Network::of_this_process(),
        })?;
        Ok(journal)
    }

    /// Begun steps, oldest first.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Whether all that was planned was done.
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// What of it cannot be read.
    pub fn damage(&self) -> &[String] {
        &self.damage
    }

    /// Writes down how to undo a step before it begins.
    pub fn intend(&mut self, step: &str, undos: &[Undo]) -> Result<(), JournalError> {
        self.append(&Record::Intend { step: step.into(), undos: undos.to_vec() })?;
        self.entries.push(Entry { step: step.into(), undos: undos.to_vec(), done: false });
        Ok(())
    }

    /// Writes down that the last step was done.
    pub fn done(&mut self) -> Result<(), JournalError> {
        if let Some(last) = self.entries.last_mut() {
            last.done = true;
            let step = last.step.clone();
            self.append(&Record::Done { step })?;
        }
        Ok(())
    }

    /// Writes down that all was done.
    pub fn complete(&mut self) -> Result<(), JournalError> {
        self.complete = true;
        self.append(&Record::Complete)
    }

    /// Keeps a journal that cannot be read in full beside the switch's folder; the path.
    pub(super) fn keep_aside(&self) -> Result<String, JournalError> {
        let (from, to) = (self.folder.path(FILE), self.folder.damaged());
        fs::rename(&from, &to).map_err(|e| failed(&to, "written", &e))?;
        Ok(to.display().to_string())
    }

    /// Forgets everything: nothing is applied any more.
    pub fn forget(self) -> Result<(), JournalError> {
        Ok(self.folder.remove()?)
    }

    fn append(&self, record: &Record) -> Result<(), JournalError> {
        let place = self.folder.path(FILE);
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true).mode(0o600);
        let written = options.open(&place).and_then(|mut file| {
            end_last_line(&mut file)?;
            file.write_all(record_log::line(record).as_bytes())?;
            file.sync_all()
        });
        Ok(written.map_err(|e| failed(&place, "written", &e))?)
    }
}

/// Makes room for a record after whatever a kill or a full disk left.
fn end_last_line(file: &mut File) -> io::Result<()> {
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    match record_log::end_of::<Record>(&bytes) {
        End::Line => Ok(()),
        End::Record => file.write_all(b"\n"),
        End::HalfRecord(start) => file.set_len(start as u64),
    }
}

fn this_boot() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::{Live, revert};
    use super::*;

    fn undo(table: &str) -> Undo {
        Undo::NftTable { family: "bridge".into(), table: table.into() }
    }

    fn folder() -> (tempfile::TempDir, SwitchDir) {
        let place = tempfile::tempdir().unwrap();
        let folder = SwitchDir::of("cell4", Some(place.path())).unwrap();
        (place, folder)
    }

    #[test]
    fn what_was_begun_is_known_wherever_the_file_was_cut() {
        let (_place, folder) = folder();
        let _lock = folder.lock().unwrap();
        let mut journal = Journal::begin(&folder).unwrap();
        assert!(Journal::read(&folder).unwrap().is_none(), "nothing was begun");
        journal.intend("one", &[undo("a")]).unwrap();
        journal.done().unwrap();
        journal.intend("two", &[undo("b"), undo("c")]).unwrap();
        let place = folder.path(FILE);
        let whole = fs::read(&place).unwrap();
        let ends: Vec<usize> = (0..whole.len()).filter(|at| whole[*at] == b'\n').collect();
        for cut in 0..=whole.len() {
            fs::write(&place, &whole[..cut]).unwrap();
            let begun = Journal::read(&folder).unwrap().map_or(0, |journal| journal.entries().len());
            // A record counts once all of it is there, with or without the line's end.
            assert_eq!(begun, usize::from(cut >= ends[1]) + usize::from(cut >= ends[3]), "cut at {cut}");
        }
    }

    /// A step that is written down after a line that was cut off is carried out, and must be undone.
    #[test]
    fn a_step_after_a_line_that_was_cut_off_is_known() {
        let (_place, folder) = folder();
        let _lock = folder.lock().unwrap();
        let mut journal = Journal::begin(&folder).unwrap();
        journal.intend("one", &[undo("a")]).unwrap();
        journal.done().unwrap();
        journal.intend("two", &[undo("b")]).unwrap();
        let place = folder.path(FILE);
        let whole = fs::read(&place).unwrap();
        let begun = whole.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at).nth(1).unwrap();
        for cut in begun..=whole.len() {
            fs::write(&place, &whole[..cut]).unwrap();
            let mut journal = Journal::read(&folder).unwrap().unwrap();
            let before = journal.entries().len();
            journal.intend("three", &[undo("c")]).unwrap();
            let journal = Journal::read(&folder).unwrap().unwrap();
            let steps: Vec<&str> = journal.entries().iter().map(|entry| entry.step.as_str()).collect();
            assert_eq!((steps.len(), steps.last()), (before + 1, Some(&"three")), "cut at {cut}: {steps:?}");
            assert!(journal.damage().is_empty(), "cut at {cut}: {:?}", journal.damage());
        }
    }

    #[test]
    fn of_another_boot_or_a_lost_network_namespace_nothing_stands() {
        let (_place, folder) = folder();
        let _lock = folder.lock().unwrap();
        let mut journal = Journal::begin(&folder).unwrap();
        journal.intend("one", &[undo("a")]).unwrap();
        let text = fs::read_to_string(folder.path(FILE)).unwrap();
        let this = Network::of_this_process();
        let cookie = |cookie: u64| format!("\"network_cookie\":{cookie}");
        let mut lost = vec![(this_boot(), "another".to_owned()), (this.number.to_string(), "1".to_owned())];
        lost.extend(this.cookie.map(|now| (cookie(now), cookie(now + 1))));
        for (now, then) in lost {
            fs::write(folder.path(FILE), text.replace(&now, &then)).unwrap();
            assert!(Journal::read(&folder).unwrap().is_none());
        }
        fs::write(folder.path(FILE), text.replace(FORMAT, "ontick-switch/9")).unwrap();
        assert!(
            matches!(Journal::read(&folder), Err(JournalError::Foreign { format, .. }) if format == "ontick-switch/9")
        );
    }

    /// A journal of version 0.1.0 with every kind of change, killed at the last: what later versions must go on reading.
    #[test]
    fn a_journal_that_an_earlier_version_left_is_read() {
        let (_place, folder) = folder();
        let _lock = folder.lock().unwrap();
        folder.make().unwrap();
        let text = include_str!("../../tests/journals/0.1.0.jsonl").replace("BOOT", &this_boot());
        let this = Network::of_this_process();
        let text = text.replacen("\"network\":1", &format!("\"network\":{}", this.number), 1);
        fs::write(folder.path(FILE), &text).unwrap();
        let journal = Journal::read(&folder).unwrap().unwrap();
        assert!(journal.damage().is_empty() && !journal.is_complete(), "{:?}", journal.damage());
        let what: Vec<_> = journal.entries().iter().flat_map(|entry| &entry.undos).map(Undo::what).collect();
        assert_eq!(
            what,
            [
                "no bridge sw0",
                "p1 down",
                "p1 out of bridge sw0",
                "p1: tx-checksum-ip-generic on, generic-receive-offload off",
                "no group addresses of p1 in bridge sw0",
                "no interface p2",
                "/proc/sys/net/ipv6/conf/p1/disable_ipv6 0",
                "/proc/sys/kernel/sched_rt_runtime_us 950000",
                "p1: queueing discipline noqueue",
                "p1: no clsact",
                "p1: no filters of ontick",
                "no nft table bridge ontick-sw0",
                "no iptables chain ontick-sw0",
            ]
        );
        // What is written today has the same form.
        let mut again = Journal::begin(&folder).unwrap();
        for entry in journal.entries() {
            again.intend(&entry.step, &entry.undos).unwrap();
            if entry.done {
                again.done().unwrap();
            }
        }
        let cookie = this.cookie.map(|cookie| format!(",\"network_cookie\":{cookie}")).unwrap_or_default();
        assert_eq!(fs::read_to_string(folder.path(FILE)).unwrap().replacen(&cookie, "", 1), text);
    }

    /// What a line held that cannot be read is not known to be undone.
    #[test]
    fn a_journal_with_a_line_that_cannot_be_read_is_not_taken_for_undone() {
        let (_place, folder) = folder();
        let lock = folder.lock().unwrap();
        let mut journal = Journal::begin(&folder).unwrap();
        for port in ["a", "b"] {
            let path = format!("/proc/sys/net/no/such/{port}");
            journal.intend(port, &[Undo::Value { path, was: "1".into(), port: None }]).unwrap();
        }
        let text = fs::read_to_string(folder.path(FILE)).unwrap();
        let spoilt = text.replacen("\"intend\"", "\"intent\"", 1);
        fs::write(folder.path(FILE), &spoilt).unwrap();
        let reverted = revert(&Live, &folder, &lock).unwrap().unwrap();
        assert!(!reverted.complete() && reverted.damage.len() == 1 && reverted.undone.len() == 1, "{reverted:?}");
        assert_eq!(fs::read_to_string(reverted.damaged.unwrap()).unwrap(), spoilt);
        assert!(Journal::read(&folder).unwrap().is_none(), "a new switch of that name may be set up");
    }

    #[test]
    fn it_goes_at_once_and_what_a_kill_left_of_it_is_in_nobodys_way() {
        let place = tempfile::tempdir().unwrap();
        // Beside the file of the lock.
        let folder = SwitchDir::of("lock", Some(place.path())).unwrap();
        let _lock = folder.lock().unwrap();
        for _ in 0..2 {
            let mut journal = Journal::begin(&folder).unwrap();
            journal.intend("one", &[undo("a")]).unwrap();
            assert_eq!(SwitchDir::all(Some(place.path())), ["lock"]);
            journal.forget().unwrap();
            assert!(Journal::read(&folder).unwrap().is_none() && SwitchDir::all(Some(place.path())).is_empty());
            // Killed while the files went one by one.
            fs::create_dir(place.path().join(".lock.gone")).unwrap();
            fs::write(place.path().join(".lock.gone/plan.json"), "").unwrap();
            assert!(SwitchDir::all(Some(place.path())).is_empty());
        }
    }

    #[test]
    fn a_journal_in_a_folder_that_others_can_write_is_not_believed() {
        use std::os::unix::fs::PermissionsExt;
        let place = tempfile::tempdir().unwrap();
        let home = place.path().join("ontick/switch");
        let folder = SwitchDir::of("cell4", Some(&home)).unwrap();
        let _lock = folder.lock().unwrap();
        Journal::begin(&folder).unwrap().intend("one", &[undo("a")]).unwrap();
        for at_fault in [home.join("cell4"), home.clone(), place.path().join("ontick")] {
            let set_mode = |mode| fs::set_permissions(&at_fault, fs::Permissions::from_mode(mode)).unwrap();
            set_mode(0o777);
            let why = Journal::read(&folder).unwrap_err().to_string();
            assert!(why.starts_with(&format!("{} can be written by others", at_fault.display())), "{why}");
            set_mode(0o700);
        }
        assert!(Journal::read(&folder).unwrap().is_some());
    }

    #[test]
    fn one_at_a_time_and_for_root_alone() {
        use std::os::unix::fs::PermissionsExt;
        let (place, folder) = folder();
        let lock = folder.lock().unwrap();
        assert!(matches!(folder.lock(), Err(SwitchDirError::Busy(_))));
        drop(lock);
        Journal::begin(&folder).unwrap();
        let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&place.path().join("cell4")), mode(&folder.path(FILE))), (0o700, 0o600));
        fs::set_permissions(place.path(), fs::Permissions::from_mode(0o777)).unwrap();
        assert!(matches!(folder.lock(), Err(SwitchDirError::NotSafe(_))));
        for name in ["", "..", "a/b", "sixteen-letters-x", ".lock"] {
            assert!(matches!(SwitchDir::of(name, None), Err(SwitchDirError::Name(_))), "{name}");
        }
    }
}
