//! Whether what a load starts is there, before anything is measured.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::{env, fs};

/// Whether a program is found as execvp(3) finds it: by its path, else in the folders of PATH.
pub(super) fn is_there(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_else(|| "/bin:/usr/bin".into());
    match program.contains('/') {
        true => can_be_run(Path::new(program)),
        false => env::split_paths(&path).any(|folder| can_be_run(&folder.join(program))),
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
