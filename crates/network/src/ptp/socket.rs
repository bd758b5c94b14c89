//! Where the management sockets of the ptp4l are that ontick runs: one for each, in a folder of root's, so that none of
//! another program is taken over.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};

use ontick_undo::state_dir::{self, StateDirError};
use ontick_undo::trust::{self, Untrusted};

const HOME: &str = "/run/ontick/ptp";
/// At the end of the name of what is reported beside a socket.
const REPORT: &str = ".json";
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
    /// There is none of this path.
    #[error("there is no socket {}", .0.display())]
    Missing(PathBuf),
    /// What is there is no socket.
    #[error("{} is no socket", .0.display())]
    NotASocket(PathBuf),
    /// Whoever has it says what he likes.
    #[error("the socket {} belongs to another user (uid {uid}), who could forge what it answers: ask it as that user", path.display())]
    OfAnother {
        /// The socket.
        path: PathBuf,
        /// Whose.
        uid: u32,
    },
    /// Another user could have put it there.
    #[error("{0}, so that the socket may be another user's")]
    Untrusted(Untrusted),
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
        self.clean()?;
        let path = self.home.join(format!("{node}.{}", std::process::id()));
        // ptp4l puts more behind it for its second socket.
        if path.as_os_str().len() + 2 > LONGEST_PATH {
            return Err(SocketError::LongPath(path));
        }
        Ok(path)
    }

    /// The sockets of ptp4l that run, each with the name of its node. Changes nothing.
    pub fn running(&self) -> Result<Vec<(String, PathBuf)>, SocketError> {
        Ok(self.look()?.running)
    }

    /// Removes what killed processes left.
    fn clean(&self) -> Result<(), SocketError> {
        // Somebody else may be quicker.
        self.look()?.left.iter().for_each(|file| drop(fs::remove_file(file)));
        Ok(())
    }

    fn look(&self) -> Result<Found, SocketError> {
        let unreadable = |why| SocketError::Unreadable { home: self.home.clone(), why };
        let mut found = Found::default();
        let entries = match fs::read_dir(&self.home) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(found),
            entries => entries.map_err(unreadable)?,
        };
        for entry in entries {
            let path = entry.map_err(unreadable)?.path();
            let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
            if let Some(socket) = reported(name) {
                // It is written while there is a socket: one without is a killed process's.
                if !self.home.join(socket).exists() {
                    found.left.push(path);
                }
                continue;
            }
            let Some(node) = node(name).filter(|_| is_socket(&path)) else { continue };
            match listens(&path).map_err(unreadable)? {
                true => found.running.push((node.to_owned(), path)),
                false => found.left.extend([report_path(&path), path]),
            }
        }
        found.running.sort();
        Ok(found)
    }
}

/// What a folder of sockets has.
#[derive(Default)]
struct Found {
    running: Vec<(String, PathBuf)>,
    /// Of processes that were killed.
    left: Vec<PathBuf>,
}

/// Where the process that runs a ptp4l reports what that does not know: beside its socket.
pub fn report_path(socket: &Path) -> PathBuf {
    let mut path = socket.as_os_str().to_owned();
    path.push(REPORT);
    path.into()
}

/// Checks a socket that another program opened: root or this user has it, and nobody else could have put it there.
pub fn check_socket(path: &Path) -> Result<(), SocketError> {
    let unreadable = |why| SocketError::Unreadable { home: path.to_owned(), why };
    let found = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(SocketError::Missing(path.to_owned())),
        found => found.map_err(unreadable)?,
    };
    if !found.file_type().is_socket() {
        return Err(SocketError::NotASocket(path.to_owned()));
    }
    // Those who may write to it may ask, too: that is no harm.
    if found.uid() != 0 && found.uid() != rustix::process::geteuid().as_raw() {
        return Err(SocketError::OfAnother { path: path.to_owned(), uid: found.uid() });
    }
    let path = std::path::absolute(path).map_err(unreadable)?;
    trust::check_parents(&path, Path::new("/")).map_err(unreadable)?.map_err(SocketError::Untrusted)
}

/// The node of a socket of this name.
fn node(name: &str) -> Option<&str> {
    let (node, process) = name.rsplit_once('.')?;
    (!process.is_empty() && process.bytes().all(|byte| byte.is_ascii_digit())).then_some(node)
}

/// The socket of a report of this name, also of one that is being written.
fn reported(name: &str) -> Option<&str> {
    let socket = name.strip_suffix(REPORT)?;
    let socket = socket.strip_prefix('.').unwrap_or(socket);
    node(socket).map(|_| socket)
}

fn is_socket(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket())
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
        let others = ["other", "other.json", "measured.2026"].map(|name| folder.path().join(name));
        let reports = [report_path(&left), folder.path().join("s3.8.json"), folder.path().join(".s3.8.json")];
        others.iter().chain(&reports).chain([&report_path(&own)]).for_each(|file| fs::write(file, "").unwrap());
        assert_eq!(sockets.running().unwrap(), [("s.1".to_owned(), own.clone())]);
        assert!(left.exists() && reports.iter().all(|file| file.exists()), "who only looks removes nothing");
        assert_eq!(sockets.socket("s.1").unwrap(), own);
        assert!(!left.exists() && reports.iter().all(|file| !file.exists()));
        assert!(report_path(&own).exists() && others.iter().all(|file| file.exists()));
        drop(socket);
        assert_eq!(sockets.running().unwrap(), []);
        assert!(SocketDir::new(Some(&folder.path().join("none"))).running().unwrap().is_empty());
        let long = SocketDir::new(Some(&folder.path().join("x".repeat(120))));
        assert!(matches!(long.socket("s1"), Err(SocketError::LongPath(_))));
    }

    #[test]
    fn a_socket_that_another_user_could_have_put_there_is_refused() {
        use std::os::unix::fs::{PermissionsExt, chown, symlink};
        let folder = tempfile::tempdir().unwrap();
        let [own, link, file] = ["own", "link", "file"].map(|name| folder.path().join(name));
        let _socket = UnixDatagram::bind(&own).unwrap();
        symlink(&own, &link).unwrap();
        fs::write(&file, "").unwrap();
        check_socket(&own).unwrap();
        assert!(matches!(check_socket(&folder.path().join("none")), Err(SocketError::Missing(_))));
        assert!([link, file].iter().all(|path| matches!(check_socket(path), Err(SocketError::NotASocket(_)))));
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(matches!(check_socket(&own), Err(SocketError::Untrusted(_))));
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
        if !rustix::process::geteuid().is_root() {
            return ontick_skip::skipped!("only root can give a socket to another user");
        }
        chown(&own, Some(4_711), None).unwrap();
        assert!(matches!(check_socket(&own), Err(SocketError::OfAnother { uid: 4_711, .. })));
    }
}
