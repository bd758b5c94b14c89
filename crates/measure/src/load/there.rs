//! Where a program is that is to be started: before anything is measured.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use ontick_undo::program;

/// Whether a program is there that this process may start.
pub(super) fn is_there(name: &str) -> bool {
    find(name).is_ok_and(|file| can_be_run(&file))
}

/// By its path, else in the folders of PATH.
pub(super) fn find(name: &str) -> io::Result<PathBuf> {
    match name.contains('/') {
        true => Ok(name.into()),
        false => program::find(name),
    }
}

fn can_be_run(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_one_that_can_be_run() {
        assert!(is_there("sh") && is_there("/bin/sh"));
        assert!(!is_there("no such program") && !is_there("/etc/passwd") && !is_there("/bin"));
    }
}
