//! Where the page is offered.

use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::str::FromStr;

use ontick_acquire::socket_file::{ListenError as NotBound, SocketFile};

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
    Unix(UnixListener, SocketFile),
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
                let (socket, file) = SocketFile::listen(path, 0o660).map_err(|error| match error {
                    NotBound::System(error) => error,
                    taken => io::Error::new(io::ErrorKind::AddrInUse, taken),
                })?;
                socket.set_nonblocking(true)?;
                Ok(Self::Unix(socket, file))
            }
        }
    }

    /// Where it listens in the end: a port that was 0 has a number.
    pub fn address(&self) -> io::Result<Listen> {
        match self {
            Self::Tcp(socket) => socket.local_addr().map(Listen::Tcp),
            Self::Unix(_, file) => Ok(Listen::Unix(file.path().into())),
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
    fn what_stands_in_the_way_of_a_socket_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        let listen = Listen::Unix(path.clone());
        let socket = Socket::bind(&listen).unwrap();
        assert_eq!(socket.address().unwrap(), listen);
        let error = Socket::bind(&listen).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
        assert!(error.to_string().starts_with("somebody listens there already"), "{error}");
    }
}
