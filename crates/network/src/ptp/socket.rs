//! Where the management sockets of the ptp4l are that ontick runs: one for each, in a folder of root's, so that none of
//! another program is taken over.

use std::fs;
use std::io;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};

use ontick_undo::state_dir::{self, StateDirError};

const HOME: &str = "/run/ontick/ptp";
/// sockaddr_un has as many octets, one of them the end.
const LONGEST_PATH: usize = 107;

/// A folder of sockets, each named after its node and the process that runs it.
#[derive(Debug, Clone)]
pub struct SocketDir {
    home: PathBuf,
}

/// The folder cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SocketError {
    /// Another user could have made what is in it, or the system refuses.
    #[error("{home}: {why}", home = home.display())]
    Unusable {
        /// The folder.
        home: PathBuf,
        /// Why.
        why: StateDirError,
    },
    /// The system refuses to list it.
    #[error("{home}: {why}", home = home.display())]
    Unreadable {
        /// The folder.
        home: PathBuf,
        /// Why.
        why: io::Error,
    },
    /// Sockets have short paths.
    #[error("the path {} is too long for a socket", .0.display())]
    LongPath(PathBuf),
}

impl SocketDir {
    /// This folder, or the one in /run.
    pub fn new(home: Option<&Path>) -> Self {
        Self { home: home.unwrap_or(Path::new(HOME)).to_owned() }
    }

    /// Where this process's ptp4l of a node is to have its socket. Makes the folder, and removes sockets whose ptp4l was
    /// killed.
    pub fn socket(&self, node: &str) -> Result<PathBuf, SocketError> {
        let top = if self.home == Path::new(HOME) { Path::new("/run") } else { self.home.as_path() };
        let unusable = |why| SocketError::Unusable { home: self.home.clone(), why };
        match top == self.home {
            true => fs::create_dir_all(top).map_err(|error| unusable(error.into()))?,
            false => state_dir::create(&self.home, top, 0o700).map_err(unusable)?,
        }
        self.running()?;
        let path = self.home.join(format!("{node}.{}", std::process::id()));
        // ptp4l puts more behind it for its second socket.
        if path.as_os_str().len() + 2 > LONGEST_PATH {
            return Err(SocketError::LongPath(path));
        }
        Ok(path)
    }

    /// The sockets of ptp4l that run, each with the name of its node.
    pub fn running(&self) -> Result<Vec<(String, PathBuf)>, SocketError> {
        let unreadable = |why| SocketError::Unreadable { home: self.home.clone(), why };
        let entries = match fs::read_dir(&self.home) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(unreadable)?,
        };
        let mut running = Vec::new();
        for entry in entries {
            let path = entry.map_err(unreadable)?.path();
            let Some(node) = path.file_name().and_then(|name| name.to_str()).and_then(node) else { continue };
            match listens(&path).map_err(unreadable)? {
                true => running.push((node.to_owned(), path)),
                // Somebody else may have been quicker.
                false => drop(fs::remove_file(&path)),
            }
        }
        running.sort();
        Ok(running)
    }
}

/// The node of a socket of this name.
fn node(name: &str) -> Option<&str> {
    let (node, process) = name.rsplit_once('.')?;
    (!process.is_empty() && process.bytes().all(|byte| byte.is_ascii_digit())).then_some(node)
}

fn listens(socket: &Path) -> io::Result<bool> {
    match UnixDatagram::unbound()?.connect(socket) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => Ok(false),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_that_nobody_has_any_more_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let sockets = SocketDir::new(Some(folder.path()));
        let own = sockets.socket("s.1").unwrap();
        let socket = UnixDatagram::bind(&own).unwrap();
        let left = folder.path().join("s2.4711");
        drop(UnixDatagram::bind(&left).unwrap());
        fs::write(folder.path().join("other"), "").unwrap();
        assert_eq!(sockets.running().unwrap(), [("s.1".to_owned(), own.clone())]);
        assert!(!left.exists() && folder.path().join("other").exists());
        drop(socket);
        assert_eq!(sockets.running().unwrap(), []);
        assert!(SocketDir::new(Some(&folder.path().join("none"))).running().unwrap().is_empty());
        let long = SocketDir::new(Some(&folder.path().join("x".repeat(120))));
        assert!(matches!(long.socket("s1"), Err(SocketError::LongPath(_))));
    }
}
