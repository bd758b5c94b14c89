//! What a machine sets up at its next boot: the file of a switch that the unit `ontick-switch@NAME` reads.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use ontick_undo::state_dir;

use super::switch_dir::{failed, refused};
use super::{SwitchDir, SwitchDirError};

const HOME: &str = "/etc/ontick";
/// Of a file that was not there: anybody may read it.
const MODE: u32 = 0o644;

/// The file of one switch.
#[derive(Debug, Clone)]
pub struct StartupFile {
    home: PathBuf,
    place: PathBuf,
}

impl StartupFile {
    /// That of a switch, in the usual place or in `home`.
    pub fn of(folder: &SwitchDir, home: Option<&Path>) -> Result<Self, SwitchDirError> {
        let home = home.unwrap_or(Path::new(HOME));
        let home = std::path::absolute(home).map_err(|e| failed(home, "found", &e))?;
        Ok(Self { place: home.join(format!("{}.toml", folder.name())), home })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.place
    }

    /// What it holds; none if there is no such file.
    pub fn read(&self) -> Result<Option<String>, SwitchDirError> {
        state_dir::check(&self.home, Path::new("/"))
            .and_then(|()| state_dir::read(&self.place))
            .map_err(|e| refused(&self.place, "read", e))
    }

    /// Replaces it: at each moment, and after a kill or a power cut, there is the old file or the whole new one. The
    /// permissions stay.
    pub fn write(&self, text: &str) -> Result<(), SwitchDirError> {
        // What is there was put there by somebody who may.
        self.read()?;
        let mode = fs::symlink_metadata(&self.place).map_or(MODE, |found| found.mode() & 0o777);
        state_dir::create(&self.home, Path::new("/"), 0o755)
            .and_then(|()| state_dir::replace(&self.place, text.as_bytes(), mode))
            .map_err(|e| refused(&self.place, "written", e))?;
        self.sync()
    }

    /// Removes it; whether it was there.
    pub fn remove(&self) -> Result<bool, SwitchDirError> {
        if self.read()?.is_none() {
            return Ok(false);
        }
        fs::remove_file(&self.place).map_err(|e| failed(&self.place, "removed", &e))?;
        self.sync().map(|()| true)
    }

    /// A name that is on the disk outlasts a power cut, too.
    fn sync(&self) -> Result<(), SwitchDirError> {
        let synced: io::Result<()> = File::open(&self.home).and_then(|folder| folder.sync_all());
        synced.map_err(|e| failed(&self.home, "written", &e))
    }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn it_is_replaced_with_its_permissions_and_removed() {
        let top = tempfile::tempdir().unwrap();
        let home = top.path().join("etc/ontick");
        let folder = SwitchDir::of("cell", Some(top.path())).unwrap();
        let file = StartupFile::of(&folder, Some(&home)).unwrap();
        assert_eq!((file.read().unwrap(), file.remove().unwrap()), (None, false));
        let mode = || fs::metadata(file.path()).unwrap().mode() & 0o7777;
        file.write("one").unwrap();
        assert_eq!((file.read().unwrap().as_deref(), mode()), (Some("one"), 0o644));
        fs::set_permissions(file.path(), Permissions::from_mode(0o640)).unwrap();
        file.write("two").unwrap();
        assert_eq!((file.read().unwrap().as_deref(), mode()), (Some("two"), 0o640));
        assert!(file.remove().unwrap());
        assert_eq!(fs::read_dir(&home).unwrap().count(), 0);
    }

    #[test]
    fn what_others_could_have_put_there_is_neither_read_nor_replaced() {
        let top = tempfile::tempdir().unwrap();
        let folder = SwitchDir::of("cell", Some(top.path())).unwrap();
        let file = StartupFile::of(&folder, Some(top.path())).unwrap();
        let other = top.path().join("other");
        fs::write(&other, "of others").unwrap();
        std::os::unix::fs::symlink(&other, file.path()).unwrap();
        for refused in [file.read().map(drop), file.write("mine"), file.remove().map(drop)] {
            assert!(refused.unwrap_err().to_string().contains("is a link"));
        }
        assert_eq!(fs::read_to_string(other).unwrap(), "of others");
        fs::remove_file(file.path()).unwrap();
        fs::set_permissions(top.path(), Permissions::from_mode(0o777)).unwrap();
        assert!(file.write("mine").unwrap_err().to_string().contains("can be written by others"));
        assert!(!file.path().exists());
    }
}
