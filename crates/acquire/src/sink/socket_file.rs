//! The file of a UNIX socket that is listened on.

use std::fs::{self, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use crate::Error;

/// The file, which goes with the listener.
pub struct SocketFile(PathBuf);

impl SocketFile {
    /// Listens at a path. A socket that a killed run left behind is replaced; anything else is not.
    pub fn listen(path: &Path, mode: u32) -> Result<(UnixListener, Self), Error> {
        let system = |error| Error::System { what: format!("unix {}", path.display()), error };
        let taken =
            |why: &str| Error::Invalid { what: "sink", text: format!("unix:{}", path.display()), why: why.into() };
        match fs::symlink_metadata(path) {
            Ok(meta) if !meta.file_type().is_socket() => {
                return Err(taken("a file that is not a socket is there (remove it, or choose another path)"));
            }
            Ok(_) if is_listened_on(path).map_err(system)? => {
                return Err(taken("somebody listens there already (end that program, or choose another path)"));
            }
            Ok(_) => fs::remove_file(path).map_err(system)?,
            Err(_) => {}
        }
        let flags = SocketFlags::CLOEXEC;
        let listen = || {
            let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
            // The file's permissions are those of the socket, less the umask's: nobody else comes in between.
            rustix::fs::fchmod(&socket, Mode::from_raw_mode(mode))?;
            rustix::net::bind(&socket, &SocketAddrUnix::new(path)?)?;
            let file = Self(path.into());
            file.set_mode(mode)?;
            rustix::net::listen(&socket, 128)?;
            Ok((UnixListener::from(socket), file))
        };
        listen().map_err(system)
    }

    /// What the umask took away comes back, on the file itself and on nothing that a link leads to.
    fn set_mode(&self, mode: u32) -> io::Result<()> {
        let file = rustix::fs::open(&self.0, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
        if !rustix::fs::FileType::from_raw_mode(rustix::fs::fstat(&file)?.st_mode).is_socket() {
            return Err(io::Error::other("something else took the socket's place"));
        }
        fs::set_permissions(format!("/proc/self/fd/{}", file.as_raw_fd()), Permissions::from_mode(mode))
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
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
    use super::*;

    #[test]
    fn a_listener_that_accepts_nobody_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let socket = rustix::net::socket(AddressFamily::UNIX, SocketType::STREAM, None).unwrap();
        rustix::net::bind(&socket, &SocketAddrUnix::new(&path).unwrap()).unwrap();
        rustix::net::listen(&socket, 0).unwrap();
        let _waits = std::os::unix::net::UnixStream::connect(&path).unwrap();
        let error = SocketFile::listen(&path, 0o600).err().unwrap().to_string();
        assert!(error.contains("somebody listens there already"), "{error}");
    }
}
