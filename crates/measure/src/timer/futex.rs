//! futex(2): waits on a word that nobody changes, until the absolute timeout.

use std::sync::atomic::AtomicU32;

use ontick_rt::clock::Clock;
use ontick_rt::wait::Wait;
use rustix::thread::futex::{self, Flags};

use super::timerfd::timespec;

/// What a condition variable with a timeout does below.
#[derive(Default)]
pub struct Futex {
    word: AtomicU32,
}

impl Wait for Futex {
    fn until(&mut self, clock: &mut Clock, deadline_ns: u64) -> u64 {
        let timeout = timespec(deadline_ns);
        // wait_bitset takes the timeout as absolute.
        while clock.now_ns() < deadline_ns {
            let _ = futex::wait_bitset(&self.word, Flags::PRIVATE, 0, Some(&timeout), std::num::NonZeroU32::MAX);
        }
        clock.now_ns()
    }
}
