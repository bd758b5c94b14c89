//! The file of a UNIX socket that is listened on.

use std::fs::{self, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use crate::place::{Own, Place};

/// Connections that wait to be accepted.
const WAITING: i32 = 128;

/// Why nobody can listen at a path.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// Something else has the name.
    #[error("a file that is not a socket is there (remove it, or choose another path)")]
    NotASocket,
    /// Who may remove it is its owner.
    #[error("a socket of another user is there (have it removed, or choose another path)")]
    OfAnotherUser,
    /// A program listens.
    #[error("somebody listens there already (end that program, or choose another path)")]
    InUse,
    /// The system refused.
    #[error(transparent)]
    System(#[from] io::Error),
}

impl From<Errno> for ListenError {
    fn from(error: Errno) -> Self {
        Self::System(error.into())
    }
}

/// The file, which goes with this.
#[derive(Debug)]
pub struct SocketFile {
    path: PathBuf,
    own: Own,
}

impl SocketFile {
    /// Listens at a path, with these permissions whatever the umask. A socket that a killed program of this user left behind
    /// is replaced; anything else is not.
    pub fn listen(path: &Path, mode: u32) -> Result<(UnixListener, Self), ListenError> {
        let place = Place::of(path)?;
        match place.found() {
            Ok(found) if !FileType::from_raw_mode(found.st_mode).is_socket() => return Err(ListenError::NotASocket),
            Ok(found) if found.st_uid != rustix::process::geteuid().as_raw() => return Err(ListenError::OfAnotherUser),
            Ok(_) if is_listened_on(path)? => return Err(ListenError::InUse),
            Ok(_) => place.remove()?,
            Err(_) => {}
        }
        let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        // The file's permissions are those of the socket, less the umask's: nobody else comes in between.
        rustix::fs::fchmod(&socket, Mode::from_raw_mode(mode))?;
        rustix::net::bind(&socket, &SocketAddrUnix::new(path)?)?;
        let file = place.open_path()?;
        if !FileType::from_raw_mode(rustix::fs::fstat(&file)?.st_mode).is_socket() {
            return Err(io::Error::other("something else took the socket's place").into());
        }
        let bound = Self { path: path.into(), own: Own::at(place, &file)? };
        // What the umask took away comes back, on the file itself and on nothing that a link leads to.
        fs::set_permissions(format!("/proc/self/fd/{}", file.as_raw_fd()), Permissions::from_mode(mode))?;
        rustix::net::listen(&socket, WAITING)?;
        Ok((UnixListener::from(socket), bound))
    }

    /// Where it was asked for.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        self.own.remove();
    }
}

/// Asks without waiting: a listener that accepts nobody would be waited for without end.
fn is_listened_on(path: &Path) -> io::Result<bool> {
    SocketAddr::from_pathname(path)?;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    match rustix::net::connect(&socket, &SocketAddrUnix::new(path)?) {
        Ok(()) | Err(Errno::AGAIN | Errno::INPROGRESS) => Ok(true),
        Err(_) => Ok(false),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn a_listener_that_accepts_nobody_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let socket = rustix::net::socket(AddressFamily::UNIX, SocketType::STREAM, None).unwrap();
        rustix::net::bind(&socket, &SocketAddrUnix::new(&path).unwrap()).unwrap();
        rustix::net::listen(&socket, 0).unwrap();
        let _waits = UnixStream::connect(&path).unwrap();
        assert!(matches!(SocketFile::listen(&path, 0o600), Err(ListenError::InUse)));
    }

    #[test]
    fn a_socket_that_was_left_is_replaced_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        drop(UnixListener::bind(&path).unwrap());
        let (_listener, file) = SocketFile::listen(&path, 0o660).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o660);
        UnixStream::connect(&path).unwrap();
        assert!(matches!(SocketFile::listen(&path, 0o660), Err(ListenError::InUse)));
        drop(file);
        assert!(!path.exists());
        fs::write(&path, "a file").unwrap();
        assert!(matches!(SocketFile::listen(&path, 0o660), Err(ListenError::NotASocket)));
        assert_eq!(fs::read_to_string(&path).unwrap(), "a file");
    }

    #[test]
    fn a_socket_that_another_user_left_stays() {
        if !rustix::process::geteuid().is_root() {
            return ontick_skip::skipped!("only root can give files to others");
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        drop(UnixListener::bind(&path).unwrap());
        std::os::unix::fs::chown(&path, Some(65_534), None).unwrap();
        assert!(matches!(SocketFile::listen(&path, 0o600), Err(ListenError::OfAnotherUser)));
        assert!(path.exists());
    }

    #[test]
    fn of_two_that_listened_in_turn_the_first_leaves_the_seconds_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let (_listener, first) = SocketFile::listen(&path, 0o600).unwrap();
        fs::rename(&path, folder.path().join("moved")).unwrap();
        let (_another, _second) = SocketFile::listen(&path, 0o600).unwrap();
        drop(first);
        UnixStream::connect(&path).unwrap();
    }
}
