//! How far a timed thread is with the frames that it was given.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// The thread alone adds to it; whoever likes reads.
#[derive(Default)]
pub struct Sent {
    frames: AtomicU64,
    /// When the last edge of the last frame was made, in ns.
    ended_ns: AtomicU64,
}

impl Sent {
    /// Another frame has left, the last edge of which was made then.
    pub fn add(&self, ended_ns: u64) {
        self.ended_ns.store(ended_ns, Relaxed);
        // Release: whoever sees the frame counted sees when it ended.
        self.frames.fetch_add(1, Release);
    }

    /// Frames that have left.
    pub fn frames(&self) -> u64 {
        self.frames.load(Acquire)
    }

    /// When the last of those that [`Self::frames`] returned ended, or one after it, in ns.
    pub fn ended_ns(&self) -> u64 {
        self.ended_ns.load(Relaxed)
    }
}
