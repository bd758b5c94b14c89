//! Files that are begun anew when they are full.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Gives a full file its number, and begins a new one in its place.
pub(super) fn next_file(path: &Path) -> io::Result<File> {
    let numbered = |n: u32| {
        let mut name = OsString::from(path);
        name.push(format!(".{n}"));
        PathBuf::from(name)
    };
    // A link refuses to replace what is there, where a rename would not.
    let mut n = 1;
    while let Err(error) = fs::hard_link(path, numbered(n)) {
        if error.kind() != io::ErrorKind::AlreadyExists {
            return Err(error);
        }
        n += 1;
    }
    fs::remove_file(path)?;
    File::create_new(path)
}
