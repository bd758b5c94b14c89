//! Steps of a clock, counted by one thread and read by others.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicI64, AtomicU64};

/// All steps so far.
#[derive(Debug, Default)]
pub struct Steps {
    number: AtomicU64,
    last_ns: AtomicI64,
}

impl Steps {
    /// Another one, by so many ns. One thread alone calls this.
    pub fn add(&self, step_ns: i64) {
        self.last_ns.store(step_ns, Relaxed);
        // Release: whoever sees the number sees this step, or one after it.
        self.number.fetch_add(1, Release);
    }

    /// How many, and the size of the last in ns.
    pub fn so_far(&self) -> (u64, i64) {
        (self.number.load(Acquire), self.last_ns.load(Relaxed))
    }
}
