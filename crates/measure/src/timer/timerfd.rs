//! timerfd_create(2): a timer as a file, armed absolutely and read.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use ontick_rt::clock::Clock;
use ontick_rt::wait::Wait;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};

/// A timer as a file.
pub struct TimerFd(OwnedFd);

impl TimerFd {
    pub fn new() -> io::Result<Self> {
        Ok(Self(timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC)?))
    }

    /// Sets the timer off at `deadline_ns` on the monotonic clock, at once if that has passed.
    pub fn arm(&self, deadline_ns: u64) {
        let once = Itimerspec { it_interval: timespec(0), it_value: timespec(deadline_ns.max(1)) };
        // The descriptor is a timer and the time is sound: it cannot fail.
        let _ = timerfd_settime(&self.0, TimerfdTimerFlags::ABSTIME, &once);
    }

    /// Waits until the timer went off.
    pub fn consume(&self) {
        let _ = rustix::io::read(&self.0, &mut [0u8; 8]);
    }
}

impl AsFd for TimerFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Wait for TimerFd {
    fn until(&mut self, clock: &mut Clock, deadline_ns: u64) -> u64 {
        self.arm(deadline_ns);
        self.consume();
        clock.now_ns()
    }
}

/// Nanoseconds as the kernel takes them.
pub fn timespec(ns: u64) -> Timespec {
    Timespec { tv_sec: (ns / 1_000_000_000) as _, tv_nsec: (ns % 1_000_000_000) as _ }
}
