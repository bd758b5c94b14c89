//! Where a switch's journal, plan and configuration lie while it is applied: /run, as network state does not outlive a boot
//! either.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ontick_undo::state_dir::{self, StateDirError, open_private};
use rustix::fs::{FlockOperation, flock};

const HOME: &str = "/run/ontick/switch";
/// A name in the folder that no switch can have.
const LOCK: &str = ".lock";
const CONFIGURATION: &str = "switch.toml";
const PLAN: &str = "plan.json";
/// Holds the time at which the switch goes unless it is confirmed.
const PENDING: &str = "pending";
/// What the user data plane reports of itself.
const REPORT: &str = "report.json";
/// There while the process that serves the switch is asked to give up its ports.
const RELEASE: &str = "release";
/// Held by whoever watches the switch.
const WATCH: &str = "watch";
/// A lock that is held longer is held by another one that watches.
const A_MOMENT: Duration = Duration::from_millis(500);

/// The folder of one switch.
#[derive(Debug, Clone)]
pub struct SwitchDir {
    pub(super) home: PathBuf,
    name: String,
}

/// The folder cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SwitchDirError {
    /// Another ontick is changing a switch.
    #[error("another ontick is changing a switch (it holds {0}): wait until it has ended")]
    Busy(PathBuf),
    /// It is not a name.
    #[error("\"{0}\" cannot be a switch's name: 1 to 15 letters, digits, - or _")]
    Name(String),
    /// Another user could have written what lies in it.
    #[error("{0}")]
    NotSafe(String),
    /// The disk refused.
    #[error("{place} cannot be {verb}: {why}", place = place.display())]
    Io {
        /// The file.
        place: PathBuf,
        /// `read`, `written`.
        verb: &'static str,
        /// Why.
        why: String,
    },
}

/// Nobody else changes a switch while it lives.
#[derive(Debug)]
pub struct Lock(File);

/// A process that watches a switch, even after that was taken away.
#[derive(Debug)]
pub struct Watcher(File);

impl Watcher {
    /// Waits until it has given up what it had of the switch, but no longer than so; whether it has.
    pub fn wait(&self, at_most: Duration) -> bool {
        let began = Instant::now();
        while !self.has_ended() {
            if began.elapsed() > at_most {
                return false;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        true
    }

    fn has_ended(&self) -> bool {
        flock(&self.0, FlockOperation::NonBlockingLockShared).is_ok()
    }
}

impl SwitchDir {
    /// That of the switch with this name, in the usual place or in `home`.
    pub fn of(name: &str, home: Option<&Path>) -> Result<Self, SwitchDirError> {
        if !is_name(name) {
            return Err(SwitchDirError::Name(name.into()));
        }
        Ok(Self { home: home_of(home)?, name: name.into() })
    }

    /// Whether the folder of all switches can be read; where there is none, there is no switch.
    pub fn readable(home: Option<&Path>) -> io::Result<()> {
        match fs::read_dir(home.unwrap_or(Path::new(HOME))) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// The names of all switches that have one.
    pub fn all(home: Option<&Path>) -> Vec<String> {
        let entries = fs::read_dir(home.unwrap_or(Path::new(HOME))).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|name| is_name(name))
            .collect();
        names.sort();
        names
    }

    /// Those of all other switches in the same place.
    pub(super) fn others(&self) -> Vec<Self> {
        let names = Self::all(Some(&self.home)).into_iter().filter(|name| *name != self.name);
        names.map(|name| Self { home: self.home.clone(), name }).collect()
    }

    /// The switch's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A file in it.
    pub fn path(&self, file: &str) -> PathBuf {
        self.home.join(&self.name).join(file)
    }

    /// A file beside it, which no switch has the name of.
    pub(super) fn beside(&self, file: &str) -> PathBuf {
        self.home.join(format!(".{}.{file}", self.name))
    }

    /// The files beside all switches, as [`Self::beside`] names them, which are meant.
    pub(super) fn all_beside(&self, is_meant: impl Fn(&str) -> bool) -> Vec<PathBuf> {
        let files = fs::read_dir(&self.home).into_iter().flatten().flatten();
        let meant = |file: &fs::DirEntry| {
            let name = file.file_name();
            let parts = name.to_str().and_then(|name| name.strip_prefix('.')?.split_once('.'));
            parts.is_some_and(|(switch, file)| is_name(switch) && is_meant(file))
        };
        files.filter(meant).map(|file| file.path()).collect()
    }

    /// Where a journal goes that cannot be read in full; no switch has such a name.
    pub(super) fn damaged(&self) -> PathBuf {
        self.beside("damaged")
    }

    /// Makes the folder, for root alone, and holds off every other ontick that would change a switch.
    pub fn lock(&self) -> Result<Lock, SwitchDirError> {
        make(&self.home)?;
        let place = self.home.join(LOCK);
        let file = open_private(&place).map_err(|e| refused(&place, "written", e))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Lock(file)),
            Err(rustix::io::Errno::WOULDBLOCK) => Err(SwitchDirError::Busy(place)),
            Err(e) => Err(failed(&place, "written", &e.into())),
        }
    }

    /// Checks that no other user could have written what lies in it, before it is believed.
    pub(super) fn check(&self) -> Result<(), SwitchDirError> {
        let place = self.home.join(&self.name);
        state_dir::check(&place, Path::new("/")).map_err(|e| refused(&place, "read", e))
    }

    /// Makes the folder of the switch itself.
    pub(super) fn make(&self) -> Result<(), SwitchDirError> {
        make(&self.home.join(&self.name))
    }

    /// Marks this process as the one that watches the switch, as long as the lock lives; none if another one does.
    pub fn watch(&self) -> Result<Option<Lock>, SwitchDirError> {
        let place = self.path(WATCH);
        let file = open_private(&place).map_err(|e| refused(&place, "written", e))?;
        let began = Instant::now();
        // Whoever asks whether the switch is watched has the lock for a moment, as has a child before its exec.
        while flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            if began.elapsed() > A_MOMENT {
                return Ok(None);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(Some(Lock(file)))
    }

    /// Whether the applied switch is still the one that this lock was taken for: somebody may have taken that away,
    /// and set up another of the same name.
    pub fn holds(&self, watch: &Lock) -> bool {
        let same = |held: fs::Metadata, there: fs::Metadata| (held.dev(), held.ino()) == (there.dev(), there.ino());
        let there = fs::metadata(self.path(WATCH));
        watch.0.metadata().ok().zip(there.ok()).is_some_and(|(held, there)| same(held, there))
    }

    /// Says that the switch goes at this time of the monotonic clock (in ns) unless somebody confirms it.
    pub fn set_pending(&self, until_ns: u64) -> Result<(), SwitchDirError> {
        self.replace(PENDING, &until_ns.to_string())
    }

    /// When it goes unless somebody confirms it; none if it stays.
    pub fn pending(&self) -> Option<u64> {
        fs::read_to_string(self.path(PENDING)).ok()?.parse().ok()
    }

    /// It stays; whether it would have gone.
    pub fn confirm(&self) -> bool {
        fs::remove_file(self.path(PENDING)).is_ok()
    }

    /// Whether a process watches the switch.
    pub fn is_watched(&self) -> bool {
        let Ok(file) = File::open(self.path(WATCH)) else { return false };
        flock(&file, FlockOperation::NonBlockingLockShared).is_err()
    }

    /// The process that watches the switch, to be waited for; none if nobody does.
    pub fn watcher(&self) -> Option<Watcher> {
        let watcher = Watcher(File::open(self.path(WATCH)).ok()?);
        (!watcher.has_ended()).then_some(watcher)
    }

    /// Asks the process that serves the switch to give up its ports: while it has them, not all settings of the other end
    /// of a virtual cable can be changed.
    pub fn ask_release(&self) -> Result<(), SwitchDirError> {
        self.replace(RELEASE, "")
    }

    /// Whether it is asked and has not done so.
    pub fn is_release_asked(&self) -> bool {
        self.path(RELEASE).exists()
    }

    /// It has given up its ports.
    pub fn released(&self) {
        // Nobody may have asked, and the switch may be gone.
        let _ = fs::remove_file(self.path(RELEASE));
    }

    /// The configuration with which it was set up.
    pub fn configuration(&self) -> Result<String, SwitchDirError> {
        let place = self.path(CONFIGURATION);
        fs::read_to_string(&place).map_err(|e| failed(&place, "read", &e))
    }

    /// The plan that was carried out.
    pub fn plan(&self) -> Result<super::Plan, SwitchDirError> {
        let place = self.path(PLAN);
        let text = fs::read_to_string(&place).map_err(|e| failed(&place, "read", &e))?;
        serde_json::from_str(&text).map_err(|e| failed(&place, "read", &io::Error::other(e)))
    }

    /// Keeps configuration and plan.
    pub fn keep_configuration(&self, configuration: &str, plan: &super::Plan) -> Result<(), SwitchDirError> {
        self.replace(CONFIGURATION, configuration)?;
        self.keep_plan(plan)
    }

    /// Keeps a plan that has changed while it is applied.
    pub fn keep_plan(&self, plan: &super::Plan) -> Result<(), SwitchDirError> {
        self.replace(PLAN, &serde_json::to_string(plan).expect("a plan is always representable as JSON"))
    }

    /// Keeps what the process that does the work reports of itself.
    pub fn keep_report(&self, report: &str) -> Result<(), SwitchDirError> {
        self.replace(REPORT, report)
    }

    /// What it reported last; none before it did.
    pub fn report(&self) -> Option<String> {
        fs::read_to_string(self.path(REPORT)).ok()
    }

    pub(super) fn replace(&self, file: &str, text: &str) -> Result<(), SwitchDirError> {
        let place = self.path(file);
        state_dir::replace(&place, text.as_bytes(), 0o600).map_err(|e| refused(&place, "written", e))
    }

    /// Nothing of the switch is left. It goes at once: nobody sees, and no kill leaves, a part of it.
    pub(super) fn remove(&self) -> Result<(), SwitchDirError> {
        let (place, gone) = (self.home.join(&self.name), self.home.join(format!(".{}.gone", self.name)));
        let was_there = |done: io::Result<()>| match done {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
            done => done.map(|()| true).map_err(|e| failed(&place, "removed", &e)),
        };
        // What somebody was killed over.
        was_there(fs::remove_dir_all(&gone))?;
        if was_there(fs::rename(&place, &gone))? {
            was_there(fs::remove_dir_all(&gone))?;
        }
        Ok(())
    }
}

/// The folder of all switches: the usual one, or this.
pub(super) fn home_of(home: Option<&Path>) -> Result<PathBuf, SwitchDirError> {
    let home = home.unwrap_or(Path::new(HOME));
    // One without a folder before it has no parent that could be examined.
    std::path::absolute(home).map_err(|e| failed(home, "found", &e))
}

fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    !name.is_empty() && name.len() <= 15 && name.chars().all(plain)
}

/// A folder, and those above it, in which nobody but root and its owner can write.
pub(super) fn make(place: &Path) -> Result<(), SwitchDirError> {
    state_dir::create(place, Path::new("/"), 0o700).map_err(|e| refused(place, "written", e))
}

pub(super) fn refused(place: &Path, verb: &'static str, error: StateDirError) -> SwitchDirError {
    match error {
        StateDirError::Io(error) => failed(place, verb, &error),
        untrusted => SwitchDirError::NotSafe(untrusted.to_string()),
    }
}

pub(super) fn failed(place: &Path, verb: &'static str, error: &io::Error) -> SwitchDirError {
    let hint = if error.kind() == io::ErrorKind::PermissionDenied { " (run it with sudo)" } else { "" };
    SwitchDirError::Io { place: place.to_owned(), verb, why: format!("{error}{hint}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relative_folder_is_one_of_where_it_was_named() {
        let file = SwitchDir::of("cell4", Some(Path::new("state"))).unwrap().path("journal.jsonl");
        assert_eq!(file, std::env::current_dir().unwrap().join("state/cell4/journal.jsonl"));
    }

    #[test]
    fn a_release_is_asked_for_until_it_is_done() {
        let home = tempfile::tempdir().unwrap();
        let folder = SwitchDir::of("cell", Some(home.path())).unwrap();
        assert!(folder.ask_release().is_err() && !folder.is_release_asked());
        folder.make().unwrap();
        folder.ask_release().unwrap();
        assert!(folder.is_release_asked());
        folder.released();
        assert!(!folder.is_release_asked());
    }

    #[test]
    fn asking_whether_a_switch_is_watched_keeps_nobody_from_watching_it() {
        let home = tempfile::tempdir().unwrap();
        let folder = SwitchDir::of("cell", Some(home.path())).unwrap();
        folder.make().unwrap();
        let watch = folder.watch().unwrap().unwrap();
        assert!(folder.is_watched());
        assert!(folder.watch().unwrap().is_none());
        drop(watch);
        let asking = File::open(folder.path(WATCH)).unwrap();
        flock(&asking, FlockOperation::LockShared).unwrap();
        let (asked, has_asked) = std::sync::mpsc::channel();
        let asks = std::thread::spawn(move || {
            asked.send(()).unwrap();
            std::thread::sleep(Duration::from_millis(20));
            drop(asking);
        });
        has_asked.recv().unwrap();
        assert!(folder.watch().unwrap().is_some());
        asks.join().unwrap();
    }
}
