//! What changes a file, as a value, so that tests can stop or refuse any single step.

use std::io;
use std::path::Path;

/// One step that changes something.
#[derive(Debug, Clone, Copy)]
pub enum Act<'a> {
    /// A value into a file of the kernel.
    Set {
        /// Which file.
        path: &'a str,
        /// The value.
        value: &'a str,
    },
    /// A new file.
    Create {
        /// Which file.
        path: &'a str,
        /// What it holds.
        content: &'a [u8],
    },
    /// More at the end of a file.
    Append {
        /// Which file.
        path: &'a str,
        /// What is added.
        content: &'a [u8],
    },
    /// A file in place of another.
    Rename {
        /// The new one.
        from: &'a str,
        /// The one that it replaces.
        path: &'a str,
    },
    /// A symbolic link.
    Link {
        /// Which.
        path: &'a str,
        /// Where it points.
        target: &'a str,
    },
    /// A file or link away.
    Remove {
        /// Which.
        path: &'a str,
    },
    /// A new folder.
    MakeFolder {
        /// Which.
        path: &'a str,
    },
    /// A folder away.
    RemoveFolder {
        /// Which.
        path: &'a str,
    },
}

impl Act<'_> {
    /// The path that the step changes.
    pub fn path(&self) -> &str {
        match self {
            Self::Set { path, .. }
            | Self::Create { path, .. }
            | Self::Append { path, .. }
            | Self::Rename { path, .. }
            | Self::Link { path, .. }
            | Self::Remove { path }
            | Self::MakeFolder { path }
            | Self::RemoveFolder { path } => path,
        }
    }
}

/// What a hook decides about a step.
pub enum Verdict {
    /// Do it.
    Go,
    /// It is done already: the hook stands for a kernel.
    Handled,
    /// Fail without doing it.
    Refuse(io::Error),
    /// Write only so many bytes, then fail, as a full disk or a power cut does.
    Torn(usize, io::Error),
}

/// Sees every step that changes something, before and after.
pub trait Hook: Send + Sync {
    /// Decides about a step.
    fn before(&self, act: &Act) -> Verdict;

    /// Learns that a step was done, at this place of the real file system.
    fn after(&self, _act: &Act, _place: &Path) {}
}

/// A file of the machine that could not be read or changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}{}{what}: {reason}", if what.is_empty() { "" } else { " " })]
pub struct FileError {
    /// Which.
    pub path: String,
    /// `cannot be written`; empty where the reason says it all.
    pub what: &'static str,
    /// Why, as [`reason`] says it.
    pub reason: String,
}

impl FileError {
    /// What was to be done, and what the system answered.
    pub fn new(path: &str, what: &'static str, error: &io::Error) -> Self {
        Self { path: path.into(), what, reason: reason(error) }
    }

    /// As above, for `map_err`.
    pub fn of<'a>(path: &'a str, what: &'static str) -> impl FnOnce(io::Error) -> Self + 'a {
        move |error| Self::new(path, what, &error)
    }
}

/// Why the system refused, with the name that its manuals use.
///
/// ```
/// let error = std::io::Error::from_raw_os_error(1);
/// assert_eq!(ontick_machine::root::reason(&error), "not permitted (EPERM)");
/// ```
pub fn reason(error: &io::Error) -> String {
    let named = match error.raw_os_error() {
        Some(1) => "not permitted (EPERM)",
        Some(2) => "not there (ENOENT)",
        Some(5) => "the kernel could not do it (EIO)",
        Some(13) => "permission denied (EACCES)",
        Some(16) => "in use (EBUSY)",
        Some(19) => "no such device (ENODEV)",
        Some(22) => "not a value that the kernel takes here (EINVAL)",
        Some(28) => "no space left on the device (ENOSPC)",
        Some(30) => "the file system is read-only (EROFS)",
        Some(95) => "not supported here (EOPNOTSUPP)",
        _ => return error.to_string(),
    };
    named.into()
}
