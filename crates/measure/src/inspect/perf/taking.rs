//! How what the kernel recorded is taken out of an event's ring (perf_event_open(2)).

use std::sync::atomic::{AtomicU64, Ordering};

/// Hands on what was recorded since, in one part or two: where in the `size` octets of the ring it is, and how long; then
/// makes room for more. `head` is how far the kernel has written, `tail` how far this process has read.
pub fn take(head: &AtomicU64, tail: &AtomicU64, size: usize, mut part: impl FnMut(usize, usize)) {
    // Acquire: what was recorded is seen after it.
    let written = head.load(Ordering::Acquire);
    let read = tail.load(Ordering::Relaxed);
    let length = (written.wrapping_sub(read) as usize).min(size);
    let begin = (read % size as u64) as usize;
    let first = length.min(size - begin);
    part(begin, first);
    part(0, length - first);
    // Release: it has been read before the kernel may write there again.
    tail.store(read + length as u64, Ordering::Release);
}
