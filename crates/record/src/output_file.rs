//! Files that a user names: written whole or not at all, and never through what another user put in their place.
//!
//! In a folder that everyone may write (`/tmp`), a link, a file or a pipe counts only if it belongs to this user or to
//! the folder's owner. This is what the kernel does where `fs.protected_symlinks`, `fs.protected_regular` and
//! `fs.protected_fifos` are set; here it holds whatever they are, and for links to folders on the way, too. In other folders
//! a link leads to where it points.

mod folder;
mod leftovers;

use std::ffi::{OsStr, OsString};
use std::fs::{File, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, PROC_SUPER_MAGIC, Stat, StatxAttributes, StatxFlags};
use rustix::io::Errno;

use crate::error::StoreError;
pub use folder::{check_folder, make_folder};

/// Links that are followed, one after the other: as many as the kernel follows.
const MOST_LINKS: usize = 40;

/// Where a name leads.
enum Target {
    /// A regular file, or none yet: replaced as a whole.
    File { folder: OwnedFd, shown: PathBuf, name: OsString, old: Option<Stat> },
    /// A pipe or a device, which cannot be replaced and is written in place.
    Stream { folder: OwnedFd, name: OsString, found: Stat },
    /// Something that this process has open, by a name below `/proc`.
    Opened(PathBuf),
}

/// Writes a file whole or not at all: to a new file beside it, flushed, then renamed over it. A link stays a link, whose
/// target is written; a file that was there keeps its permissions, and its owner where that is allowed.
pub fn write_whole(path: &Path, content: &[u8]) -> Result<(), StoreError> {
    replace(path, content).map_err(|error| StoreError::Io { path: path.into(), error })
}

/// As [`write_whole`], piece by piece: `fill` hands each to the function that it gets. Where it fails there is no file, or
/// the one of before.
pub fn write_whole_by(
    path: &Path,
    fill: impl FnOnce(&mut dyn FnMut(&[u8]) -> Result<(), StoreError>) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let io = |error| StoreError::Io { path: path.into(), error };
    let mut failed = None;
    let replaced = replace_by(path, |file| {
        fill(&mut |piece| file.write_all(piece).map_err(io)).map_err(|error| {
            failed = Some(error);
            io::Error::other("not all of it could be made")
        })
    });
    failed.map_or_else(|| replaced.map_err(io), Err)
}

/// Whether [`write_whole`] could write `path`, to be known before a long run. What programs of this user that were killed left
/// half-written beside it goes.
pub fn check_writable(path: &Path) -> Result<(), StoreError> {
    let check = || match locate(path)? {
        Target::File { folder, shown, name, old } => {
            leftovers::remove(&folder, &name);
            let (temporary, _) = beside(&folder, &shown, &name, old.as_ref())?;
            Ok(rustix::fs::unlinkat(&folder, &temporary, AtFlags::empty())?)
        }
        Target::Stream { .. } | Target::Opened(_) => Ok(()),
    };
    check().map_err(|error| StoreError::Io { path: path.into(), error })
}

/// A device or pipe (/dev/stdout, a fifo) cannot be replaced; it is written in place, and has no journal.
pub fn is_device(path: &Path) -> bool {
    matches!(locate(path), Ok(Target::Stream { .. } | Target::Opened(_)))
}

/// As [`write_whole`], with the system's own error.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    replace_by(path, |file| file.write_all(content))
}

/// Writes several files that can be made again at any time, and waits for no disk: else each is written as [`write_whole`]
/// does, and all are there beside those that they replace before the first one is replaced. Where one of them cannot be
/// written, all are as before; pipes and devices have what came before it. After a power cut a file may be empty.
pub fn write_each_whole<C: AsRef<[u8]>>(files: impl IntoIterator<Item = (PathBuf, C)>) -> Result<(), StoreError> {
    let mut begun = Vec::new();
    for (path, content) in files {
        let written = begin(&path, |file| file.write_all(content.as_ref()));
        begun.extend(written.map_err(|error| StoreError::Io { path: path.clone(), error })?.map(|one| (path, one)));
    }
    begun.into_iter().try_for_each(|(path, mut one)| one.rename().map_err(|error| StoreError::Io { path, error }))
}

fn replace_by(path: &Path, fill: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    match begin(path, fill)? {
        Some(replacement) => sync_folder(&replacement.finish()?.folder),
        None => Ok(()),
    }
}

/// Replaces a regular file, to which more will be added.
pub(crate) fn begin_anew(path: &Path, content: &[u8]) -> io::Result<File> {
    match locate(path)? {
        Target::File { folder, shown, name, old } => {
            let begun = Replacement::begin(folder, &shown, name, old.as_ref(), |file| file.write_all(content))?;
            let replaced = begun.finish()?;
            // Should only that fail, the new file is there nevertheless, and the old one is not.
            let _ = sync_folder(&replaced.folder);
            replaced.file.try_clone()
        }
        Target::Stream { .. } | Target::Opened(_) => Err(io::Error::other("a pipe or device took its place")),
    }
}

/// Makes a file that is not there yet.
pub fn create_new(path: &Path) -> io::Result<File> {
    let name = path.file_name().ok_or_else(|| io::Error::other("names no file"))?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(open_folder_of(path)?, name, flags, Mode::from_raw_mode(0o644))?.into())
}

/// Opens the folder of a file, as a place: by no link that another user planted.
pub fn open_folder_of(path: &Path) -> io::Result<OwnedFd> {
    folder::open(parent(path))
}

/// Opens a regular file that is there.
pub(crate) fn open_again(path: &Path) -> io::Result<File> {
    match locate(path)? {
        Target::File { folder, name, old: Some(_), .. } => {
            let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            Ok(rustix::fs::openat(&folder, &name, flags, Mode::empty())?.into())
        }
        _ => Err(ErrorKind::NotFound.into()),
    }
}

/// The file that will take a regular one's place; pipes and devices are written at once.
fn begin(path: &Path, fill: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<Option<Replacement>> {
    match locate(path)? {
        Target::File { folder, shown, name, old } => {
            Replacement::begin(folder, &shown, name, old.as_ref(), fill).map(Some)
        }
        Target::Stream { folder, name, found } => fill(&mut open_stream(&folder, &name, &found)?).map(|()| None),
        Target::Opened(path) => fill(&mut open_without_waiting(CWD, path.as_os_str(), OFlags::empty())?).map(|()| None),
    }
}

/// A whole file beside the one whose name it will have. Dropped before, it is gone.
struct Replacement {
    folder: OwnedFd,
    name: OsString,
    /// Its name until then.
    temporary: Option<OsString>,
    file: File,
}

impl Replacement {
    fn begin(
        folder: OwnedFd,
        shown: &Path,
        name: OsString,
        old: Option<&Stat>,
        fill: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> io::Result<Self> {
        let (temporary, file) = beside(&folder, shown, &name, old)?;
        let mut begun = Self { folder, name, temporary: Some(temporary), file };
        fill(&mut begun.file)?;
        Ok(begun)
    }

    fn finish(mut self) -> io::Result<Self> {
        self.file.sync_all()?;
        self.rename()?;
        Ok(self)
    }

    fn rename(&mut self) -> io::Result<()> {
        let Some(temporary) = &self.temporary else { return Ok(()) };
        rustix::fs::renameat(&self.folder, temporary, &self.folder, &self.name)?;
        leftovers::let_go(&self.file);
        self.temporary = None;
        Ok(())
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            let _ = rustix::fs::unlinkat(&self.folder, temporary, AtFlags::empty());
        }
    }
}

/// Whether programs may be run in a folder that holds many files: everyone who may write there, or who put it where
/// everyone may write, could put links in their place.
pub fn check_work_folder(path: &Path) -> io::Result<()> {
    let path = std::fs::canonicalize(path)?;
    let folder = rustix::fs::stat(&path)?;
    if let Some(parent) = path.parent() {
        must_be_trusted(&rustix::fs::stat(parent)?, &folder, &path)?;
    }
    if Mode::from_raw_mode(folder.st_mode).contains(Mode::WOTH) {
        let why = format!("everyone may write in {}: name another folder, or chmod o-w it", path.display());
        return Err(io::Error::new(ErrorKind::PermissionDenied, why));
    }
    Ok(())
}

/// Finds where a path leads, also through links whose target is not there yet, looking at each thing once: what is judged
/// is what is used.
fn locate(path: &Path) -> io::Result<Target> {
    let mut place = path.to_path_buf();
    for _ in 0..MOST_LINKS {
        let parent = parent(&place).to_path_buf();
        let name = place.file_name().ok_or_else(|| io::Error::other("names no file"))?.to_owned();
        let only_place = OFlags::PATH | OFlags::CLOEXEC;
        let folder = folder::open(&parent)?;
        let found = match rustix::fs::openat(&folder, &name, only_place | OFlags::NOFOLLOW, Mode::empty()) {
            Ok(found) => found,
            Err(Errno::NOENT) => return Ok(Target::File { folder, shown: parent, name, old: None }),
            Err(error) => return Err(error.into()),
        };
        let stat = rustix::fs::fstat(&found)?;
        let within = rustix::fs::fstat(&folder)?;
        must_be_trusted(&within, &stat, &place)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Symlink if leads_to_a_stream_in_proc(&folder, &name)? => return Ok(Target::Opened(place)),
            FileType::Symlink => {
                let target = rustix::fs::readlinkat(&found, "", Vec::new())?;
                place = parent.join(OsString::from_vec(target.into_bytes()));
            }
            FileType::Directory => return Err(ErrorKind::IsADirectory.into()),
            FileType::RegularFile => return Ok(Target::File { folder, shown: parent, name, old: Some(stat) }),
            _ => return Ok(Target::Stream { folder, name, found: stat }),
        }
    }
    Err(io::Error::other("too many links, or links in a circle"))
}

/// In a folder that everyone may write, what another user put there is not used.
fn must_be_trusted(folder: &Stat, found: &Stat, place: &Path) -> io::Result<()> {
    let own = rustix::process::geteuid().as_raw();
    let everyone_writes = Mode::from_raw_mode(folder.st_mode).contains(Mode::WOTH);
    if !everyone_writes || found.st_uid == own || found.st_uid == folder.st_uid {
        return Ok(());
    }
    let why = format!(
        "{} belongs to user {}, in a folder that everyone may write: remove it, or name another",
        place.display(),
        found.st_uid
    );
    Err(io::Error::new(ErrorKind::PermissionDenied, why))
}

/// Links such as `/proc/self/fd/1` lead to what is open, not to what their text names.
fn leads_to_a_stream_in_proc(folder: &OwnedFd, name: &OsStr) -> io::Result<bool> {
    if rustix::fs::fstatfs(folder)?.f_type != PROC_SUPER_MAGIC {
        return Ok(false);
    }
    let stat = rustix::fs::statat(folder, name, AtFlags::empty());
    Ok(stat.is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile))
}

/// Opens the pipe or device that was found, and nothing that took its place since.
fn open_stream(folder: &OwnedFd, name: &OsStr, found: &Stat) -> io::Result<File> {
    let file = open_without_waiting(folder, name, OFlags::NOFOLLOW)?;
    let stat = rustix::fs::fstat(&file)?;
    if (stat.st_dev, stat.st_ino) != (found.st_dev, found.st_ino) {
        return Err(io::Error::other("was replaced while it was opened"));
    }
    Ok(file)
}

/// A pipe that nobody reads would be waited for without end.
fn open_without_waiting(folder: impl rustix::fd::AsFd, name: &OsStr, more: OFlags) -> io::Result<File> {
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC | more;
    let file = rustix::fs::openat(folder, name, flags, Mode::empty()).map_err(|error| match error {
        Errno::NXIO => io::Error::new(ErrorKind::NotConnected, "no program reads from it: start its reader first"),
        _ => error.into(),
    })?;
    // A reader that is there may take its time.
    rustix::fs::fcntl_setfl(&file, rustix::fs::fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
    Ok(file.into())
}

/// A new file beside the one that it will replace, with its permissions.
fn beside(folder: &OwnedFd, shown: &Path, name: &OsStr, old: Option<&Stat>) -> io::Result<(OsString, File)> {
    if old.is_some() {
        must_be_replaceable(folder, name)?;
    }
    let temporary = leftovers::temporary(name, std::process::id());
    let mode = old.map_or(Mode::from_raw_mode(0o666), |old| Mode::from_raw_mode(old.st_mode & 0o777));
    // EXCL neither follows a link nor takes a file over that somebody else put there.
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let file = rustix::fs::openat(folder, &temporary, flags, mode).map_err(|error| match error {
        Errno::EXIST => io::Error::new(
            ErrorKind::AlreadyExists,
            format!(
                "{} was left by a program that was killed while it wrote: remove it",
                shown.join(&temporary).display()
            ),
        ),
        _ => error.into(),
    })?;
    leftovers::hold(&file);
    let file = File::from(file);
    if let Some(old) = old {
        // Only root may give a file away. The mode goes last: a new owner takes bits from it.
        let _ = fchown(&file, Some(old.st_uid), Some(old.st_gid));
        if let Err(error) = file.set_permissions(Permissions::from_mode(old.st_mode & 0o777)) {
            let _ = rustix::fs::unlinkat(folder, &temporary, AtFlags::empty());
            return Err(error);
        }
    }
    Ok((temporary, file))
}

/// What would be refused only when the new file is whole.
fn must_be_replaceable(folder: &OwnedFd, name: &OsStr) -> io::Result<()> {
    // Where the kernel tells nothing (before 4.11, or in a sandbox), renaming will.
    let Ok(found) = rustix::fs::statx(folder, name, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::empty()) else {
        return Ok(());
    };
    let why = if found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT) {
        "it is a mount point, and would be replaced as a whole: name a file in a folder (for a container, mount the folder)"
    } else if found.stx_attributes.intersects(StatxAttributes::IMMUTABLE | StatxAttributes::APPEND) {
        "it may not be replaced (immutable, or append-only): name another file, or chattr -ia it"
    } else {
        return Ok(());
    };
    Err(io::Error::new(ErrorKind::PermissionDenied, why))
}

/// A name that is on the disk outlasts a power cut, too.
fn sync_folder(folder: &OwnedFd) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    // A folder may be written without being readable; then the file's own sync must do.
    let Ok(folder) = rustix::fs::openat(folder, ".", flags, Mode::empty()) else { return Ok(()) };
    match rustix::fs::fsync(folder) {
        // Some file systems have no such thing.
        Err(Errno::INVAL | Errno::OPNOTSUPP) => Ok(()),
        other => Ok(other?),
    }
}

/// Makes sure that a file that was just made in `path`'s folder is found there after a power cut.
pub(crate) fn sync_folder_of(path: &Path) -> io::Result<()> {
    sync_folder(&folder::open(parent(path))?)
}

/// The folder of a file.
fn parent(path: &Path) -> &Path {
    path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests;
