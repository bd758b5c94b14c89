//! Why demand is not counted.

use std::io;

/// Why demand is not counted here.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NotCounted {
    /// A loop must rest all the same.
    #[error("real-time throttling is on, and would stop a loop that does not rest")]
    Throttled,
    /// The thread has no CPU of its own.
    #[error("the thread is not pinned to one CPU")]
    NotPinned,
    /// The kernel has none, or they may not be used.
    #[error("programs of bpf(2) cannot be used: {0}")]
    NoPrograms(#[from] io::Error),
}
