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
    let call = || timerfd_settime(&timer, TimerfdTimerFlags::empty(), &later).ok().map(drop);
    fastest_ns(call, || ClockId::Monotonic.now_ns())
}

/// A call of the fastest stretch, in ns.
fn fastest_ns(mut call: impl FnMut() -> Option<()>, now_ns: impl Fn() -> u64) -> Option<u64> {
    let stretch = |_| {
        let began = now_ns();
        for _ in 0..CALLS {
            call()?;
        }
        Some((now_ns() - began) / CALLS)
    };
    (0..STRETCHES).filter_map(stretch).min()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn the_fastest_stretch_counts() {
        let (now, calls) = (Cell::new(1_000u64), Cell::new(0));
        let call = || {
            // One stretch in the middle is disturbed little, all others much.
            let ns = if (640..704).contains(&calls.get()) { 90 } else { 2_000 };
            calls.set(calls.get() + 1);
            now.set(now.get() + ns);
            Some(())
        };
        assert_eq!(fastest_ns(call, || now.get()), Some(90));
        assert_eq!(calls.get(), CALLS * STRETCHES);
        assert_eq!(fastest_ns(|| None, || now.get()), None, "a call that fails has no time");
    }

    /// No machine enters and leaves the kernel in 1 ns; nor can all calls together take longer than they took.
    #[test]
    fn a_call_is_timed_by_the_clock() {
        let began = ClockId::Monotonic.now_ns();
        let ns = timer_call_ns().unwrap();
        let took = ClockId::Monotonic.now_ns() - began;
        assert!(ns > 1 && ns * CALLS * STRETCHES <= took, "{ns} ns of {took}");
    }
}
