//! setitimer(2): the classic alarm, one shot, in microseconds.
#![allow(unsafe_code)]

use std::io;
use std::mem::zeroed;

use ontick_rt::clock::Clock;
use ontick_rt::wait::Wait;

use super::signal;

/// The process's one real-time interval timer. Its signal goes to any thread that has not blocked it, the
/// first thread before all: see [`reserve`].
pub struct SetItimer;

/// Blocks SIGALRM in the calling thread and those it starts, and makes it harmless in all others. To be
/// called on the thread that starts the measurement.
pub fn reserve() {
    signal::block(libc::SIGALRM);
    signal::disarm(libc::SIGALRM);
}

impl SetItimer {
    pub fn new() -> io::Result<Self> {
        reserve();
        Ok(Self)
    }
}

fn set(us: u64) {
    // SAFETY: zero is a valid itimerval, and it is valid for reads.
    unsafe {
        let mut once: libc::itimerval = zeroed();
        once.it_value.tv_sec = (us / 1_000_000) as _;
        once.it_value.tv_usec = (us % 1_000_000) as _;
        libc::setitimer(libc::ITIMER_REAL, &once, std::ptr::null_mut());
    }
}

impl Wait for SetItimer {
    fn until(&mut self, clock: &mut Clock, deadline_ns: u64) -> u64 {
        let now = clock.now_ns();
        if now >= deadline_ns {
            return now;
        }
        set((deadline_ns - now).div_ceil(1_000));
        while !signal::take(libc::SIGALRM) && clock.now_ns() < deadline_ns {}
        clock.now_ns()
    }
}

impl Drop for SetItimer {
    fn drop(&mut self) {
        set(0);
    }
}
