//! The answering end.
//!
//! It waits for requests where their sender says that they come, and answers each at once. Nothing here allocates.

use std::time::Duration;

use ontick_switch::user::port::Sent;

use super::expectation::{Expectation, LookWindow};
use super::message::{Message, Residence};
use super::port::{Arrival, Port};
use super::timebase::Timebase;
use super::waiting::Waiting;

/// Nobody sleeps for longer than this before it is looked whether the run is over, in ns.
const NAP_NS: u64 = 50_000_000;
/// One that found no time to sleep does so all the same after this, for so long, in ns.
const AWAKE_NS: u64 = 1_000_000_000;
const REST_NS: u64 = 20_000;

/// What a responder did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ResponderStats {
    /// Requests that were answered, those of practice among them.
    pub answers: u64,
    /// Answers that the kernel did not take.
    pub refused: u64,
    /// Frames that came and found no room.
    pub overflowed: u64,
}

/// Answers requests.
#[derive(Debug)]
pub struct Responder<P: Port, T> {
    port: P,
    time: T,
    waiting: Waiting,
    expected: Option<Expectation>,
    /// The request that was expected did not come: the kernel says when one does.
    is_lost: bool,
    slept_ns: u64,
    stats: ResponderStats,
}

impl<P: Port, T: Timebase> Responder<P, T> {
    /// Answers what comes to a port.
    pub fn new(port: P, mut time: T, waiting: Waiting) -> Self {
        let slept_ns = time.now_ns();
        Self { port, time, waiting, expected: None, is_lost: false, slept_ns, stats: ResponderStats::default() }
    }

    /// What it did so far.
    pub fn stats(&mut self) -> ResponderStats {
        self.stats.overflowed += self.port.overflowed();
        self.stats
    }

    /// Waits for requests, not for ever, and answers those that came; how many.
    pub fn turn(&mut self) -> u64 {
        let before = self.stats.answers;
        let now_ns = self.time.now_ns();
        if now_ns.saturating_sub(self.slept_ns) > AWAKE_NS {
            self.time.rest(REST_NS);
            self.slept_ns = self.time.now_ns();
        }
        match self.expected.as_ref().filter(|_| !self.is_lost).map(Expectation::look_window) {
            None => {
                self.sleep(NAP_NS);
                self.answer_all(None);
            }
            Some(wanted) => self.look(wanted),
        }
        self.stats.answers - before
    }

    /// Sleeps until something comes, and no longer; the time then.
    fn sleep(&mut self, ns: u64) -> u64 {
        if self.port.wait(Duration::from_nanos(ns)).is_err() {
            // As on an interface that is down.
            self.time.rest(ns);
        }
        self.slept_ns = self.time.awake_ns();
        self.slept_ns
    }

    /// Looks for a request around its time.
    fn look(&mut self, wanted: LookWindow) {
        let now_ns = self.time.now_ns();
        let mut late_ns = None;
        if wanted.awake_ns > now_ns {
            let awake_ns = self.sleep((wanted.awake_ns - now_ns).min(NAP_NS));
            // Before its time it is awake for a request that came early, or for whoever looks whether the run is over.
            late_ns = awake_ns.checked_sub(wanted.awake_ns);
            if late_ns.is_none() {
                self.answer_all(None);
                return;
            }
        }
        while !self.answer_all(late_ns) {
            if self.time.now_ns() >= wanted.until_ns {
                self.is_lost = true;
                return;
            }
        }
    }

    /// Answers what is there; whether there was anything to be answered.
    #[inline]
    fn answer_all(&mut self, mut slept_late_ns: Option<u64>) -> bool {
        let mut any = false;
        while let Some(arrival) = self.port.next() {
            let had_ns = self.time.now_ns();
            if arrival.message.residence.is_some() {
                continue;
            }
            (any, self.is_lost) = (true, false);
            let came_ns = arrival.stamp_ns.map_or(had_ns, |stamp_ns| self.time.of_stamp_ns(stamp_ns).min(had_ns));
            self.answer(&arrival, came_ns, had_ns);
            let period_ns = arrival.message.request.period_ns;
            self.expected = match self.expected.take() {
                Some(expected) => expected.came(came_ns, period_ns, slept_late_ns.take()),
                None => Expectation::after(self.waiting, came_ns, period_ns),
            };
        }
        any
    }

    #[inline]
    fn answer(&mut self, arrival: &Arrival<P::Peer>, came_ns: u64, had_ns: u64) {
        let narrow = |ns: u64| u32::try_from(ns).unwrap_or(u32::MAX);
        let program_ns = narrow(self.time.now_ns().saturating_sub(had_ns));
        let residence = Residence { kernel_ns: narrow(had_ns - came_ns), program_ns };
        let answer = Message { request: arrival.message.request, residence: Some(residence) };
        match self.port.send(arrival.peer, &answer.octets(), arrival.size) {
            Sent::Done => self.stats.answers += 1,
            _ => self.stats.refused += 1,
        }
    }
}
