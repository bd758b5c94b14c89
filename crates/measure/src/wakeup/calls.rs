//! What the two threads of a wake-up know of each other's calls and answers.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// At most one call is not answered yet.
#[derive(Default)]
pub struct Calls {
    /// When the waker called, in ns; 0: the wake-up was taken.
    called_ns: AtomicU64,
    /// Calls left out since the last wake-up because that was still to come.
    left_out: AtomicU64,
}

impl Calls {
    /// The waker's: calls now, and returns whether the bell is to be rung; not if the last call was not answered yet.
    pub fn call(&self, now_ns: impl FnOnce() -> u64) -> bool {
        let answered = self.called_ns.load(Acquire) == 0;
        if answered {
            self.called_ns.store(now_ns(), Release);
        } else {
            self.left_out.fetch_add(1, Relaxed);
        }
        answered
    }

    /// The other's, once the bell rang: when the call was, and how many were left out since the last answer.
    pub fn answer(&self) -> (u64, u64) {
        let called_ns = self.called_ns.load(Acquire);
        // The waker may call again only after this: until then it leaves the thread time to sleep.
        self.called_ns.store(0, Release);
        (called_ns, self.left_out.swap(0, Relaxed))
    }
}
