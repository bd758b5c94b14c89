//! Who manages a switch over the network: sessions, and the locks that one of them has on what is configured. All are locks
//! on files, so that they go with their process, however it ends.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use ontick_undo::state_dir::open_private;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::switch_dir::{failed, refused};
use super::{Lock, SwitchDir, SwitchDirError};

/// What the name of a session's file begins with, before the number.
const SESSION: &str = "session-";

/// A session of this process.
#[derive(Debug)]
pub struct Session {
    /// Locked as long as the process lives.
    _alive: File,
    place: PathBuf,
}

/// A configuration that one session at a time may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Configuration {
    /// What the switch does.
    Running,
    /// What it is to do from the next boot on.
    Startup,
}

impl Configuration {
    /// The file that is locked.
    fn lock(self) -> &'static str {
        match self {
            Self::Running => "configuring",
            Self::Startup => "configuring-startup",
        }
    }
}

/// Another session has the lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held {
    /// Which.
    pub session: u32,
}

/// The right to change what is configured, which no other session has meanwhile.
#[derive(Debug)]
pub struct ConfigurationLock(File);

impl Drop for ConfigurationLock {
    fn drop(&mut self) {
        // Whoever asks meanwhile does not find a session that has ended.
        let _ = self.0.set_len(0);
    }
}

impl Session {
    /// Begins one, whose number is this process's, and removes what killed ones left. To have locked the folder is to have
    /// made it, and to know that nobody else could have written there, and that no other session begins meanwhile.
    pub fn begin(folder: &SwitchDir, _lock: &Lock) -> Result<Self, SwitchDirError> {
        folder.remove_dead_sessions();
        let place = place(folder, std::process::id());
        let alive = open_private(&place).map_err(|e| refused(&place, "written", e))?;
        flock(&alive, FlockOperation::NonBlockingLockExclusive).map_err(|e| failed(&place, "written", &e.into()))?;
        Ok(Self { _alive: alive, place })
    }

    /// Its number.
    pub fn id(&self) -> u32 {
        std::process::id()
    }

    /// Ends another one; whether there was one.
    pub fn kill(&self, folder: &SwitchDir, session: u32) -> bool {
        let pid = i32::try_from(session).ok().and_then(Pid::from_raw);
        // The handle comes first: from then on the number is nobody else's.
        let Some(process) = pid.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok()) else { return false };
        folder.has_session(session) && pidfd_send_signal(process, Signal::KILL).is_ok()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.place);
    }
}

impl SwitchDir {
    /// Whether there is a session of this number.
    pub fn has_session(&self, session: u32) -> bool {
        is_alive(&place(self, session)).unwrap_or(false)
    }

    /// Removes the files of sessions that were killed, of any switch. Whoever calls this holds the lock, without which no
    /// session begins: a file that is not locked is not one that is about to be.
    fn remove_dead_sessions(&self) {
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|octet| octet.is_ascii_digit());
        for file in self.all_beside(|file| file.strip_prefix(SESSION).is_some_and(is_number)) {
            if is_alive(&file).is_ok_and(|alive| !alive) {
                // It is in nobody's way if it stays.
                let _ = fs::remove_file(file);
            }
        }
    }

    /// Takes the right to change what is configured, unless another session has it.
    pub fn lock_configuration(
        &self,
        which: Configuration,
        session: &Session,
    ) -> Result<Result<ConfigurationLock, Held>, SwitchDirError> {
        let place = self.beside(which.lock());
        let mut file = open_private(&place).map_err(|e| refused(&place, "written", e))?;
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            let mut text = String::new();
            file.read_to_string(&mut text).map_err(|e| failed(&place, "read", &e))?;
            return Ok(Err(Held { session: text.trim().parse().unwrap_or(0) }));
        }
        let written = file.set_len(0).and_then(|()| write!(file, "{}", session.id()));
        written.map_err(|e| failed(&place, "written", &e))?;
        Ok(Ok(ConfigurationLock(file)))
    }
}

fn place(folder: &SwitchDir, session: u32) -> PathBuf {
    folder.beside(&format!("{SESSION}{session}"))
}

/// Whether a living session has this file. A shared lock asks: it is in no other asker's way.
fn is_alive(place: &Path) -> io::Result<bool> {
    match flock(&File::open(place)?, FlockOperation::NonBlockingLockShared) {
        Ok(()) => Ok(false),
        Err(Errno::WOULDBLOCK) => Ok(true),
        Err(e) => Err(e.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_session_at_a_time_configures() {
        let home = tempfile::tempdir().unwrap();
        let folder = SwitchDir::of("cell", Some(home.path())).unwrap();
        let session = Session::begin(&folder, &folder.lock().unwrap()).unwrap();
        let lock = |which| folder.lock_configuration(which, &session).unwrap();
        let running = lock(Configuration::Running).unwrap();
        assert_eq!(lock(Configuration::Running).unwrap_err(), Held { session: std::process::id() });
        assert!(lock(Configuration::Startup).is_ok());
        drop(running);
        assert!(lock(Configuration::Running).is_ok());
        assert!(SwitchDir::all(Some(home.path())).is_empty());
    }

    #[test]
    fn only_sessions_are_ended() {
        let home = tempfile::tempdir().unwrap();
        let folder = SwitchDir::of("cell", Some(home.path())).unwrap();
        let session = Session::begin(&folder, &folder.lock().unwrap()).unwrap();
        let mut other = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        assert!(!session.kill(&folder, other.id()), "it is no session");
        // A file that a killed session left, whose number another process got.
        open_private(&place(&folder, other.id())).unwrap();
        assert!(!session.kill(&folder, other.id()), "it has no lock");
        let alive = File::open(place(&folder, other.id())).unwrap();
        flock(&alive, FlockOperation::NonBlockingLockExclusive).unwrap();
        assert!(session.kill(&folder, other.id()));
        assert!(!other.wait().unwrap().success());
        assert!(!session.kill(&folder, 0) && !session.kill(&folder, u32::MAX));
    }

    #[test]
    fn what_killed_sessions_left_goes_and_nothing_else_does() {
        let home = tempfile::tempdir().unwrap();
        let folder = SwitchDir::of("cell", Some(home.path())).unwrap();
        drop(folder.lock().unwrap());
        let put = |name: &str| open_private(&home.path().join(name)).unwrap();
        let living = put(".cell.session-1");
        flock(&living, FlockOperation::NonBlockingLockExclusive).unwrap();
        let own = format!(".cell.session-{}", std::process::id());
        for dead in [".cell.session-2", ".other.session-3", &own] {
            put(dead);
        }
        let others = [".cell.session-", ".cell.session-2x", "cell.session-2", ".cell.damaged", ".a.b.session-2"];
        others.iter().for_each(|name| drop(put(name)));
        // Somebody asks meanwhile.
        let asks = File::open(home.path().join(".cell.session-2")).unwrap();
        flock(&asks, FlockOperation::NonBlockingLockShared).unwrap();
        let session = Session::begin(&folder, &folder.lock().unwrap()).unwrap();
        let mut left: Vec<String> =
            fs::read_dir(home.path()).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        left.sort();
        let mut expected = [&[".cell.session-1", &own, ".lock"], &others[..]].concat();
        expected.sort_unstable();
        assert_eq!(left, expected);
        assert!(folder.has_session(session.id()) && folder.has_session(1));
    }
}
