//! Why a line could not be had, or was lost.

use std::io;
use std::path::PathBuf;

use rustix::io::Errno;

use crate::{Backend, Name, NameError};

const NOT_MADE: &str = "is not there (a chip is created when one of its lines is first used or wired)";

/// Why a line could not be opened, or a chip not be looked at.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The name is none.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The chip exists, but has fewer lines.
    #[error("line {name}: the chip has lines 0 to {last}")]
    NoSuchLine {
        /// The line that was asked for.
        name: Name,
        /// The chip as the user would name it.
        chip: String,
        /// Its last line.
        last: u32,
    },
    /// There is no such chip, but others.
    #[error("line {name}: there is no such chip, only {}", there.join(", "))]
    NoSuchChip {
        /// The line that was asked for.
        name: Name,
        /// The chips that are there.
        there: Vec<String>,
    },
    /// No line of any chip has this name.
    #[error("line {name}: no line of {} has this name", chips.join(", "))]
    NoSuchName {
        /// The line that was asked for.
        name: Name,
        /// The chips that were looked at.
        chips: Vec<String>,
    },
    /// There is no chip at all, no known board, no such group.
    #[error("line {name}: {why}")]
    NotFound {
        /// The line that was asked for.
        name: Name,
        /// What is missing, and what to do.
        why: String,
    },
    /// Somebody else has it.
    #[error("line {name}: in use by {by}")]
    InUse {
        /// The line that was asked for.
        name: Name,
        /// The program and process, as far as known.
        by: String,
    },
    /// The user may not.
    #[error("line {name}: no permission to open {} ({remedy})", path.display())]
    Permission {
        /// The line that was asked for.
        name: Name,
        /// The file that refused.
        path: PathBuf,
        /// Which group or device would do.
        remedy: String,
    },
    /// This kind of line cannot do that.
    #[error("line {name}: {backend} lines cannot {what}")]
    Unsupported {
        /// The line that was asked for.
        name: Name,
        /// Its kind.
        backend: Backend,
        /// What was asked of it, and what to use instead.
        what: String,
    },
    /// The simulated chip was not made yet.
    #[error("simulated chip {chip}: {} {NOT_MADE}", path.display())]
    NotMade {
        /// The chip.
        chip: String,
        /// Where its file would be.
        path: PathBuf,
    },
    /// The file behind a simulated chip is no chip, or one of another version.
    #[error("simulated chip {chip}: {} {what}", path.display())]
    Chip {
        /// The chip.
        chip: String,
        /// Its file.
        path: PathBuf,
        /// What is wrong, and what to do.
        what: String,
    },
    /// The system refused.
    #[error("line {name}: {doing}: {error}")]
    System {
        /// The line that was asked for.
        name: Name,
        /// What was being done.
        doing: String,
        /// Its answer.
        error: io::Error,
    },
}

/// A word that stands for nothing here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WordError {
    /// None of [`Edges`](crate::Edges).
    #[error("\"{0}\" is no kind of edge (choose rising, falling or both)")]
    Edges(String),
    /// None of [`Bias`](crate::Bias).
    #[error("\"{0}\" is no bias (choose as-is, disabled, pull-up or pull-down)")]
    Bias(String),
    /// None of [`OnExit`](crate::OnExit).
    #[error("a line cannot be left \"{0}\" (choose keep, low, high or input)")]
    OnExit(String),
}

/// A time, in ns, that no line can be debounced for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a line cannot be debounced for {0}ns (1us to 16s, in whole microseconds)")]
pub struct DebounceError(pub u64);

/// Why a chip could not be looked at. It is printed without the chip's name, to stand behind it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LookError {
    /// A simulated chip, or registers.
    #[error("{}", without_name(.0))]
    Chip(#[from] Error),
    /// A character device.
    #[error("{0}")]
    Device(String),
}

fn without_name(error: &Error) -> String {
    match error {
        Error::Chip { path, what, .. } => format!("{} {what}", path.display()),
        Error::NotMade { path, .. } => format!("{} {NOT_MADE}", path.display()),
        Error::NotFound { why, .. } => why.clone(),
        Error::Permission { path, remedy, .. } => format!("no permission to open {} ({remedy})", path.display()),
        other => other.to_string(),
    }
}

/// A line that was open stopped answering: its driver went away, say. Small, because every access returns it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the line no longer answers ({0}): its driver or device went away")]
pub struct Gone(pub Errno);
