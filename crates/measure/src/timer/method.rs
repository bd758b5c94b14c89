//! The methods by name.

use std::io;

use ontick_rt::wait::{Hybrid, Sleep, Spin, Wait};

use super::epoll::Epoll;
use super::futex::Futex;
use super::io_uring::IoUring;
use super::nanosleep::Nanosleep;
use super::posix_timer::PosixTimer;
use super::select::{Poll, Select};
use super::setitimer::SetItimer;
use super::timerfd::TimerFd;
use crate::named_method::named_method;

/// The longest stretch that a wait spins, however long the period: beyond it other tasks starve, and the
/// watchdog takes the loop for one that has run away.
const LONGEST_SPIN_NS: u64 = 900_000_000;

/// A way to wait for a deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Sleep to a learned margin, then spin.
    Hybrid,
    /// Sleep a tenth of the period, then spin.
    Spin,
    /// clock_nanosleep(2), absolute: what cyclictest measures.
    ClockNanosleep,
    /// nanosleep(2), relative: what most programs do.
    Nanosleep,
    /// A timer as a file, read (timerfd_create(2), absolute).
    TimerFd,
    /// A timer as a file, waited for by epoll(7).
    Epoll,
    /// timer_create(2), absolute, with a signal to the thread.
    PosixTimer,
    /// setitimer(2), one shot, with SIGALRM.
    SetItimer,
    /// select(2) without files.
    Select,
    /// ppoll(2) without files.
    Poll,
    /// futex(2) wait that nobody wakes, until its absolute timeout.
    Futex,
    /// An io_uring(7) timeout, absolute.
    IoUring,
}

impl Method {
    /// Every method, best first.
    pub const ALL: [Method; 12] = [
        Method::Hybrid,
        Method::Spin,
        Method::ClockNanosleep,
        Method::Nanosleep,
        Method::TimerFd,
        Method::Epoll,
        Method::PosixTimer,
        Method::SetItimer,
        Method::Select,
        Method::Poll,
        Method::Futex,
        Method::IoUring,
    ];

    /// The name on the command line and in records.
    pub fn name(self) -> &'static str {
        match self {
            Method::Hybrid => "hybrid",
            Method::Spin => "spin",
            Method::ClockNanosleep => "clock_nanosleep",
            Method::Nanosleep => "nanosleep",
            Method::TimerFd => "timerfd",
            Method::Epoll => "epoll",
            Method::PosixTimer => "posix_timer",
            Method::SetItimer => "setitimer",
            Method::Select => "select",
            Method::Poll => "poll",
            Method::Futex => "futex",
            Method::IoUring => "io_uring",
        }
    }

    /// Whether the method uses CPU time while it waits.
    pub fn spins(self) -> bool {
        matches!(self, Method::Hybrid | Method::Spin)
    }

    /// The wait itself, for the calling thread.
    pub(super) fn waiter(self, period_ns: u64, duty: f64, margin_ns: Option<u64>) -> io::Result<Box<dyn Wait>> {
        let longest_ns = longest_spin_ns(period_ns, duty);
        Ok(match self {
            Method::Hybrid => Box::new(match margin_ns {
                None => Hybrid::with_duty(period_ns, duty),
                Some(margin_ns) => Hybrid::with_margin(margin_ns.min(longest_ns)).resting(duty),
            }),
            Method::Spin if duty >= 1.0 => Box::new(Spin::default()),
            Method::Spin => Box::new(Hybrid::with_margin(longest_ns).resting(duty)),
            Method::ClockNanosleep => Box::new(Sleep),
            Method::Nanosleep => Box::new(Nanosleep),
            Method::TimerFd => Box::new(TimerFd::new()?),
            Method::Epoll => Box::new(Epoll::new()?),
            Method::PosixTimer => Box::new(PosixTimer::new()?),
            Method::SetItimer => Box::new(SetItimer::new()?),
            Method::Select => Box::new(Select),
            Method::Poll => Box::new(Poll),
            Method::Futex => Box::new(Futex::default()),
            Method::IoUring => Box::new(IoUring::new()?),
        })
    }
}

/// The longest that a wait may spin before a deadline, in ns.
pub(super) fn longest_spin_ns(period_ns: u64, duty: f64) -> u64 {
    ((period_ns as f64 * duty) as u64).min(LONGEST_SPIN_NS)
}

named_method!(Method, Method::ALL, "method");

#[cfg(test)]
mod tests {
    use super::*;
    use ontick_rt::clock::{Clock, ClockId};

    #[test]
    fn names_read_back() {
        for method in Method::ALL {
            assert_eq!(method.name().parse(), Ok(method));
        }
        assert!("usleep".parse::<Method>().unwrap_err().to_string().contains("clock_nanosleep"));
    }

    #[test]
    fn a_timer_of_more_than_a_second_does_not_end_early() {
        std::thread::spawn(|| {
            let mut clock = Clock::new(ClockId::Monotonic);
            let deadline = clock.now_ns() + 1_100_000_000;
            let now = PosixTimer::new().unwrap().until(&mut clock, deadline);
            assert!(now + 1_000 >= deadline, "{} ns early", deadline - now);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_margin_is_that_of_the_hybrid_wait_and_within_the_duty() {
        let margin_ns = |method: Method, margin_ns| method.waiter(1_000_000, 0.5, margin_ns).unwrap().margin_ns();
        assert_eq!(margin_ns(Method::Hybrid, Some(40_000)), Some(40_000));
        assert_eq!(margin_ns(Method::Hybrid, Some(700_000)), Some(500_000));
        assert_eq!(margin_ns(Method::ClockNanosleep, Some(40_000)), None);
    }

    /// Each on a thread of its own, as signals are directed at the thread that waits.
    #[test]
    fn every_method_reaches_its_deadlines_and_returns_at_once_from_past_ones() {
        // The alarm signal of setitimer belongs to the whole process, which here is the test runner's; it is
        // tested through the program.
        for method in Method::ALL.into_iter().filter(|m| *m != Method::SetItimer) {
            std::thread::spawn(move || {
                ontick_rt::thread::block_signals();
                let mut clock = Clock::new(ClockId::Monotonic);
                let mut wait = match method.waiter(3_000_000, 0.9, None) {
                    // A container or kernel may be without it; that is reported to the user as an error.
                    Err(error) if method == Method::IoUring => return eprintln!("io_uring: {error}"),
                    wait => wait.unwrap(),
                };
                for _ in 0..5 {
                    let deadline = clock.now_ns() + 3_000_000;
                    let now = wait.until(&mut clock, deadline);
                    // The conversion of the clock and the kernel's own may differ by its bound.
                    assert!(now + 1_000 >= deadline, "{method} was {} ns early", deadline - now);
                }
                let past = clock.now_ns() - 1_000_000;
                assert!(wait.until(&mut clock, past) > past, "{method}");
            })
            .join()
            .unwrap();
        }
    }
}
