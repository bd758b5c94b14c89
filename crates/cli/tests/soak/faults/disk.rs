//! A disk without room.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

/// A file that takes all that is left; removed when this goes.
pub struct Full(PathBuf);

impl Full {
    pub fn fill(disk: &Path) -> Self {
        let path = disk.join("full");
        let mut file = File::create(&path).expect("a file on the small disk");
        let (large, small) = ([0; 4096], [0; 16]);
        while file.write_all(&large).is_ok() {}
        while file.write_all(&small).is_ok() {}
        Self(path)
    }
}

impl Drop for Full {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}
