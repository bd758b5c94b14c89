//! The cyclic end: a request each period, and its answer.
//!
//! Nothing here allocates or makes a system call but the sends, the sleeps and the reading of stamps behind an answer.

use std::time::Duration;

use ontick_switch::user::port::Sent;

use super::message::{Message, Request};
use super::port::{Arrival, Port};
use super::tally::{Answer, Tally, Window};
use super::timebase::Timebase;
use super::trip::{Trip, WayStamps};
use super::waiting::Waiting;

/// A request that is further ahead is slept for in naps of this length, so that a run can be ended, in ns.
const NAP_NS: u64 = 20_000_000;
/// A hybrid wait reads the ring for this share of the period behind a request before it sleeps.
const SPUN: u64 = 2;
/// Practice ends after so many requests, or after this time, in ns.
const PRACTICE: u64 = 200;
const PRACTICE_NS: u64 = 250_000_000;
/// While nobody has answered yet, somebody is asked this often, in ns.
const ASK_NS: u64 = 50_000_000;

/// What is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Job {
    /// Time between requests, in ns.
    pub period_ns: u64,
    /// An answer is late after this, from when its request was to be sent, in ns.
    pub deadline_ns: u64,
    /// Periods; `u64::MAX` is without end.
    pub count: u64,
    /// Octets of each frame or datagram, as [`Port::send`] counts them.
    pub size: usize,
    /// A number that no other run has.
    pub run: u32,
    /// How it waits.
    pub waiting: Waiting,
}

/// A period that is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Period {
    /// When its request was to be sent, in ns.
    pub planned_ns: u64,
    /// Periods before it that had no request.
    pub skipped: u64,
    /// Its round trip; none where no answer was there in time.
    pub trip: Option<Trip>,
}

/// What came of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// A period is over.
    Over(Period),
    /// No request is due: it rested until this time, in ns.
    Rested(u64),
    /// All periods are over.
    Ended,
}

/// Nobody answers.
#[derive(Debug, thiserror::Error)]
#[error("nobody answered within {}{why}", ontick_units::exact(*.patience_ns))]
pub struct NoAnswer {
    patience_ns: u64,
    why: String,
}

/// A request that is not answered yet.
#[derive(Debug, Clone, Copy)]
struct Open {
    planned_ns: u64,
    handed_ns: u64,
    skipped: u64,
}

/// Sends requests and takes their answers.
#[derive(Debug)]
pub struct Requester<P: Port, T> {
    port: P,
    to: P::Peer,
    time: T,
    job: Job,
    practice: bool,
    /// When the next request is to be sent, and how many periods are left.
    next_ns: u64,
    left: u64,
    window: Window,
    open: Option<Open>,
    held: Option<Period>,
    tally: Tally,
}

impl<P: Port, T: Timebase> Requester<P, T> {
    /// Of requests to somebody, the first of them a period from now.
    pub fn new(port: P, to: P::Peer, mut time: T, job: Job) -> Self {
        let next_ns = time.now_ns() + job.period_ns;
        Self {
            port,
            to,
            time,
            job,
            practice: true,
            next_ns,
            left: 0,
            window: Window::default(),
            open: None,
            held: None,
            tally: Tally::default(),
        }
    }

    /// Asks until somebody answers, then practises: code is in the caches and waits know their margins.
    pub fn begin(&mut self, patience_ns: u64) -> Result<(), NoAnswer> {
        self.begin_after(PRACTICE, patience_ns)
    }

    /// The same with so many requests of practice at most, for a stretch that is one of many.
    pub fn begin_after(&mut self, practice: u64, patience_ns: u64) -> Result<(), NoAnswer> {
        let began_ns = self.time.now_ns();
        while !self.is_answered() {
            if self.time.now_ns().saturating_sub(began_ns) >= patience_ns {
                let why = self.port.trouble().map(|trouble| format!(": {trouble}")).unwrap_or_default();
                return Err(NoAnswer { patience_ns, why });
            }
        }
        self.start(practice.min(PRACTICE_NS / self.job.period_ns.max(1)));
        while self.turn() != Turn::Ended {}
        self.practice = false;
        (self.window, self.tally) = (Window::default(), Tally::default());
        self.start(self.job.count);
        Ok(())
    }

    /// The first request of those that are left is to be sent a period from now, whatever the caller did since it began.
    pub fn begin_now(&mut self) {
        self.start(self.left);
    }

    fn start(&mut self, periods: u64) {
        self.left = periods;
        self.next_ns = self.time.now_ns() + self.job.period_ns;
    }

    /// Whether an answer came to a request that is sent now.
    fn is_answered(&mut self) -> bool {
        self.send();
        let until_ns = self.time.now_ns() + ASK_NS;
        loop {
            while let Some(arrival) = self.port.next() {
                if matches!(self.classify(&arrival), Some(Answer::Awaited | Answer::Overdue)) {
                    return true;
                }
            }
            let now_ns = self.time.awake_ns();
            // Where waiting fails, as on an interface that is down, it is not tried again at once.
            if now_ns >= until_ns || self.port.wait(Duration::from_nanos(until_ns - now_ns)).is_err() {
                self.time.rest(ASK_NS.min(until_ns.saturating_sub(now_ns)));
                return false;
            }
        }
    }

    /// What became of the requests so far.
    pub fn tally(&self) -> Tally {
        self.tally
    }

    /// The port, for another run.
    pub fn into_port(self) -> P {
        self.port
    }

    /// The clock.
    pub fn time(&self) -> &T {
        &self.time
    }

    /// The same, to be read.
    pub fn time_mut(&mut self) -> &mut T {
        &mut self.time
    }

    /// Counts what found no room; to be called once more at the end.
    pub fn count_overflowed(&mut self) {
        self.tally.overflowed += self.port.overflowed();
    }

    /// Waits for the next time, sends the request that is due, and waits for its answer until the next is.
    pub fn turn(&mut self) -> Turn {
        if let Some(held) = self.held.take() {
            return Turn::Over(held);
        }
        if self.left == 0 && self.open.is_none() {
            return Turn::Ended;
        }
        let now_ns = self.time.now_ns();
        if self.open.is_none() && self.next_ns.saturating_sub(now_ns) > 3 * NAP_NS {
            self.time.rest(NAP_NS);
            return Turn::Rested(self.time.now_ns());
        }
        let skipped = self.skip(now_ns);
        self.time.until(self.next_ns);
        let over = self.close();
        if self.left == 0 {
            return over.map_or(Turn::Ended, Turn::Over);
        }
        let planned_ns = self.next_ns;
        (self.next_ns, self.left) = (planned_ns + self.job.period_ns, self.left - 1);
        let (handed_ns, sent) = self.send();
        let next = match sent {
            Sent::Done => {
                self.open = Some(Open { planned_ns, handed_ns, skipped });
                self.listen(handed_ns)
            }
            _ => Some(Period { planned_ns, skipped, trip: None }),
        };
        match (over, next) {
            (Some(over), next) => {
                self.held = next;
                Turn::Over(over)
            }
            (None, Some(next)) => Turn::Over(next),
            // Its answer may come while the next request is waited for.
            (None, None) => self.turn(),
        }
    }

    /// Leaves out requests whose period is over; how many.
    fn skip(&mut self, now_ns: u64) -> u64 {
        let late = now_ns.saturating_sub(self.next_ns) / self.job.period_ns.max(1);
        // The last one is sent, however late.
        let skipped = late.min(self.left.saturating_sub(1));
        self.next_ns += skipped * self.job.period_ns;
        self.left -= skipped;
        self.tally.skipped += skipped;
        skipped
    }

    /// Hands a request over; when that began, and what became of it.
    #[inline]
    fn send(&mut self) -> (u64, Sent) {
        let Job { run, period_ns, size, .. } = self.job;
        let number = self.window.send();
        let request = Request { practice: self.practice, run, number, period_ns };
        let octets = Message { request, residence: None }.octets();
        let handed_ns = self.time.now_ns();
        let sent = self.port.send(self.to, &octets, size);
        match sent {
            Sent::Done => self.tally.sent += 1,
            _ => self.tally.refused += 1,
        }
        (handed_ns, sent)
    }

    /// Waits for the answer until the next request is due.
    fn listen(&mut self, handed_ns: u64) -> Option<Period> {
        let (due_ns, period_ns) = (self.next_ns, self.job.period_ns);
        // A tenth is for others, in any case.
        let rest_ns = period_ns / 10;
        let (spun_until_ns, awake_at_ns) = match self.job.waiting {
            Waiting::Hybrid => {
                let spun_until_ns = handed_ns + period_ns / SPUN;
                let awake_at_ns = due_ns.saturating_sub(self.time.margin_ns()).max(spun_until_ns + rest_ns);
                (spun_until_ns, awake_at_ns.min(due_ns))
            }
            Waiting::Spin => (due_ns.saturating_sub(2 * rest_ns), due_ns.saturating_sub(rest_ns)),
            Waiting::Block => (0, due_ns),
        };
        loop {
            if let Some(period) = self.take_answer() {
                return Some(period);
            }
            let mut now_ns = self.time.now_ns();
            if now_ns >= spun_until_ns && now_ns < awake_at_ns {
                // What failed to wait is no reason to spin without end: the next period comes.
                let _ = self.port.wait(Duration::from_nanos(awake_at_ns - now_ns));
                now_ns = self.time.awake_ns();
                if let Some(period) = self.take_answer() {
                    return Some(period);
                }
            }
            if now_ns >= due_ns {
                return None;
            }
        }
    }

    /// The period that is over now, if there is one.
    fn close(&mut self) -> Option<Period> {
        let period = self.take_answer();
        let Some(open) = self.open.take() else { return period };
        self.port.take_sent_stamp();
        self.count_overflowed();
        Some(Period { planned_ns: open.planned_ns, skipped: open.skipped, trip: None })
    }

    /// Takes what came until it is the answer.
    #[inline]
    fn take_answer(&mut self) -> Option<Period> {
        while let Some(arrival) = self.port.next() {
            let answered_ns = self.time.now_ns();
            if self.classify(&arrival) != Some(Answer::Awaited) {
                continue;
            }
            let Some(open) = self.open.take() else { continue };
            let trip = self.trip(open, &arrival, answered_ns);
            self.tally.answered += 1;
            self.tally.late += u64::from(trip.ns() > self.job.deadline_ns);
            return Some(Period { planned_ns: open.planned_ns, skipped: open.skipped, trip: Some(trip) });
        }
        None
    }

    fn trip(&mut self, open: Open, arrival: &Arrival<P::Peer>, answered_ns: u64) -> Trip {
        let mut on_clock = |stamp_ns: Option<u64>| stamp_ns.map(|stamp_ns| self.time.of_stamp_ns(stamp_ns));
        let stamped = WayStamps {
            left_ns: on_clock(self.port.take_sent_stamp()),
            came_ns: on_clock(arrival.stamp_ns),
            resided_ns: arrival.message.residence.map_or(0, super::message::Residence::ns),
        };
        Trip::new(open.planned_ns, open.handed_ns, answered_ns, stamped)
    }

    /// What a message is, and counts it; nothing if it is none of this run's answers.
    #[inline]
    fn classify(&mut self, arrival: &Arrival<P::Peer>) -> Option<Answer> {
        let Message { request, residence } = arrival.message;
        if residence.is_none() || request.run != self.job.run {
            self.tally.strays += 1;
            return None;
        }
        // What is left of the practice.
        if request.practice != self.practice {
            return None;
        }
        let (answer, is_behind) = self.window.answer(request.number);
        self.tally.changed += u64::from(arrival.peer != self.to || arrival.size < self.job.size);
        self.tally.out_of_order += u64::from(is_behind);
        match answer {
            Answer::Awaited => {}
            Answer::Overdue => self.tally.overdue += 1,
            Answer::Duplicate => self.tally.duplicates += 1,
            Answer::Unknown => self.tally.strays += 1,
        }
        Some(answer)
    }
}

#[cfg(test)]
mod tests;
