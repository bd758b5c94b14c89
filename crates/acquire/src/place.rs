//! A file's name in a folder that is held open: what is done to the name is done in that folder, wherever another user
//! makes the path lead in the meantime.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use ontick_record::output_file;
use rustix::fs::{AtFlags, Mode, OFlags, Stat};

/// A name in a folder.
#[derive(Debug)]
pub struct Place {
    folder: OwnedFd,
    name: OsString,
}

impl Place {
    /// The last part of a path, in the folder that the rest of the path leads to now, by no link that another user planted.
    pub fn of(path: &Path) -> io::Result<Self> {
        let name = path.file_name().ok_or_else(|| io::Error::other("names no file"))?.to_owned();
        Ok(Self { folder: output_file::open_folder_of(path)?, name })
    }

    /// A new file of this name, for writing. Fails where anything has the name, be it a link that leads nowhere.
    pub fn create_new(&self) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(&self.folder, &self.name, flags, Mode::from_raw_mode(0o666))?.into())
    }

    /// What has the name; a link is not followed.
    pub fn found(&self) -> io::Result<Stat> {
        Ok(rustix::fs::statat(&self.folder, &self.name, AtFlags::SYMLINK_NOFOLLOW)?)
    }

    /// What has the name, only to be named; a link is not followed.
    pub fn open_path(&self) -> io::Result<OwnedFd> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(&self.folder, &self.name, flags, Mode::empty())?)
    }

    /// Gives the file a second name in its folder. Fails where anything has that name.
    pub fn link(&self, name: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::linkat(&self.folder, &self.name, &self.folder, name, AtFlags::empty())?)
    }

    /// Its name with something added.
    pub fn with(&self, suffix: &str) -> OsString {
        let mut name = self.name.clone();
        name.push(suffix);
        name
    }

    /// Takes the name away.
    pub fn remove(&self) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.folder, &self.name, AtFlags::empty())?)
    }
}

/// A file that this process made, which may be removed again; what took its place since may not.
#[derive(Debug)]
pub struct Own {
    place: Place,
    made: Stat,
}

impl Own {
    /// A new file, for writing. Fails where anything has the name, be it a link that leads nowhere.
    pub fn create(path: &Path) -> io::Result<(File, Self)> {
        let place = Place::of(path)?;
        let file = place.create_new()?;
        let own = Self::at(place, &file)?;
        Ok((file, own))
    }

    /// One that was made at a place and is open.
    pub fn at(place: Place, made: impl AsFd) -> io::Result<Self> {
        Ok(Self { made: rustix::fs::fstat(made)?, place })
    }

    /// Its name.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Removes it, if it still has its name.
    pub fn remove(&self) {
        let is_it = |found: Stat| (found.st_dev, found.st_ino) == (self.made.st_dev, self.made.st_ino);
        if self.place.found().is_ok_and(is_it) {
            let _ = self.place.remove();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, lchown, symlink};

    use super::*;

    #[test]
    fn a_folder_that_became_a_link_leads_nowhere_else() {
        let top = tempfile::tempdir().unwrap();
        let [asked, moved, other] = ["asked", "moved", "other"].map(|name| top.path().join(name));
        fs::create_dir(&asked).unwrap();
        fs::create_dir(&other).unwrap();
        fs::write(other.join("samples"), "of somebody else").unwrap();
        let (_, made) = Own::create(&asked.join("samples")).unwrap();
        fs::rename(&asked, &moved).unwrap();
        symlink(&other, &asked).unwrap();

        made.place().link(&made.place().with(".1")).unwrap();
        assert!(moved.join("samples.1").exists() && !other.join("samples.1").exists());
        made.remove();
        assert!(!moved.join("samples").exists());
        assert_eq!(fs::read_to_string(other.join("samples")).unwrap(), "of somebody else");
    }

    #[test]
    fn nothing_is_made_in_a_folder_that_another_users_link_leads_to() {
        if !rustix::process::geteuid().is_root() {
            return ontick_skip::skipped!("only root can give a link to another user");
        }
        let [shared, other] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        fs::set_permissions(shared.path(), fs::Permissions::from_mode(0o1777)).unwrap();
        let link = shared.path().join("samples");
        symlink(other.path(), &link).unwrap();
        Own::create(&link.join("mine.csv")).unwrap();
        lchown(&link, Some(65_534), None).unwrap();
        let refused = Own::create(&link.join("theirs.csv")).unwrap_err().to_string();
        assert!(refused.contains("belongs to user 65534"), "{refused}");
        assert!(other.path().join("mine.csv").exists() && !other.path().join("theirs.csv").exists());
    }

    #[test]
    fn what_took_the_files_place_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("samples");
        let (_, made) = Own::create(&path).unwrap();
        // Linked meanwhile, so that its number is not given to the next file.
        fs::hard_link(&path, folder.path().join("kept")).unwrap();
        fs::remove_file(&path).unwrap();
        fs::write(&path, "of somebody else").unwrap();
        made.remove();
        assert_eq!(fs::read_to_string(&path).unwrap(), "of somebody else");
    }

    #[test]
    fn nothing_is_made_through_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let [link, target] = ["link", "target"].map(|name| folder.path().join(name));
        symlink(&target, &link).unwrap();
        let error = Own::create(&link).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert!(!target.exists());
    }
}
