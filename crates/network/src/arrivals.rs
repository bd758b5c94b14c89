//! What came to one listener of one stream, held against the promise.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

use ontick_record::Histogram;
use ontick_tsn::network::{Network, NodeId, StreamId};

use crate::delivered::Delivered;
use crate::distribution::Distribution;

/// Frames back from the newest within which a second copy is told from one that is out of order. So many in a row that are
/// further back are of a talker that began anew with an earlier time.
pub(crate) const REMEMBERED: u64 = 64;
/// Messages that parts are taken for at a time: frames of one may come behind those of the next ones.
pub(crate) const OPEN: usize = 4;

/// What one listener waits for of one stream. Times count from the beginning of the stream's period, in ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expected {
    /// Whose.
    pub stream: StreamId,
    /// Whose it is to become.
    pub listener: NodeId,
    /// Frames of a message.
    pub parts: u64,
    /// The promise.
    pub deadline_ns: u64,
    /// When its last bit is there by the plan, with what clocks may differ by; absent: the plan has no place for it.
    pub planned_ns: Option<u64>,
    /// When the gate of the last link is open for it.
    pub window_ns: Option<(u64, u64)>,
}

/// The last link of a stream's way to a listener. Times count from the beginning of the stream's period, in ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastHop {
    /// When its gate is open for the stream.
    pub window_ns: (u64, u64),
    /// When the last bit is at the listener.
    pub delivered_ns: Option<u64>,
}

impl Expected {
    /// For each listener of each stream, in this order.
    pub fn all(network: &Network, last_hop: &dyn Fn(StreamId, NodeId) -> Option<LastHop>) -> Vec<Self> {
        let mut all = Vec::new();
        for (stream, of) in network.streams.iter().enumerate() {
            let parts = u64::from(network.overhead.message_time(of.size, 1).frames);
            for listener in of.listeners.iter().copied() {
                let hop = last_hop(stream, listener);
                // The plan reckons with clocks that differ as far as they may already.
                let planned_ns = hop.and_then(|hop| hop.delivered_ns);
                let window_ns = hop.map(|hop| hop.window_ns);
                all.push(Self { stream, listener, parts, deadline_ns: of.deadline_ns, planned_ns, window_ns });
            }
        }
        all
    }
}

/// A frame of a message that came. Times are of the listener's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrived {
    /// Number of its message.
    pub message: u64,
    /// Which frame of it.
    pub part: u16,
    /// When it came, in ns.
    pub at_ns: u64,
    /// When its message's period began, in ns.
    pub period_ns: u64,
}

/// A message that parts come of. One with its number and another time is another talker's.
#[derive(Debug, Clone, Copy, Default)]
struct Open {
    message: u64,
    period_ns: u64,
    came: u64,
}

/// One listener of one stream.
#[derive(Debug, Clone)]
pub struct Arrivals {
    expected: Expected,
    /// Number of the first frame that counts.
    first: Option<u64>,
    /// One more than the number of the newest frame; of those before it, one bit for each that came.
    next: u64,
    came: u64,
    /// When the period of the newest frame began.
    newest_ns: u64,
    /// Frames since the newest that were further back than is remembered, in a row.
    far_back: u64,
    /// Frames that talkers sent before this one began anew: of whole messages.
    before: u64,
    /// Talkers that came: one that began anew counts again.
    talkers: u64,
    /// The messages that parts came of last, and which of them began first.
    open: [Open; OPEN],
    first_open: usize,
    frames: u64,
    duplicates: u64,
    out_of_order: u64,
    messages: u64,
    late: u64,
    after_plan: u64,
    early: u64,
    outside_window: u64,
    latency: Distribution,
}

impl Arrivals {
    /// Nothing came yet.
    pub fn new(expected: Expected) -> Self {
        Self {
            expected,
            first: None,
            next: 0,
            came: 0,
            newest_ns: 0,
            far_back: 0,
            before: 0,
            talkers: 0,
            open: [Open::default(); OPEN],
            first_open: 0,
            frames: 0,
            duplicates: 0,
            out_of_order: 0,
            messages: 0,
            late: 0,
            after_plan: 0,
            early: 0,
            outside_window: 0,
            latency: Distribution::default(),
        }
    }

    /// Of whom it is, and what is waited for.
    pub fn expected(&self) -> Expected {
        self.expected
    }

    /// A frame came whose last bit is there; whether none of its number came before.
    #[inline]
    pub fn arrived(&mut self, frame: Arrived) -> bool {
        let number = frame.message * self.expected.parts + u64::from(frame.part);
        if !self.is_new(number, frame.period_ns) {
            self.duplicates += 1;
            return false;
        }
        self.frames += 1;
        if self.expected.parts == 1 || self.parts_of(frame) == self.expected.parts {
            self.is_whole(frame);
        }
        true
    }

    /// How many frames of its message came, with this one.
    #[inline]
    fn parts_of(&mut self, Arrived { message, period_ns, .. }: Arrived) -> u64 {
        let is_its = |of: &Open| (of.message, of.period_ns) == (message, period_ns) && of.came > 0;
        let place = self.open.iter().position(is_its).unwrap_or_else(|| {
            let place = self.first_open;
            self.first_open = (place + 1) % OPEN;
            self.open[place] = Open { message, period_ns, came: 0 };
            place
        });
        self.open[place].came += 1;
        self.open[place].came
    }

    /// A message came wholly.
    #[inline]
    fn is_whole(&mut self, frame: Arrived) {
        self.messages += 1;
        if frame.at_ns < frame.period_ns {
            self.early += 1;
        }
        let latency_ns = frame.at_ns.saturating_sub(frame.period_ns);
        let expected = &self.expected;
        self.late += u64::from(latency_ns > expected.deadline_ns);
        self.after_plan += u64::from(latency_ns > expected.planned_ns.unwrap_or(expected.deadline_ns));
        if let Some((from_ns, until_ns)) = expected.window_ns {
            self.outside_window += u64::from(!(from_ns..=until_ns).contains(&latency_ns));
        }
        self.latency.add(latency_ns);
    }

    /// Whether no frame of this number came before; one that came after a newer one is out of order.
    #[inline]
    fn is_new(&mut self, number: u64, period_ns: u64) -> bool {
        if self.began_anew(number, period_ns) {
            let all = self.of_this_talker().next_multiple_of(self.expected.parts);
            // Numbers from the wire may be anything.
            self.before = self.before.saturating_add(all);
            (self.first, self.next, self.came, self.far_back) = (None, 0, 0, 0);
        }
        if number >= self.next {
            if self.is_of_another(number, period_ns) {
                return false;
            }
            let further = number - self.next + 1;
            self.came = if further >= REMEMBERED { 0 } else { self.came << further };
            self.came |= 1;
            (self.next, self.newest_ns, self.far_back) = (number + 1, period_ns, 0);
            self.talkers += u64::from(self.first.is_none());
            self.first.get_or_insert(number);
            return true;
        }
        let back = self.next - 1 - number;
        if back >= REMEMBERED || self.came & (1 << back) != 0 {
            return false;
        }
        self.came |= 1 << back;
        self.first = self.first.map(|first| first.min(number));
        self.out_of_order += 1;
        true
    }

    /// Whether a frame is of a talker that counts from 0 again. A lower number is for a later time only then: a copy has the
    /// time of its original, and one that is out of order an earlier one. That time was set back meanwhile is told by many.
    #[inline]
    fn began_anew(&mut self, number: u64, period_ns: u64) -> bool {
        if number >= self.next {
            return false;
        }
        self.far_back += u64::from(self.next - 1 - number >= REMEMBERED);
        period_ns > self.newest_ns || self.far_back > REMEMBERED
    }

    /// Whether a frame is of a second talker: of one, no two messages are for the same time.
    #[inline]
    fn is_of_another(&self, number: u64, period_ns: u64) -> bool {
        let message_of = |number| number / self.expected.parts;
        self.first.is_some() && period_ns == self.newest_ns && message_of(number) != message_of(self.next - 1)
    }

    /// Frames from the first that came to the last, of the talker that sends now.
    fn of_this_talker(&self) -> u64 {
        self.first.map_or(0, |first| self.next - first)
    }

    /// Talkers that came so far: one that began anew counts again.
    pub fn talkers(&self) -> u64 {
        self.talkers
    }

    /// Whole messages.
    pub fn messages(&self) -> u64 {
        self.messages
    }

    /// Frames, each once.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// Frames from the first that came to the last, those between them that did not come included. Of a talker that began
    /// anew they count on.
    pub fn span(&self) -> u64 {
        self.before.saturating_add(self.of_this_talker())
    }

    /// Latencies of whole messages.
    pub fn latency(&self) -> Histogram {
        self.latency.histogram()
    }

    /// What became of the stream, of which the talker sent so many messages: all that were planned, for all that is known here.
    pub fn delivered(&self, sent: u64) -> Delivered {
        Delivered {
            stream: self.expected.stream,
            listener: self.expected.listener,
            planned_ns: self.expected.planned_ns,
            planned: sent,
            sent,
            received: self.messages,
            frames: (sent.saturating_mul(self.expected.parts), self.frames),
            late: self.late,
            after_plan: self.after_plan,
            early: self.early,
            outside_window: self.outside_window,
            out_of_order: self.out_of_order,
            duplicates: self.duplicates,
            latency: self.latency(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrivals(parts: u64) -> Arrivals {
        let planned_ns = Some(30_000);
        let window_ns = Some((20_000, 40_000));
        Arrivals::new(Expected { stream: 0, listener: 0, parts, deadline_ns: 50_000, planned_ns, window_ns })
    }

    /// By a clock on which the first period begins at 5 us, and one of 1 ms follows the other.
    fn frame(message: u64, part: u16, at_ns: u64) -> Arrived {
        Arrived { message, part, at_ns, period_ns: 5_000 + message * 1_000_000 }
    }

    #[test]
    fn a_message_is_there_with_its_last_frame_and_counts_from_its_period() {
        let mut of = arrivals(2);
        of.arrived(frame(0, 0, 10_000));
        assert_eq!((of.frames, of.messages), (1, 0));
        of.arrived(frame(0, 1, 25_000));
        of.arrived(frame(1, 0, 1_034_000));
        of.arrived(frame(1, 1, 1_036_000));
        of.arrived(frame(2, 0, 2_055_000));
        of.arrived(frame(2, 1, 2_055_001));
        let latency = of.latency();
        assert_eq!((latency.min_ns, latency.max_ns, latency.count()), (Some(20_000), Some(50_001), 3));
        assert_eq!((of.after_plan, of.late, of.early, of.outside_window), (2, 1, 0, 1));
        of.arrived(frame(4, 0, 3_000_000));
        of.arrived(frame(4, 1, 3_000_000));
        assert_eq!((of.early, of.messages, of.late), (1, 4, 1));
        assert_eq!((of.span(), of.delivered(5).frames), (10, (10, 8)));
    }

    #[test]
    fn copies_and_frames_out_of_order_are_told_apart() {
        let mut of = arrivals(1);
        for (message, counts) in [
            (0, (0, 0)),
            (2, (0, 0)),
            (1, (0, 1)),
            (1, (1, 1)),
            (2, (2, 1)),
            (70, (2, 1)),
            (69, (2, 2)),
            (70, (3, 2)),
            (3, (4, 2)),
        ] {
            of.arrived(frame(message, 0, 0));
            assert_eq!((of.duplicates, of.out_of_order), counts, "{message}");
        }
        assert_eq!(of.frames, 5);
    }

    #[test]
    fn a_frame_that_comes_behind_those_of_newer_messages_destroys_none() {
        let mut of = arrivals(2);
        for (message, part) in [(0, 0), (0, 1), (1, 0), (2, 0), (1, 1), (2, 1), (3, 0), (3, 1)] {
            assert!(of.arrived(frame(message, part, 0)));
        }
        assert_eq!((of.messages, of.out_of_order, of.frames, of.span()), (4, 1, 8, 8));
        // One that never becomes whole makes room for others.
        (4..20).for_each(|message| assert!(of.arrived(frame(message, 0, 0))));
        assert!([(19, 1), (15, 1)].iter().all(|(message, part)| of.arrived(frame(*message, *part, 0))));
        assert_eq!(of.messages, 5);
    }

    /// Whoever begins to listen late does not miss what was before.
    #[test]
    fn what_was_sent_before_the_first_that_came_is_not_missing() {
        let mut of = arrivals(1);
        assert_eq!(of.span(), 0);
        [1_000, 1_001, 1_003, 999].into_iter().for_each(|message| assert!(of.arrived(frame(message, 0, 0))));
        assert_eq!((of.span(), of.frames(), of.out_of_order, of.talkers()), (5, 4, 1, 1));
    }

    #[test]
    fn a_talker_that_begins_anew_counts_on() {
        let mut of = arrivals(1);
        let frames = |messages: std::ops::Range<u64>, from_ns: u64| {
            messages.map(move |message| Arrived { period_ns: from_ns + message * 1_000, ..frame(message, 0, 0) })
        };
        assert!(frames(0..200, 0).all(|frame| of.arrived(frame)));
        assert!(frames(0..100, 500_000).all(|frame| of.arrived(frame)));
        assert_eq!((of.frames, of.span(), of.duplicates, of.out_of_order, of.messages), (300, 300, 0, 0, 300));
        // Copies of what it sent, and of what was sent before it.
        assert!(!frames(99..100, 500_000).any(|frame| of.arrived(frame)));
        assert!(!frames(90..100, 0).any(|frame| of.arrived(frame)));
        assert_eq!((of.frames, of.span(), of.duplicates, of.talkers()), (300, 300, 11, 2));
    }

    #[test]
    fn of_two_talkers_at_once_one_sends_copies() {
        let mut of = arrivals(2);
        for n in 0..100 {
            let (period_ns, number) = (n * 1_000, |first: u64| [(first + n, 0), (first + n, 1)]);
            for (message, part) in number(0).into_iter().chain(number(1_000)) {
                of.arrived(Arrived { period_ns, ..frame(message, part, 0) });
            }
        }
        assert_eq!((of.messages, of.frames, of.span(), of.duplicates), (100, 200, 200, 200));
    }

    #[test]
    fn messages_of_a_talker_that_ended_within_one_count_wholly() {
        let mut of = arrivals(3);
        (0..5).for_each(|n| assert!(of.arrived(frame(n / 3, (n % 3) as u16, 0))));
        assert!(of.arrived(Arrived { period_ns: 9_000_000, ..frame(0, 0, 0) }));
        assert_eq!((of.span(), of.span().div_ceil(3)), (7, 3));
    }

    /// Its clock was set back, or a frame that nobody sent had a number of the far future.
    #[test]
    fn a_talker_of_an_earlier_time_is_heard_after_a_while() {
        let mut of = arrivals(1);
        of.arrived(frame(1 << 40, 0, 0));
        let heard = (0..200).filter(|message| of.arrived(frame(*message, 0, 0))).count();
        assert_eq!((heard as u64, of.duplicates), (200 - REMEMBERED, REMEMBERED));
        assert_eq!(of.span(), 1 + heard as u64);
    }
}
