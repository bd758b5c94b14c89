//! Sends streams, each message at its planned time.
//!
//! Nothing here allocates, waits for anything but the time, or makes a system call but the sends, the sleeps and, with launch
//! times, the question which frames missed theirs.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use ontick_switch::user::port::Sent;
use ontick_switch::user::rest::{REST_NS, Rests};

use super::outlet::Transmit;
use super::payload::PayloadReader;
use super::planned::Outgoing;
use super::time::Time;

mod stream;

use stream::Stream;

/// A message that is further ahead is slept for, in naps of this length at most, so that a run can be ended; in ns.
const NAP_NS: u64 = 20_000_000;
/// And so much before it the last stretch begins, in ns.
const NEAR_NS: u64 = 1_000_000;
/// So long before a message leaves its payload is taken: copying the longest takes a part of it; in ns.
const TAKEN_NS: u64 = 50_000;
/// A wait of this length has a sleep in it, in ns.
const SLEPT_NS: u64 = 300_000;
/// A talker that found no time to sleep does so all the same after this, so that it does not run away with its CPU; in ns.
const AWAKE_NS: u64 = 1_000_000_000;
const SHORTEST_REST_NS: u64 = 1_000;
/// After so many frames it is asked which missed their launch time: the kernel keeps about a hundred reports, and drops others.
const REPORTED: u64 = 32;

/// A message that was to leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Departure {
    /// The stream's place among the talker's.
    pub stream: usize,
    /// The message's number.
    pub message: u64,
    /// When it was to be handed over, in ns of TAI.
    pub due_ns: u64,
    /// When its first frame was, in ns of TAI: the time just before that was given to the kernel.
    pub begun_ns: u64,
    /// Messages of this stream that were left out before it, because their time was over.
    pub skipped: u64,
    /// What became of it: done if all of its frames were taken.
    pub sent: Sent,
}

impl Departure {
    /// How late it was, in ns.
    pub fn late_ns(&self) -> u64 {
        self.begun_ns.saturating_sub(self.due_ns)
    }
}

/// What came of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// A message was to leave.
    Departed(Departure),
    /// None was due: it rested until this time, in ns of TAI.
    Rested(u64),
}

/// Why a program's own message did not leave.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// There is no such stream.
    #[error("the station sends {streams} streams, and none has the place {stream}")]
    NoStream {
        /// As it was asked for.
        stream: usize,
        /// How many there are.
        streams: usize,
    },
    /// The planned frames have no room for it.
    #[error("{payload} octets are too many for stream {name}: its planned frames carry {room} behind the header of 40")]
    TooLong {
        /// The stream.
        name: String,
        /// As it was asked for.
        payload: usize,
        /// What there is.
        room: usize,
    },
    /// The kernel did not take a frame.
    #[error("stream {0}: {1}")]
    NotSent(String, &'static str),
}

/// Sends the streams of a station, or of several.
#[derive(Debug)]
pub struct Talker<S, T> {
    streams: Vec<Stream>,
    outlets: Vec<S>,
    time: T,
    /// By the time at which they are to be handed over.
    departures: BinaryHeap<Reverse<(u64, u32)>>,
    base_ns: u64,
    rests: Option<Rests>,
    awake_since_ns: u64,
    /// Frames that missed their launch time, and those that were handed over since that was last asked.
    missed: u64,
    unasked: u64,
}

impl<S: Transmit, T: Time> Talker<S, T> {
    /// Of streams whose `ports` are places among the `outlets`. The first periods begin at `base_ns` of TAI; `plan` is the
    /// [`super::fingerprint`].
    pub fn new(streams: Vec<Outgoing>, outlets: Vec<S>, mut time: T, base_ns: u64, plan: u32) -> Self {
        let streams: Vec<Stream> = streams.iter().map(|of| Stream::new(of, &outlets, base_ns, plan)).collect();
        let departures = streams.iter().enumerate().map(|(n, of)| Reverse((of.due_ns(), n as u32))).collect();
        let awake_since_ns = time.now_ns();
        Self { streams, outlets, time, departures, base_ns, rests: None, awake_since_ns, missed: 0, unasked: 0 }
    }

    /// Sleeps now and then for those that have its CPU, too, between messages where it can.
    pub fn resting(mut self, rests: Option<Rests>) -> Self {
        self.rests = rests;
        self
    }

    /// Begins with the periods of each stream that are the next after a time of TAI, where those at the base time are over or
    /// not meant.
    pub fn starting(mut self, from_ns: u64) -> Self {
        self.plan_from(from_ns);
        self
    }

    /// Each stream carries what a program puts into its place here, the newest that is there shortly before a message leaves.
    pub fn taking(mut self, payloads: Vec<PayloadReader>) -> Self {
        self.streams.iter_mut().zip(payloads).for_each(|(stream, payloads)| stream.payloads = Some(payloads));
        self
    }

    /// What the messages of a stream carry from now on behind their headers; whatever they carried before is gone.
    pub fn set_payload(&mut self, stream: usize, payload: &[u8]) -> Result<(), SendError> {
        let streams = self.streams.len();
        self.streams.get_mut(stream).ok_or(SendError::NoStream { stream, streams })?.set_payload(payload)
    }

    /// As [`turn`](Self::turn), as long as the next message is due before a time of TAI; nothing afterwards.
    #[inline]
    pub fn turn_until(&mut self, end_ns: u64) -> Option<Turn> {
        let is_before = |Reverse((due_ns, _)): &Reverse<(u64, u32)>| *due_ns < end_ns;
        self.departures.peek().is_some_and(is_before).then(|| self.next_turn(end_ns))
    }

    /// Waits for the next message of all and sends it; or rests for a while where that is far.
    pub fn turn(&mut self) -> Turn {
        self.next_turn(u64::MAX)
    }

    #[inline]
    fn next_turn(&mut self, end_ns: u64) -> Turn {
        if self.time.was_set() {
            self.follow_clock();
        }
        let now_ns = self.time.now_ns();
        let due_ns = self.departures.peek().map_or(u64::MAX, |Reverse((due_ns, _))| *due_ns);
        let ahead_ns = due_ns.saturating_sub(now_ns);
        if ahead_ns > 2 * NEAR_NS {
            self.count_missed();
            self.time.rest((ahead_ns - NEAR_NS).min(NAP_NS));
            return Turn::Rested(self.has_rested());
        }
        self.rest_before(now_ns, due_ns);
        if let Some(Reverse((_, n))) = self.departures.peek() {
            let stream = &mut self.streams[*n as usize];
            if stream.payloads.is_some() {
                if ahead_ns > TAKEN_NS {
                    self.time.until(due_ns - TAKEN_NS);
                }
                stream.take_payload();
            }
        }
        let begun_ns = self.time.until(due_ns);
        let Some(Reverse((_, n))) = self.departures.pop() else { return Turn::Rested(begun_ns) };
        let departure = self.send(n as usize, begun_ns, end_ns);
        self.departures.push(Reverse((self.streams[n as usize].due_ns(), n)));
        departure.map_or(Turn::Rested(begun_ns), Turn::Departed)
    }

    /// Sends a message of the program's own at `offset_ns` of the stream's next period, and waits for that time; the
    /// planned offset is [`Outgoing::offset_ns`].
    pub fn send_at(&mut self, stream: usize, offset_ns: u64, payload: &[u8]) -> Result<Departure, SendError> {
        self.set_payload(stream, payload)?;
        if self.time.was_set() {
            self.follow_clock();
        }
        let now_ns = self.time.now_ns();
        self.streams[stream].plan_at(self.base_ns, offset_ns, now_ns);
        let due_ns = self.streams[stream].due_ns();
        loop {
            let ahead_ns = due_ns.saturating_sub(self.time.now_ns());
            if ahead_ns <= 2 * NEAR_NS {
                break;
            }
            self.time.rest((ahead_ns - NEAR_NS).min(NAP_NS));
        }
        let begun_ns = self.time.until(due_ns);
        let departure = self.send(stream, begun_ns, u64::MAX);
        self.has_rested();
        let Some(departure) = departure else { return Err(self.not_sent(stream, "the end of time has come")) };
        match departure.sent {
            Sent::Done => Ok(departure),
            Sent::Busy => Err(self.not_sent(stream, "the kernel has no room for its frames at the moment")),
            Sent::Down => Err(self.not_sent(stream, "the link is down, or the interface is gone")),
            Sent::Refused => Err(self.not_sent(stream, "the interface does not take frames of this length")),
        }
    }

    fn not_sent(&self, stream: usize, why: &'static str) -> SendError {
        SendError::NotSent(self.streams[stream].name.clone(), why)
    }

    /// Of each stream: messages that left, that the kernel did not take, and that were left out.
    pub fn counts(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        self.streams.iter().map(Stream::counts)
    }

    /// The same of one.
    #[inline]
    pub fn counts_of(&self, stream: usize) -> (u64, u64, u64) {
        self.streams[stream].counts()
    }

    /// Frames that were taken and did not leave at their launch time, of those that were asked about.
    #[inline]
    pub fn missed(&self) -> u64 {
        self.missed
    }

    /// The same, with those that are known by now; to be asked once more at the end.
    pub fn count_missed(&mut self) -> u64 {
        self.missed += self.outlets.iter_mut().map(Transmit::take_missed).sum::<u64>();
        self.unasked = 0;
        self.missed
    }

    /// The talker's clock.
    pub fn time(&self) -> &T {
        &self.time
    }

    #[inline]
    fn send(&mut self, n: usize, begun_ns: u64, end_ns: u64) -> Option<Departure> {
        let (stream, time) = (&mut self.streams[n], &mut self.time);
        let due_ns = stream.due_ns();
        // Being late by less than a period is latency; a message is left out once the next is due, too.
        let skipped = begun_ns.saturating_sub(due_ns) / stream.period_ns;
        // What is due after the end is none that is left out.
        let left = end_ns.saturating_sub(due_ns).div_ceil(stream.period_ns);
        stream.skip(skipped.min(left));
        if skipped >= left {
            return None;
        }
        let (message, due_ns) = (stream.message, stream.due_ns());
        let sent = stream.transmit(&mut self.outlets, begun_ns, || time.now_ns());
        self.unasked += stream.frames();
        if self.unasked >= REPORTED {
            self.count_missed();
        }
        Some(Departure { stream: n, message, due_ns, begun_ns, skipped, sent })
    }

    /// The time now, after a sleep.
    fn has_rested(&mut self) -> u64 {
        self.awake_since_ns = self.time.now_ns();
        if let Some(rests) = &mut self.rests {
            rests.ended(self.awake_since_ns);
        }
        self.awake_since_ns
    }

    /// Sleeps before the next message, if that is needed and fits, or is overdue.
    fn rest_before(&mut self, now_ns: u64, due_ns: u64) {
        if due_ns.saturating_sub(now_ns) > SLEPT_NS {
            // The wait for it will.
            self.awake_since_ns = due_ns;
            if let Some(rests) = &mut self.rests {
                rests.ended(due_ns);
            }
            return;
        }
        let ns = match &self.rests {
            Some(rests) if rests.is_due(now_ns, || due_ns) => REST_NS,
            None if now_ns.saturating_sub(self.awake_since_ns) > AWAKE_NS => SHORTEST_REST_NS,
            _ => return,
        };
        self.time.rest(ns);
        self.has_rested();
    }

    /// After the clock was set, messages are due where the plan has them next.
    fn follow_clock(&mut self) {
        let now_ns = self.time.now_ns();
        self.plan_from(now_ns);
        self.has_rested();
    }

    /// Messages are due where the plan has them from then on. In place: no memory is needed for it.
    fn plan_from(&mut self, from_ns: u64) {
        let mut all = std::mem::take(&mut self.departures).into_vec();
        for Reverse((due_ns, n)) in &mut all {
            let stream = &mut self.streams[*n as usize];
            stream.plan_from(from_ns);
            *due_ns = stream.due_ns();
        }
        self.departures = all.into();
    }
}

#[cfg(test)]
mod tests;
