//! What an event costs: a system call that makes one, timed.

use ontick_rt::clock::ClockId;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};

/// Calls in a stretch, and stretches: the fastest counts, as others are disturbed.
const CALLS: u64 = 64;
const STRETCHES: u64 = 40;

/// Setting a timer, in ns. Traced, it records one event: the timer's start.
pub fn timer_call_ns() -> Option<u64> {
    let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC).ok()?;
    let hour = Timespec { tv_sec: 3600, tv_nsec: 0 };
    let later = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: hour };
    let stretch = |_| {
        let began = ClockId::Monotonic.now_ns();
        for _ in 0..CALLS {
            timerfd_settime(&timer, TimerfdTimerFlags::empty(), &later).ok()?;
        }
        Some((ClockId::Monotonic.now_ns() - began) / CALLS)
    };
    (0..STRETCHES).filter_map(stretch).min()
}
