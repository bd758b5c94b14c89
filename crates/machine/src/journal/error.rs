//! Why a journal could not be used.

use std::io;

use ontick_undo::state_dir::StateDirError;

use super::{FOLDER, JournalKind};
use crate::root::{Root, reason};

/// The journal could not be used. Nothing was changed that it does not hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// Another ontick is changing settings.
    #[error("another ontick is changing this machine's settings (it holds {FOLDER}): wait until it has ended")]
    Busy,
    /// It was written by a version of ontick that knows more.
    #[error(
        "the journal {path} is written in the form {format}, which this version of ontick does not know: revert with the version that wrote it"
    )]
    Foreign {
        /// The journal.
        path: String,
        /// Its format.
        format: String,
    },
    /// Another user could have written it.
    #[error("{0}")]
    Untrusted(String),
    /// The disk refused.
    #[error("the journal {path} cannot be {verb}: {reason}; nothing is changed that could not be put back")]
    Io {
        /// The journal.
        path: String,
        /// `read`, `written`.
        verb: &'static str,
        /// Why.
        reason: String,
    },
}

pub(super) fn refused(root: &Root, kind: JournalKind, verb: &'static str, error: StateDirError) -> JournalError {
    match error {
        StateDirError::Io(error) => failed(root, kind, verb, error),
        untrusted => JournalError::Untrusted(untrusted.to_string()),
    }
}

pub(super) fn failed(root: &Root, kind: JournalKind, verb: &'static str, error: io::Error) -> JournalError {
    let hint = if error.kind() == io::ErrorKind::PermissionDenied { " (run it with sudo)" } else { "" };
    JournalError::Io { path: place(root, kind), verb, reason: format!("{}{hint}", reason(&error)) }
}

/// Where the journal lies, also in a folder that stands for a machine.
pub(super) fn place(root: &Root, kind: JournalKind) -> String {
    root.outside(kind.path()).map_or_else(|_| kind.path().into(), |place| place.display().to_string())
}
