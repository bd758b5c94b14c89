//! The program where any user can run it.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A copy of the program in a folder, for users that may not read where it was built. By a process of its own: a child that
/// another test starts meanwhile would have the file open for writing, and nobody could run it.
pub fn copy_of_ontick(folder: &Path) -> PathBuf {
    let program = folder.join("ontick");
    let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_ontick")).arg(&program).status().unwrap();
    assert!(copied.success(), "{}", program.display());
    program
}
