//! timer_create(2): absolute, with a signal directed at the waiting thread.
#![allow(unsafe_code)]

use std::io;
use std::mem::zeroed;

use ontick_rt::clock::Clock;
use ontick_rt::wait::Wait;

use super::signal;

/// A POSIX timer.
pub struct PosixTimer {
    id: libc::timer_t,
    signal: libc::c_int,
}

impl PosixTimer {
    pub fn new() -> io::Result<Self> {
        let signal = libc::SIGRTMIN() + 3;
        signal::block(signal);
        // SAFETY: zero is a valid sigevent, and its fields are set as timer_create(2) asks; id is valid for
        // writes.
        unsafe {
            let mut event: libc::sigevent = zeroed();
            event.sigev_notify = libc::SIGEV_THREAD_ID;
            event.sigev_signo = signal;
            event.sigev_notify_thread_id = libc::gettid();
            let mut id = zeroed();
            match libc::timer_create(libc::CLOCK_MONOTONIC, &mut event, &mut id) {
                0 => Ok(Self { id, signal }),
                _ => Err(io::Error::last_os_error()),
            }
        }
    }
}

impl Wait for PosixTimer {
    fn until(&mut self, clock: &mut Clock, deadline_ns: u64) -> u64 {
        let ns = deadline_ns.max(1);
        // SAFETY: the timer lives as long as self, and the time is valid for reads.
        unsafe {
            let mut once: libc::itimerspec = zeroed();
            once.it_value.tv_sec = (ns / 1_000_000_000) as _;
            once.it_value.tv_nsec = (ns % 1_000_000_000) as _;
            libc::timer_settime(self.id, libc::TIMER_ABSTIME, &once, std::ptr::null_mut());
        }
        while !signal::take(self.signal) && clock.now_ns() < deadline_ns {}
        clock.now_ns()
    }
}

impl Drop for PosixTimer {
    fn drop(&mut self) {
        // SAFETY: the timer was made by timer_create and is deleted once.
        unsafe { libc::timer_delete(self.id) };
    }
}
