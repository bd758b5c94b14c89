//! Where the page is offered.

use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::str::FromStr;

/// An address to listen on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listen {
    /// `127.0.0.1:9119`, `[::1]:9119`.
    Tcp(SocketAddr),
    /// `unix:/run/ontick/watch.sock`: for this user and its group.
    Unix(PathBuf),
}

/// Why a text is no address.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is no address to listen on: write it as 127.0.0.1:9119, [::1]:9119 or unix:/path")]
pub struct ListenError(String);

impl Listen {
    /// Whether only this machine's programs get there.
    pub fn is_local(&self) -> bool {
        match self {
            Self::Tcp(address) => address.ip().is_loopback(),
            Self::Unix(_) => true,
        }
    }
}

impl FromStr for Listen {
    type Err = ListenError;

    fn from_str(text: &str) -> Result<Self, ListenError> {
        match text.strip_prefix("unix:") {
            Some(path) if !path.is_empty() => Ok(Self::Unix(path.into())),
            Some(_) => Err(ListenError(text.into())),
            None => text.parse().map(Self::Tcp).map_err(|_| ListenError(text.into())),
        }
    }
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Tcp(address) => write!(f, "http://{address}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// A socket that listens.
#[derive(Debug)]
pub enum Socket {
    /// Of an address.
    Tcp(TcpListener),
    /// In a folder; the file goes with it.
    Unix(UnixListener, PathBuf),
}

impl Socket {
    /// Listens. The socket that a killed service left is replaced; one that is in use, and any other file, is not.
    pub fn bind(listen: &Listen) -> io::Result<Self> {
        match listen {
            Listen::Tcp(address) => {
                let socket = TcpListener::bind(address)?;
                socket.set_nonblocking(true)?;
                Ok(Self::Tcp(socket))
            }
            Listen::Unix(path) => {
                if let Ok(there) = std::fs::symlink_metadata(path) {
                    let own = there.file_type().is_socket() && there.uid() == rustix::process::geteuid().as_raw();
                    if !own || UnixStream::connect(path).is_ok() {
                        return Err(io::ErrorKind::AddrInUse.into());
                    }
                    std::fs::remove_file(path)?;
                }
                let socket = UnixListener::bind(path)?;
                std::fs::set_permissions(path, PermissionsExt::from_mode(0o660))?;
                socket.set_nonblocking(true)?;
                Ok(Self::Unix(socket, path.clone()))
            }
        }
    }

    /// Where it listens in the end: a port that was 0 has a number.
    pub fn address(&self) -> io::Result<Listen> {
        match self {
            Self::Tcp(socket) => socket.local_addr().map(Listen::Tcp),
            Self::Unix(_, path) => Ok(Listen::Unix(path.clone())),
        }
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        if let Self::Unix(_, path) = self {
            let _ = std::fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_told_apart() {
        let read = |text: &str| text.parse::<Listen>();
        assert!(read("127.0.0.1:9119").unwrap().is_local() && read("[::1]:1").unwrap().is_local());
        assert!(!read("0.0.0.0:9119").unwrap().is_local());
        assert_eq!(read("unix:/run/a").unwrap().to_string(), "unix:/run/a");
        for text in ["", "localhost", "127.0.0.1", "unix:", "9119"] {
            assert_eq!(read(text), Err(ListenError(text.into())), "{text}");
        }
    }

    #[test]
    fn a_socket_that_was_left_is_replaced_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        let listen = Listen::Unix(path.clone());
        drop(UnixListener::bind(&path).unwrap());
        let socket = Socket::bind(&listen).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o660);
        assert_eq!(Socket::bind(&listen).unwrap_err().kind(), io::ErrorKind::AddrInUse);
        drop(socket);
        assert!(!path.exists());
        std::fs::write(&path, "a file").unwrap();
        assert_eq!(Socket::bind(&listen).unwrap_err().kind(), io::ErrorKind::AddrInUse);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "a file");
    }
}
