//! Why a record was not read or written.

use std::io;
use std::path::PathBuf;

/// A text that is no record or journal that this version reads.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseError {
    /// Something else altogether.
    #[error("not an ontick record: it lacks \"schema\":\"{read}\"")]
    Foreign {
        /// The format that is read.
        read: &'static str,
    },
    /// Another version's format.
    #[error("written in the format \"{found}\", this ontick reads \"{read}\"")]
    Version {
        /// The format that it names.
        found: String,
        /// The one that is read.
        read: &'static str,
    },
    /// It ends too early.
    #[error("the record is cut off at line {line}")]
    CutOff {
        /// Its last line.
        line: usize,
    },
    /// It cannot be read, or what it says cannot be.
    #[error("not a {what}: {why}")]
    Unsound {
        /// What it should be: a record, a sound record, a sound journal.
        what: &'static str,
        /// What is wrong, and where.
        why: String,
    },
}

/// A histogram that cannot have been measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HistogramError {
    /// Its buckets overlap or are out of order.
    #[error("the histogram's buckets are not in ascending order")]
    Order,
    /// The sum of its counts has no room.
    #[error("the histogram counts more samples than fit 64 bits")]
    Count,
    /// A bucket with samples contradicts minimum or maximum.
    #[error("a sample of the histogram lies below its minimum or above its maximum")]
    Extremes,
}

/// A record could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The file system refused.
    #[error("{}: {error}", path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// The text is not a record.
    #[error("{}: {problem}", path.display())]
    NotARecord {
        /// Which file.
        path: PathBuf,
        /// What is wrong, and what to do.
        problem: String,
    },
}
