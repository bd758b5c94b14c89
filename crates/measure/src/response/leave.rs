//! Leave to rest: a thread that polls must sleep a tenth of the time, and nobody may measure it meanwhile.
//!
//! The responder declares a rest before it sleeps, and the observer declares a stimulus before it drives the
//! line; each then looks for the other's word. Whoever came second gives way, so no stimulus falls into a rest,
//! and a rest that lasts longer than was declared is not spared.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;

/// What both sides declare.
#[derive(Debug, Default)]
pub struct Leave {
    /// The stimulus is about to come, or is not answered yet.
    stimulus: AtomicBool,
    /// The responder rests until then, in ns.
    rest_ends_ns: AtomicU64,
}

impl Leave {
    /// The responder's question, to be repeated later when the answer is no.
    pub fn to_rest(&self, until_ns: u64) -> bool {
        self.rest_ends_ns.store(until_ns, SeqCst);
        let granted = !self.stimulus.load(SeqCst);
        if !granted {
            self.rest_ends_ns.store(0, SeqCst);
        }
        granted
    }

    /// The observer's question; when the answer is no, until when.
    pub fn to_stimulate(&self, now_ns: u64) -> Result<(), u64> {
        self.stimulus.store(true, SeqCst);
        match self.rest_ends_ns.load(SeqCst) {
            ends_ns if now_ns < ends_ns => {
                self.stimulus.store(false, SeqCst);
                Err(ends_ns)
            }
            _ => Ok(()),
        }
    }

    /// The observer has its answer.
    pub fn answered(&self) {
        self.stimulus.store(false, SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU32;

    #[test]
    fn a_declared_rest_is_spared_and_no_more_of_it() {
        let leave = Leave::default();
        assert!(leave.to_rest(100));
        assert_eq!(leave.to_stimulate(99), Err(100));
        assert_eq!(leave.to_stimulate(100), Ok(()), "whoever sleeps longer than declared is late");
        assert!(!leave.to_rest(200), "a stimulus is on its way");
        leave.answered();
        assert!(leave.to_rest(200));
    }

    #[test]
    fn two_threads_never_have_leave_at_once() {
        let (leave, inside, collisions) = (Leave::default(), AtomicU32::new(0), AtomicU32::new(0));
        let enter = || {
            if inside.fetch_add(1, SeqCst) > 0 {
                collisions.fetch_add(1, SeqCst);
            }
            inside.fetch_sub(1, SeqCst);
        };
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..20_000 {
                    // A rest without an end in this test's time, which ends when it is taken back.
                    if leave.to_rest(u64::MAX) {
                        enter();
                        leave.rest_ends_ns.store(0, SeqCst);
                    }
                }
            });
            scope.spawn(|| {
                for _ in 0..20_000 {
                    if leave.to_stimulate(1).is_ok() {
                        enter();
                        leave.answered();
                    }
                }
            });
        });
        assert_eq!(collisions.into_inner(), 0);
    }
}
