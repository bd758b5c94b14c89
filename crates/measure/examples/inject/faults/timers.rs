//! Interrupts: many timers that fire at one moment, in one interrupt of the timed CPU.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use ontick_rt::thread::{Policy, Setup};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};

use super::truth::{Making, judged};
use super::{now_ns, sleep};

const TIMERS: usize = 300;
/// From setting the timers to the moment at which they fire: this much, and each time so much more, up to
/// the timed thread's period, that the moments come to lie everywhere in it.
const AHEAD_NS: u64 = 3_300_000;
const STEP_NS: u64 = 618_034;
const PERIOD_NS: u64 = 1_000_000;

/// Sets the timers on the timed CPU, where they will fire, and watches them from another until `done`. A
/// making ends when the last has fired.
pub fn fire(cpu: u32, done: &AtomicBool) -> Vec<Making> {
    let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
    let timers: Vec<OwnedFd> =
        (0..TIMERS).map(|_| timerfd_create(TimerfdClockId::Monotonic, flags).expect("a timer")).collect();
    let other = ontick_rt::cpus::online().into_iter().find(|other| *other != cpu).expect("another CPU");
    let mut makings = Vec::new();
    while !done.load(Relaxed) {
        // Setting them makes the timed thread late, too, but that is another task's doing.
        let _here = Setup::new().cpu(cpu).policy(Policy::Fifo(60)).strict().expect("a higher priority");
        let from = now_ns() + AHEAD_NS + makings.len() as u64 * STEP_NS % PERIOD_NS;
        let at = Timespec { tv_sec: (from / 1_000_000_000) as i64, tv_nsec: (from % 1_000_000_000) as _ };
        let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: at };
        for timer in &timers {
            timerfd_settime(timer, TimerfdTimerFlags::ABSTIME, &once).expect("the timer is set");
        }
        let _there = Setup::new().cpu(other).policy(Policy::Fifo(1)).strict().expect("the watcher is pinned");
        sleep(from.saturating_sub(now_ns() + 200_000) / 1_000);
        // Timers of one moment fire in the order in which they were set.
        let last = timers.last().expect("there are timers");
        while rustix::io::read(last, &mut [0u8; 8]).is_err() {}
        makings.push(Making::timed(from, now_ns()));
    }
    judged(makings)
}
