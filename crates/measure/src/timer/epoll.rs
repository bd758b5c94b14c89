//! A timer as a file among others: epoll(7), as event loops wait.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;

use ontick_rt::clock::Clock;
use ontick_rt::wait::Wait;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};

use super::timerfd::TimerFd;

/// An event loop with one timer.
pub struct Epoll {
    timer: TimerFd,
    epoll: OwnedFd,
}

impl Epoll {
    pub fn new() -> io::Result<Self> {
        let (timer, epoll) = (TimerFd::new()?, epoll::create(CreateFlags::CLOEXEC)?);
        epoll::add(&epoll, &timer, EventData::new_u64(0), EventFlags::IN)?;
        Ok(Self { timer, epoll })
    }
}

impl Wait for Epoll {
    fn until(&mut self, clock: &mut Clock, deadline_ns: u64) -> u64 {
        self.timer.arm(deadline_ns);
        let mut events = [MaybeUninit::<Event>::uninit(); 1];
        while epoll::wait(&self.epoll, &mut events[..], None).is_err_and(|e| e == rustix::io::Errno::INTR) {}
        let now = clock.now_ns();
        self.timer.consume();
        now
    }
}
