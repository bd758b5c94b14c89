//! Writes the manual pages of every command, and completions for bash, fish and zsh, below a folder. Packages are made
//! with it; the program itself has none of it.
//!
//! Usage: pages FOLDER

mod completions;
mod manual;

use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(folder) = std::env::args_os().nth(1).map(PathBuf::from) else {
        eprintln!("name the folder to write to");
        return ExitCode::from(2);
    };
    match manual::write(&folder.join("man")).and_then(|()| completions::write(&folder)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}: {error}", folder.display());
            ExitCode::from(2)
        }
    }
}
