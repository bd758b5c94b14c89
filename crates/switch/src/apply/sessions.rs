//! Who manages a switch over the network: sessions, and the lock that one of them has on what is configured. Both are
//! locks on files, so that they go with their process, however it ends.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::PathBuf;

use ontick_undo::state_dir::open_private;
use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::switch_dir::{failed, refused};
use super::{Lock, SwitchDir, SwitchDirError};

const LOCK: &str = "configuring";

/// A session of this process.
#[derive(Debug)]
pub struct Session {
    /// Locked as long as the process lives.
    _alive: File,
    place: PathBuf,
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
    /// Begins one, whose number is this process's. To have locked the folder is to have made it, and to know that nobody
    /// else could have written there.
    pub fn begin(folder: &SwitchDir, _lock: &Lock) -> Result<Self, SwitchDirError> {
        let place = place(folder, std::process::id());
        let alive = open_private(&place).map_err(|e| refused(&place, "written", e))?;
        // What a killed process left is locked by nobody.
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
        let Ok(file) = File::open(place(self, session)) else { return false };
        flock(&file, FlockOperation::NonBlockingLockShared).is_err()
    }

    /// Takes the right to change what is configured, unless another session has it.
    pub fn lock_configuration(&self, session: &Session) -> Result<Result<ConfigurationLock, Held>, SwitchDirError> {
        let place = self.beside(LOCK);
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
    folder.beside(&format!("session-{session}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_session_at_a_time_configures() {
        let home = tempfile::tempdir().unwrap();
        let folder = SwitchDir::of("cell", Some(home.path())).unwrap();
        let session = Session::begin(&folder, &folder.lock().unwrap()).unwrap();
        let lock = folder.lock_configuration(&session).unwrap().unwrap();
        assert_eq!(folder.lock_configuration(&session).unwrap().unwrap_err(), Held { session: std::process::id() });
        drop(lock);
        assert!(folder.lock_configuration(&session).unwrap().is_ok());
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
}
