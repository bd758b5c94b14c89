//! Folders that hold how to put a machine back. Whoever can write there makes root write anything anywhere, so their
//! owner and mode are checked before anything in them is believed, and they are made with an explicit mode.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rustix::fs::{FlockOperation, OFlags, flock};

use crate::trust::{self, Untrusted};

/// Why a folder of state cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StateDirError {
    /// Another user could have written what lies in it.
    #[error("{0}, so that what ontick finds there may be forged: look at it, then put it right ({remedy}) or remove it", remedy = remedy(.0))]
    Untrusted(Untrusted),
    /// The system refused.
    #[error(transparent)]
    Io(#[from] io::Error),
}

fn remedy(untrusted: &Untrusted) -> String {
    let path = untrusted.path.display();
    format!("sudo chown root: {path}; sudo chmod go-w {path}")
}

impl From<Untrusted> for StateDirError {
    fn from(untrusted: Untrusted) -> Self {
        Self::Untrusted(untrusted)
    }
}

/// Checks a folder and those above it, up to `top`. One that is not there is fine.
pub fn check(folder: &Path, top: &Path) -> Result<(), StateDirError> {
    trust::check_parents(folder, top)??;
    match fs::symlink_metadata(folder) {
        Ok(found) if !found.is_dir() => {
            Err(Untrusted { path: folder.to_owned(), why: "is not a folder".into() }.into())
        }
        Ok(found) => Ok(trust::check_metadata(folder, &found)?),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(e) => Err(e.into()),
    }
}

/// Makes a folder with this mode, whatever the umask, and those above it (0755) up to `top`; checks those that are
/// there already.
pub fn create(folder: &Path, top: &Path, mode: u32) -> Result<(), StateDirError> {
    check(folder, top)?;
    let above: Vec<&Path> = folder.ancestors().skip(1).take_while(|above| *above != top && !above.exists()).collect();
    let new = above.into_iter().rev().map(|above| (above, 0o755)).chain([(folder, mode)]);
    for (folder, mode) in new {
        match DirBuilder::new().mode(mode).create(folder) {
            Ok(()) => fs::set_permissions(folder, Permissions::from_mode(mode))?,
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(e.into()),
        }
    }
    // Another user may have been quicker.
    check(folder, top)
}

/// Opens a file of a folder that was checked, or makes it, for its owner alone; never through a link, and never one
/// that another user planted.
pub fn open_private(file: &Path) -> Result<File, StateDirError> {
    let mut options = OpenOptions::new();
    let open = open_trusted(file, options.write(true).create(true).truncate(false).mode(0o600))?;
    if open.metadata()?.mode() & 0o077 != 0 {
        open.set_permissions(Permissions::from_mode(0o600))?;
    }
    Ok(open)
}

/// Reads a file of a folder that was checked; never through a link, and never one that another user planted. `None` if
/// there is none.
pub fn read(file: &Path) -> Result<Option<String>, StateDirError> {
    let mut open = match open_trusted(file, &mut OpenOptions::new()) {
        Err(StateDirError::Io(e)) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other?,
    };
    let mut text = String::new();
    open.read_to_string(&mut text)?;
    Ok(Some(text))
}

/// Replaces a file of a folder that was checked, as a whole: whoever reads it, also after a kill, finds what was there
/// before or all of this. It is written to `.NAME` beside it; what a killed program left there is written over.
pub fn replace(file: &Path, content: &[u8], mode: u32) -> Result<(), StateDirError> {
    let mut name = OsString::from(".");
    name.push(file.file_name().unwrap_or_default());
    let new = file.with_file_name(name);
    let mut open = open_private(&new)?;
    open.set_len(0)?;
    open.write_all(content)?;
    open.set_permissions(Permissions::from_mode(mode))?;
    open.sync_all()?;
    Ok(fs::rename(new, file)?)
}

fn open_trusted(file: &Path, options: &mut OpenOptions) -> Result<File, StateDirError> {
    if fs::symlink_metadata(file).is_ok_and(|found| found.is_symlink()) {
        return Err(Untrusted { path: file.to_owned(), why: "is a link".into() }.into());
    }
    // Nor one that is put there now.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let open = options.read(true).custom_flags(flags.bits() as i32).open(file)?;
    let found = open.metadata()?;
    if !found.is_file() {
        return Err(Untrusted { path: file.to_owned(), why: "is not a file".into() }.into());
    }
    trust::check_metadata(file, &found)?;
    Ok(open)
}

/// Held against every other ontick as long as it lives.
#[derive(Debug)]
pub struct StateLock(File);

impl StateLock {
    /// Takes the lock; `None` if another process holds it. The file can be opened by its owner alone, so that no other
    /// user can hold it.
    pub fn take(file: &Path) -> Result<Option<Self>, StateDirError> {
        loop {
            let open = open_private(file)?;
            match flock(&open, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {}
                Err(rustix::io::Errno::WOULDBLOCK) => return Ok(None),
                Err(e) => return Err(io::Error::from(e).into()),
            }
            // Whoever held it may have removed the file since.
            if is_at(&open, file) {
                return Ok(Some(Self(open)));
            }
        }
    }

    /// Whether the file that is locked is still the one at this path.
    pub fn is_at(&self, file: &Path) -> bool {
        is_at(&self.0, file)
    }
}

fn is_at(open: &File, file: &Path) -> bool {
    let same = |a: fs::Metadata, b: fs::Metadata| (a.dev(), a.ino()) == (b.dev(), b.ino());
    open.metadata().ok().zip(fs::metadata(file).ok()).is_some_and(|(open, there)| same(open, there))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o7777
    }

    #[test]
    fn a_folder_that_others_can_write_is_refused_with_the_remedy() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("lib/ontick");
        create(&folder, dir.path(), 0o755).unwrap();
        create(&folder, dir.path(), 0o755).unwrap();
        for at_fault in [folder.clone(), dir.path().join("lib")] {
            let before = mode(&at_fault);
            fs::set_permissions(&at_fault, Permissions::from_mode(0o777)).unwrap();
            let why = check(&folder, dir.path()).unwrap_err().to_string();
            assert!(why.starts_with(&format!("{} can be written by others", at_fault.display())), "{why}");
            assert!(why.contains(&format!("sudo chmod go-w {}", at_fault.display())), "{why}");
            assert!(create(&folder, dir.path(), 0o755).is_err());
            fs::set_permissions(&at_fault, Permissions::from_mode(before)).unwrap();
        }
        fs::remove_dir(&folder).unwrap();
        std::os::unix::fs::symlink("/", &folder).unwrap();
        assert!(check(&folder, dir.path()).unwrap_err().to_string().contains("is not a folder"));
    }

    #[test]
    fn a_folder_that_cannot_be_made_or_looked_at_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let missing = dir.path().join("missing");
        assert!(matches!(create(&missing.join("a"), &missing, 0o755), Err(StateDirError::Io(_))));
        assert!(!missing.exists(), "nothing is made at the top or above it");
        fs::write(dir.path().join("file"), "").unwrap();
        assert!(matches!(check(&dir.path().join("file/a"), dir.path()), Err(StateDirError::Io(_))));
    }

    #[test]
    fn a_private_file_that_others_could_read_is_made_private_and_no_other_is_touched() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a");
        fs::write(&file, "").unwrap();
        for (before, after) in [(0o644, 0o600), (0o604, 0o600), (0o600, 0o600), (0o700, 0o700)] {
            fs::set_permissions(&file, Permissions::from_mode(before)).unwrap();
            open_private(&file).unwrap();
            assert_eq!(mode(&file), after, "{before:o}");
        }
    }

    #[test]
    fn a_file_is_replaced_as_a_whole_and_no_link_is_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (file, new, other) = (dir.path().join("a"), dir.path().join(".a"), dir.path().join("other"));
        assert_eq!(read(&file).unwrap(), None);
        // What a killed program left.
        fs::write(&new, "longer than all").unwrap();
        replace(&file, b"one", 0o644).unwrap();
        assert_eq!((read(&file).unwrap().as_deref(), mode(&file), new.exists()), (Some("one"), 0o644, false));
        replace(&file, b"two", 0o600).unwrap();
        assert_eq!((read(&file).unwrap().as_deref(), mode(&file)), (Some("two"), 0o600));
        fs::write(&other, "of others").unwrap();
        std::os::unix::fs::symlink(&other, &new).unwrap();
        assert!(replace(&file, b"three", 0o600).unwrap_err().to_string().contains("is a link"));
        assert_eq!(
            (read(&file).unwrap().as_deref(), read(&other).unwrap().as_deref()),
            (Some("two"), Some("of others"))
        );
        assert!(read(&new).unwrap_err().to_string().contains("is a link"));
        assert!(read(dir.path()).unwrap_err().to_string().contains("is not a file"));
        fs::set_permissions(&file, Permissions::from_mode(0o666)).unwrap();
        assert!(read(&file).unwrap_err().to_string().contains("can be written by others"));
    }

    #[test]
    fn the_lock_is_its_owners_alone_and_outlives_a_removed_file() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join(".lock");
        let held = StateLock::take(&file).unwrap().unwrap();
        assert_eq!(mode(&file), 0o600);
        assert!(StateLock::take(&file).unwrap().is_none());
        fs::remove_file(&file).unwrap();
        assert!(!held.is_at(&file));
        let second = StateLock::take(&file).unwrap().unwrap();
        assert!(second.is_at(&file));
        drop(second);
        fs::remove_file(&file).unwrap();
        std::os::unix::fs::symlink("/etc/hostname", &file).unwrap();
        assert!(StateLock::take(&file).is_err(), "a link is not followed");
    }
}
