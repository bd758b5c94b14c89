//! In place of futex(2): whether the word is as it was seen, and going to sleep where it is, are one step for whoever wakes.
//! The time never comes, so that a wake-up that is lost leaves somebody asleep, which loom takes for a deadlock.

use std::sync::atomic::{AtomicU64, Ordering};

use loom::sync::{Condvar, Mutex};

struct Bucket {
    lock: Mutex<()>,
    sleepers: Condvar,
}

loom::lazy_static! {
    static ref BUCKET: Bucket = Bucket { lock: Mutex::new(()), sleepers: Condvar::new() };
}

pub fn wait(word: &AtomicU64, seen: u64, _timeout_ns: u64) {
    let lock = BUCKET.lock.lock().unwrap();
    if word.load(Ordering::Relaxed) == seen {
        drop(BUCKET.sleepers.wait(lock).unwrap());
    }
}

pub fn wake(_word: &AtomicU64) {
    let _lock = BUCKET.lock.lock().unwrap();
    BUCKET.sleepers.notify_all();
}
