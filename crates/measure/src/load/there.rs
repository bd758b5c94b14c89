//! Where a program is that is to be started: before anything is measured.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// Whether a program is found as execvp(3) finds it: by its path, else in the folders of PATH.
pub(super) fn is_there(program: &str) -> bool {
    match program.contains('/') {
        true => can_be_run(Path::new(program)),
        false => folders().any(|folder| can_be_run(&folder.join(program))),
    }
}

/// The absolute path of a program in the folders of PATH, of which those that depend on the current folder do not count.
pub(crate) fn find_program(name: &str) -> Option<PathBuf> {
    folders().filter(|folder| folder.is_absolute()).map(|folder| folder.join(name)).find(|file| can_be_run(file))
}

fn folders() -> impl Iterator<Item = PathBuf> {
    let path = env::var_os("PATH").unwrap_or_else(|| "/bin:/usr/bin".into());
    env::split_paths(&path).collect::<Vec<_>>().into_iter()
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
        assert!(find_program("sh").is_some_and(|file| file.is_absolute() && file.ends_with("sh")));
        assert_eq!(find_program("no such program"), None);
    }
}
