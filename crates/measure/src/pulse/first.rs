//! The first pulses of a run, kept by the timed thread and read by another.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU64, AtomicUsize};

/// Pulses that are kept one by one.
pub const FIRST: usize = 32;

/// The first pulses: when each rose, and how wide it was.
#[derive(Default)]
pub struct First {
    pulses: [(AtomicU64, AtomicU64); FIRST],
    kept: AtomicUsize,
}

impl First {
    /// Keeps another one, if there is room.
    #[inline]
    pub fn keep(&self, rose_ns: u64, width_ns: u64) {
        let kept = self.kept.load(Relaxed);
        if let Some((rose, width)) = self.pulses.get(kept) {
            rose.store(rose_ns, Relaxed);
            width.store(width_ns, Relaxed);
            self.kept.store(kept + 1, Release);
        }
    }

    /// When each rose after the first did, and how wide it was.
    pub fn read(&self) -> Vec<(u64, u64)> {
        let kept = self.kept.load(Acquire);
        let pulses: Vec<(u64, u64)> =
            self.pulses[..kept].iter().map(|(rose, width)| (rose.load(Relaxed), width.load(Relaxed))).collect();
        let begin_ns = pulses.first().map_or(0, |(rose_ns, _)| *rose_ns);
        pulses.into_iter().map(|(rose_ns, width_ns)| (rose_ns.saturating_sub(begin_ns), width_ns)).collect()
    }
}
