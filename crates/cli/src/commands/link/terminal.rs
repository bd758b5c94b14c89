//! A pseudo-terminal for other programs, and a link to it.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use ontick_link::transfer::both_ways::Port;
use rustix::fs::{Mode, OFlags, fcntl_setfl};
use rustix::io::Errno;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};

use crate::failure::Failure;

/// A terminal in raw mode, and our side of it.
pub struct Terminal {
    own: OwnedFd,
    /// Held, so that the terminal and what it has not handed on outlive the programs that open and close it.
    _others: OwnedFd,
    pub path: PathBuf,
}

impl Terminal {
    pub fn open() -> Result<Self, Failure> {
        Self::try_open().map_err(|e| Failure::new(format!("cannot make a terminal: {e} (is /dev/pts mounted?)")))
    }

    fn try_open() -> Result<Self, Errno> {
        let own = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
        grantpt(&own)?;
        unlockpt(&own)?;
        let path = PathBuf::from(OsStr::from_bytes(ptsname(&own, Vec::new())?.as_bytes()));
        let others = rustix::fs::open(&path, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty())?;
        let mut raw = tcgetattr(&others)?;
        raw.make_raw();
        tcsetattr(&others, OptionalActions::Now, &raw)?;
        fcntl_setfl(&own, OFlags::NONBLOCK)?;
        Ok(Self { own, _others: others, path })
    }
}

impl Port for Terminal {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        now(rustix::io::read(&self.own, into))
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        now(rustix::io::write(&self.own, bytes))
    }
}

/// A terminal that nobody can use at the moment (EIO: it was hung up) is one without bytes and without room.
fn now(done: Result<usize, Errno>) -> io::Result<usize> {
    match done {
        Err(Errno::AGAIN | Errno::INTR | Errno::IO) => Ok(0),
        other => Ok(other?),
    }
}

/// A symbolic link to a terminal, gone with this.
pub struct Link<'a> {
    at: &'a Path,
    to: &'a Path,
}

impl<'a> Link<'a> {
    /// Replaces nothing but a link that one of us left behind: to a terminal that is gone, or that is now this one.
    pub fn lay(at: &'a Path, to: &'a Path) -> Result<Self, Failure> {
        let fail = |what: String| Failure::new(format!("cannot make the link {}: {what}", at.display()));
        if let Ok(target) = fs::read_link(at) {
            if target.starts_with("/dev/pts") && (target == to || !target.exists()) {
                fs::remove_file(at).map_err(|e| fail(e.to_string()))?;
            }
        }
        match std::os::unix::fs::symlink(to, at) {
            Ok(()) => Ok(Self { at, to }),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Err(fail("something is there already; remove it, or name another with --link".into()))
            }
            Err(error) => Err(fail(error.to_string())),
        }
    }
}

impl Drop for Link<'_> {
    fn drop(&mut self) {
        if fs::read_link(self.at).is_ok_and(|target| target == self.to) {
            let _ = fs::remove_file(self.at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn laid(at: &Path, to: &str) -> Result<(), String> {
        Link::lay(at, Path::new(to)).map(std::mem::forget).map_err(|failure| format!("{failure:?}"))
    }

    #[test]
    fn a_link_replaces_only_what_was_left_behind() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().join("tty");
        let own = "/dev/pts/999998";
        laid(&at, own).unwrap();
        laid(&at, own).unwrap();
        laid(&at, "/dev/pts/999999").unwrap();
        assert_eq!(fs::read_link(&at).unwrap(), Path::new("/dev/pts/999999"));
        drop(Link { at: &at, to: Path::new(own) });
        assert!(fs::read_link(&at).is_ok(), "it is another's by now");
        drop(Link { at: &at, to: Path::new("/dev/pts/999999") });
        assert!(fs::read_link(&at).is_err());

        fs::write(&at, "a file").unwrap();
        assert!(laid(&at, own).unwrap_err().contains("already"));
        assert_eq!(fs::read_to_string(&at).unwrap(), "a file");
        fs::remove_file(&at).unwrap();
        std::os::unix::fs::symlink("/no/such/file", &at).unwrap();
        assert!(laid(&at, own).unwrap_err().contains("already"));
        fs::remove_file(&at).unwrap();
        std::os::unix::fs::symlink("/dev/pts", &at).unwrap();
        assert!(laid(&at, own).unwrap_err().contains("already"), "what it leads to is there");
    }
}
