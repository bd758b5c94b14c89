//! select(2) and ppoll(2) without files: portable ways to sleep for less than a second.

use ontick_rt::clock::Clock;
use ontick_rt::wait::Wait;

use super::timerfd::timespec;

/// ppoll(2), relative, in ns. (poll(2) itself counts in milliseconds.)
pub struct Poll;

impl Wait for Poll {
    fn until(&mut self, clock: &mut Clock, deadline_ns: u64) -> u64 {
        loop {
            let now = clock.now_ns();
            if now >= deadline_ns || rustix::event::poll(&mut [], Some(&timespec(deadline_ns - now))).is_ok() {
                return clock.now_ns();
            }
        }
    }
}

/// select(2), relative, in microseconds.
pub struct Select;

impl Wait for Select {
    fn until(&mut self, clock: &mut Clock, deadline_ns: u64) -> u64 {
        loop {
            let now = clock.now_ns();
            // Rounded up: it must not end early.
            if now >= deadline_ns || select((deadline_ns - now).div_ceil(1_000)) {
                return clock.now_ns();
            }
        }
    }
}

/// Sleeps for `us` microseconds; false if a signal ended it.
#[allow(unsafe_code)]
fn select(us: u64) -> bool {
    let mut timeout = libc::timeval { tv_sec: (us / 1_000_000) as _, tv_usec: (us % 1_000_000) as _ };
    let none = std::ptr::null_mut();
    // SAFETY: without sets only the timeout is accessed, and it is valid for reads and writes.
    unsafe { libc::select(0, none, none, none, &mut timeout) == 0 }
}
