//! The file itself.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::{Errors, Parsed, read};

/// No description of a switch is longer.
const LONGEST: u64 = 1 << 20;

/// Why no switch came out of a file; one sentence, or one line for each thing that is wrong in it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// It cannot be read.
    #[error("{}: {cause}", file.display())]
    Unreadable {
        /// Its name.
        file: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// It cannot be a description of a switch.
    #[error("{}: {what}", file.display())]
    NotText {
        /// Its name.
        file: PathBuf,
        /// Why.
        what: &'static str,
    },
    /// What it says is wrong.
    #[error("{}", errors.in_file(&file.display().to_string()))]
    Wrong {
        /// Its name.
        file: PathBuf,
        /// What is wrong.
        errors: Errors,
    },
}

/// Reads a file.
pub fn open(file: &Path) -> Result<Parsed, FileError> {
    let text = read_text(file, LONGEST, "longer than 1 MiB, so no description of a switch")?;
    read(&text).map_err(|errors| FileError::Wrong { file: file.into(), errors })
}

/// A file's text, if it is not longer than that.
pub fn read_text(file: &Path, longest: u64, too_long: &'static str) -> Result<String, FileError> {
    let mut bytes = Vec::new();
    File::open(file)
        .and_then(|opened| opened.take(longest + 1).read_to_end(&mut bytes))
        .map_err(|cause| FileError::Unreadable { file: file.into(), cause })?;
    if bytes.len() as u64 > longest {
        return Err(FileError::NotText { file: file.into(), what: too_long });
    }
    String::from_utf8(bytes).map_err(|_| FileError::NotText { file: file.into(), what: "not a text in UTF-8" })
}
