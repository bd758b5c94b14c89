//! setitimer(2): the classic alarm, one shot, in microseconds.
#![allow(unsafe_code)]

use std::io;
use std::marker::PhantomData;
use std::mem::zeroed;
use std::ptr::null_mut;

use ontick_rt::clock::{Clock, ClockId};
use ontick_rt::wait::Wait;

use super::signal;

/// The process's one real-time interval timer. Its signal goes to any thread that has not blocked it, the
/// first thread before all: see [`reserve`].
pub struct SetItimer {
    _reserved: Reserved,
}

/// SIGALRM and its timer are the measurement's until this is dropped, on the same thread; then the program has again what
/// it had. An alarm of its own that was due meanwhile comes then.
pub struct Reserved {
    was_blocked: bool,
    action: libc::sigaction,
    timer: libc::itimerval,
    since_ns: u64,
    /// A mask is a thread's own.
    _of_this_thread: PhantomData<*const ()>,
}

/// Blocks SIGALRM in the calling thread and those it starts, and makes it harmless in all others. To be
/// called on the thread that starts the measurement.
pub fn reserve() -> io::Result<Reserved> {
    let timer = set(&after_us(0))?;
    let was_blocked = signal::block(libc::SIGALRM);
    let since_ns = ClockId::Monotonic.now_ns();
    Ok(Reserved { was_blocked, action: signal::disarm(libc::SIGALRM)?, timer, since_ns, _of_this_thread: PhantomData })
}

impl SetItimer {
    pub fn new() -> io::Result<Self> {
        Ok(Self { _reserved: reserve()? })
    }
}

fn timeval(us: u64) -> libc::timeval {
    libc::timeval { tv_sec: (us / 1_000_000) as _, tv_usec: (us % 1_000_000) as _ }
}

fn us(time: libc::timeval) -> u64 {
    time.tv_sec as u64 * 1_000_000 + time.tv_usec as u64
}

/// Once; 0: never.
fn after_us(us: u64) -> libc::itimerval {
    libc::itimerval { it_interval: timeval(0), it_value: timeval(us) }
}

/// Sets the timer; what it was.
fn set(timer: &libc::itimerval) -> io::Result<libc::itimerval> {
    // SAFETY: zero is a valid itimerval; one is valid for reads, and the other for writes.
    let (result, before) = unsafe {
        let mut before = zeroed();
        (libc::setitimer(libc::ITIMER_REAL, timer, &mut before), before)
    };
    if result == 0 { Ok(before) } else { Err(io::Error::last_os_error()) }
}

impl Wait for SetItimer {
    fn until(&mut self, clock: &mut Clock, deadline_ns: u64) -> u64 {
        let now = clock.now_ns();
        if now >= deadline_ns {
            return now;
        }
        let _ = set(&after_us((deadline_ns - now).div_ceil(1_000)));
        while !signal::take(libc::SIGALRM) && clock.now_ns() < deadline_ns {}
        clock.now_ns()
    }
}

impl Reserved {
    /// The program's timer, with what is left of its time.
    fn timer(&self) -> libc::itimerval {
        let passed_us = ClockId::Monotonic.now_ns().saturating_sub(self.since_ns) / 1_000;
        match us(self.timer.it_value) {
            0 => self.timer,
            left_us => libc::itimerval { it_value: timeval(left_us.saturating_sub(passed_us).max(1)), ..self.timer },
        }
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        // None of these can fail with what the kernel itself gave.
        let _ = set(&after_us(0));
        while signal::take_pending(libc::SIGALRM) {}
        // SAFETY: the action is one that the kernel gave.
        unsafe { libc::sigaction(libc::SIGALRM, &self.action, null_mut()) };
        if !self.was_blocked {
            signal::unblock(libc::SIGALRM);
        }
        let _ = set(&self.timer());
    }
}

#[cfg(test)]
mod tests {
    use std::mem::ManuallyDrop;
    use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
    use std::time::{Duration, Instant};

    use super::*;
    use crate::timer::{Job, Method, measure};
    use crate::{Length, Limits, Observer, Placement};

    static ALARMS: AtomicU32 = AtomicU32::new(0);

    extern "C" fn count(_: libc::c_int) {
        ALARMS.fetch_add(1, Relaxed);
    }

    #[test]
    fn time_that_passed_meanwhile_counts() {
        let reserved = |left_us, seconds: u64| {
            let timer = libc::itimerval { it_interval: timeval(7), it_value: timeval(left_us) };
            let since_ns = ClockId::Monotonic.now_ns() - seconds * 1_000_000_000;
            // SAFETY: zero is a valid sigaction.
            let action = unsafe { zeroed() };
            ManuallyDrop::new(Reserved { was_blocked: true, action, timer, since_ns, _of_this_thread: PhantomData })
        };
        let left_us = |left_us, seconds| us(reserved(left_us, seconds).timer().it_value);
        assert_eq!((left_us(0, 9), left_us(2_000_000, 2)), (0, 1));
        assert!((1..=58_000_000).contains(&left_us(60_000_000, 2)), "less by two seconds");
        assert_eq!(us(reserved(5, 0).timer().it_interval), 7);
    }

    /// Of this process, and no other test of it uses the signal. The test runner's own threads take some of it, so that each
    /// wait may last a second.
    #[test]
    fn a_program_has_its_alarm_again_after_a_measurement() {
        // SAFETY: zero is a valid sigaction, and the handler counts only.
        unsafe {
            let mut action: libc::sigaction = zeroed();
            action.sa_sigaction = count as extern "C" fn(libc::c_int) as usize;
            action.sa_flags = libc::SA_RESTART;
            libc::sigaction(libc::SIGALRM, &action, null_mut());
        }
        set(&libc::itimerval { it_interval: timeval(3_600_000_000), it_value: timeval(300_000) }).unwrap();
        let (stop, mut look) = (AtomicBool::new(false), |_: &crate::Live| {});
        let (job, limits) = (Job::new(10_000_000, Method::SetItimer), Limits::new(Length::Count(2)));
        let observer = &mut Observer::new(&stop, &mut look);
        let series = measure("alarms", job, Placement::stock(), limits, observer).unwrap();
        assert_eq!(series.latency.count(), 2);
        let began = Instant::now();
        while ALARMS.load(Relaxed) == 0 {
            assert!(began.elapsed() < Duration::from_secs(30), "the program's own alarm is lost");
            std::thread::sleep(Duration::from_millis(1));
        }
        let left = set(&after_us(0)).unwrap();
        assert_eq!(us(left.it_interval), 3_600_000_000);
        assert!(us(left.it_value) > 3_500_000_000, "{} us", us(left.it_value));
        assert!(!signal::block(libc::SIGALRM), "it had not blocked the signal");
    }
}
