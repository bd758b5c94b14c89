//! Whose turn it is with a slot that the kernel puts frames into.

use std::sync::atomic::{AtomicU32, Ordering};

use libc::{TP_STATUS_KERNEL, TP_STATUS_USER};

/// Lends a slot, of which this is the status, if the kernel has put a frame there, and gives it back.
#[inline]
pub fn lend<R>(status: &AtomicU32, take: impl FnOnce(u32) -> R) -> Option<R> {
    // Acquire: what the kernel wrote before it set the bit is seen after it.
    let seen = status.load(Ordering::Acquire);
    if seen & TP_STATUS_USER == 0 {
        return None;
    }
    let result = take(seen);
    // Release: the slot has been read before the kernel may write to it again.
    status.store(TP_STATUS_KERNEL, Ordering::Release);
    Some(result)
}
