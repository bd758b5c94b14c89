//! The calls that make a delay.
#![allow(unsafe_code)]

use ontick_rt::clock::{Clock, sleep_for};
use ontick_rt::wait::{Hybrid, Sleep, Spin, Wait};

use crate::named_method::named_method;

/// A call that makes a delay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// usleep(3): whole microseconds, as source 002 used it.
    Usleep,
    /// nanosleep(2).
    Nanosleep,
    /// clock_nanosleep(2) to the time when the delay is over.
    ClockNanosleep,
    /// Sleep to a learned margin, then spin.
    Hybrid,
    /// Read the clock until the delay is over.
    Spin,
}

impl Method {
    /// Every method, as programs come to them.
    pub const ALL: [Method; 5] =
        [Method::Usleep, Method::Nanosleep, Method::ClockNanosleep, Method::Hybrid, Method::Spin];

    /// The name on the command line and in records.
    pub fn name(self) -> &'static str {
        match self {
            Method::Usleep => "usleep",
            Method::Nanosleep => "nanosleep",
            Method::ClockNanosleep => "clock_nanosleep",
            Method::Hybrid => "hybrid",
            Method::Spin => "spin",
        }
    }

    /// Whether the method uses CPU time while it waits.
    pub fn spins(self) -> bool {
        matches!(self, Method::Hybrid | Method::Spin)
    }

    pub(super) fn pause(self) -> Pause {
        match self {
            Method::Usleep => Pause::Usleep,
            Method::Nanosleep => Pause::Nanosleep,
            Method::ClockNanosleep => Pause::Wait(Box::new(Sleep)),
            Method::Hybrid => Pause::Hybrid(Box::new(Hybrid::new(LONGEST_MARGIN_NS))),
            Method::Spin => Pause::Wait(Box::new(Spin::default())),
        }
    }
}

named_method!(Method, Method::ALL, "method");

/// The hybrid wait spins for nine tenths of this at most, in ns; it learns its margin within the first delays.
const LONGEST_MARGIN_NS: u64 = 1_000_000;

/// A method at work.
pub(super) enum Pause {
    Usleep,
    Nanosleep,
    Hybrid(Box<Hybrid>),
    Wait(Box<dyn Wait>),
}

impl Pause {
    /// Makes a delay of `asked_ns`, which is over at `due_ns`.
    pub fn until(&mut self, clock: &mut Clock, due_ns: u64, asked_ns: u64) {
        match self {
            Pause::Usleep => {
                // As a program that may not be early rounds. Below a second it fits, and is not refused.
                let us = asked_ns.div_ceil(1_000) as libc::useconds_t;
                // SAFETY: a plain number.
                unsafe { libc::usleep(us) };
            }
            Pause::Nanosleep => sleep_for(asked_ns),
            // The thread rests between the delays.
            Pause::Hybrid(hybrid) => {
                hybrid.within(clock, due_ns);
            }
            Pause::Wait(wait) => {
                wait.until(clock, due_ns);
            }
        }
    }

    /// The hybrid wait's margin, in ns.
    pub fn margin_ns(&self) -> Option<u64> {
        match self {
            Pause::Hybrid(hybrid) => hybrid.margin_ns(),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back() {
        for method in Method::ALL {
            assert_eq!(method.name().parse(), Ok(method));
        }
        assert!("sleep".parse::<Method>().unwrap_err().to_string().contains("usleep, nanosleep, clock_nanosleep"));
    }
}
