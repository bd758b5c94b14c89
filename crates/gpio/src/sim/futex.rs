//! Sleeping until a line's word changes, with whoever sleeps in another process too.

use std::sync::atomic::{AtomicU32, AtomicU64};

use rustix::thread::futex;

/// Sleeps unless the word is not `seen` any more: until woken, for `timeout_ns`, or until a signal. Half of the word is
/// looked at: the one that changes with every edge, as the count is in it.
pub fn wait(word: &AtomicU64, seen: u64, timeout_ns: u64) {
    let timeout = rustix::time::Timespec {
        tv_sec: (timeout_ns / 1_000_000_000) as _,
        tv_nsec: (timeout_ns % 1_000_000_000) as _,
    };
    let _ = futex::wait(lower_half(word), futex::Flags::empty(), seen as u32, Some(&timeout));
}

/// Wakes who sleeps there.
#[cold]
pub fn wake(word: &AtomicU64) {
    let _ = futex::wake(lower_half(word), futex::Flags::empty(), i32::MAX as u32);
}

#[allow(unsafe_code)]
fn lower_half(word: &AtomicU64) -> &AtomicU32 {
    let half = if cfg!(target_endian = "little") { 0 } else { 1 };
    // SAFETY: within the eight bytes of the word, aligned to four; the kernel reads it, and nothing here accesses it at
    // this width.
    unsafe { &*std::ptr::from_ref(word).cast::<AtomicU32>().add(half) }
}
