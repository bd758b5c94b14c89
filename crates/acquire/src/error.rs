//! Why nothing could be sampled.

use std::io;
use std::path::PathBuf;

/// Why sampling could not begin, or ended before its time.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Text that describes no source, trigger or sink.
    #[error("{what} \"{text}\": {why}")]
    Invalid {
        /// What it was meant to be: `source`, `trigger`, `sink`.
        what: &'static str,
        /// The text.
        text: String,
        /// What is wrong, and what would be right.
        why: String,
    },
    /// A line could not be had.
    #[error(transparent)]
    Line(#[from] ontick_gpio::Error),
    /// Samples overwrite no file.
    #[error("{} exists already: name another file", path.display())]
    FileExists {
        /// The file.
        path: PathBuf,
    },
    /// A source, trigger or sink failed.
    #[error("{what}: {error}")]
    System {
        /// Which, and what it was doing.
        what: String,
        /// What the system said.
        error: io::Error,
    },
}
