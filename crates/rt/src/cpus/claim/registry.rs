//! The folder of claims: where it is, who may use it, and the files in it.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::PoisonError;

use rustix::fs::{FlockOperation, OFlags, flock};

use super::holder::{Holder, Occupancy, listed};
use super::locks::living;
use super::own::{Claim, Entry, OWN};

/// Root's claims. Others may see them, and touch none.
pub(super) const RUN: &str = "/run/ontick";
pub(super) const FOLDER: &str = "cpus";
pub(super) const LOCK: &str = ".lock";

/// The folder of claims, which nobody else changes meanwhile.
pub(super) struct Registry {
    pub(super) folder: PathBuf,
    _lock: File,
}

impl Registry {
    /// Root's, or the user's own.
    pub(super) fn open() -> Option<Self> {
        Self::at(&home()?)
    }

    pub(super) fn at(home: &Path) -> Option<Self> {
        let folder = home.join(FOLDER);
        for place in [home, &folder] {
            match DirBuilder::new().mode(0o755).create(place) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return None,
                _ => is_own(place).then_some(())?,
            }
        }
        let lock = open(&folder.join(LOCK), false).ok()?;
        flock(&lock, FlockOperation::LockExclusive).ok()?;
        Some(Self { folder, _lock: lock })
    }

    /// Others that live; what dead ones left is removed.
    pub(super) fn holders(&self) -> Vec<Holder> {
        self.holders_and(roots(rustix::process::geteuid().is_root()).as_deref())
    }

    pub(super) fn holders_and(&self, roots: Option<&Path>) -> Vec<Holder> {
        let own = std::process::id();
        let mut holders = listed(&self.folder);
        holders.retain(|holder| holder.pid != own && self.is_locked(holder));
        holders.extend(roots.map(living).unwrap_or_default());
        holders
    }

    fn is_locked(&self, holder: &Holder) -> bool {
        let place = self.folder.join(holder.file_name());
        let Ok(file) = open(&place, false) else { return false };
        let locked = flock(&file, FlockOperation::NonBlockingLockExclusive).is_err();
        if !locked {
            let _ = fs::remove_file(&place);
        }
        locked
    }

    pub(super) fn enter(&self, cpu: u32, occupancy: Occupancy) -> Claim {
        let place = self.folder.join(Holder { cpu, pid: std::process::id(), occupancy }.file_name());
        let mut own = OWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = own.get_mut(&place) {
            entry.claims += 1;
            return Claim::at(Some(place));
        }
        // A dead process may have had this number.
        let _ = fs::remove_file(&place);
        let locked =
            open(&place, true).ok().filter(|file| flock(file, FlockOperation::NonBlockingLockExclusive).is_ok());
        let Some(file) = locked else { return Claim::at(None) };
        own.insert(place.clone(), Entry { claims: 1, _locked: file });
        Claim::at(Some(place))
    }
}

/// Where the folder of this user's claims is.
#[cfg(not(test))]
pub(super) fn home() -> Option<PathBuf> {
    home_of(rustix::process::geteuid().is_root(), std::env::var_os("XDG_RUNTIME_DIR"))
}

/// Root's claims concern everybody; another user's lie where the session keeps what does not outlive it.
pub(super) fn home_of(is_root: bool, runtime: Option<OsString>) -> Option<PathBuf> {
    match is_root {
        true => Some(PathBuf::from(RUN)),
        false => Some(Path::new(&runtime?).join("ontick")),
    }
}

/// Tests claim nothing of the machine they run on.
#[cfg(test)]
pub(super) fn home() -> Option<PathBuf> {
    Some(std::env::temp_dir().join(format!("ontick-own-claims-{}", std::process::id())))
}

/// The folder of root's claims, for whoever is not root: they hold a CPU against everybody.
pub(super) fn roots(is_root: bool) -> Option<PathBuf> {
    (!is_root).then(|| Path::new(RUN).join(FOLDER))
}

/// Whether a folder is this user's, and no other may write to it.
fn is_own(folder: &Path) -> bool {
    fs::symlink_metadata(folder).is_ok_and(|found| {
        found.is_dir() && found.uid() == rustix::process::geteuid().as_raw() && found.mode() & 0o022 == 0
    })
}

pub(super) fn open(place: &Path, new: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).create_new(new).mode(0o600);
    options.custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32).open(place)
}
