//! Bytes in both directions without an end, over two lines that carry data and acknowledgements.
//!
//! Each end sends a stream of its own by selective repeat ([`repeat`](crate::repeat)), and answers the other's on the
//! line that its data take. An end that is started anew is another session, and every frame names two: of which it is,
//! and for which (four bytes each, little-endian, before the data of a data frame and after the bitmap of an
//! acknowledgement; 0 where it is not known yet). Data for another session are not taken, but answered where they ask:
//! so the other end hears that this one was started anew, and sends what had not arrived from the first number again.
//!
//! A state machine without clocks or lines, in bounded memory: what does not fit is not taken, and comes again.

use std::collections::VecDeque;

use crate::frame::{Frame, Kind};
use crate::repeat::{Next, Receiving, Sending, WINDOW};
use crate::stream::{MOST_NUMBERED, Number};

/// Bytes that a data frame has besides its data.
pub const AROUND: usize = 8;
/// What arrived and nobody read is held up to here.
const UNREAD: usize = 1 << 16;

/// One end.
#[derive(Debug)]
pub struct Duplex {
    /// Data bytes of a frame.
    most: usize,
    timeout_ns: u64,
    session: u32,
    /// Counts how often the numbers of frames were used up.
    stream: u8,
    sending: Sending,
    /// Not in frames yet.
    written: VecDeque<u8>,
    other: Option<Other>,
    unread: VecDeque<u8>,
    /// Frames were turned away, as too much was unread.
    full: bool,
    answers: bool,
    repeated: u64,
}

/// The other end and its stream.
#[derive(Debug)]
struct Other {
    session: u32,
    stream: u8,
    receiving: Receiving,
}

impl Duplex {
    /// With so many data bytes in a frame, such a wait for an answer at first, in ns, and a session that no end at this
    /// wire had before.
    pub fn new(most: usize, timeout_ns: u64, session: u32) -> Self {
        Self {
            most: most.max(1),
            timeout_ns,
            session: session.max(1),
            stream: 0,
            sending: Sending::new(0, timeout_ns),
            written: VecDeque::new(),
            other: None,
            unread: VecDeque::new(),
            full: false,
            answers: false,
            repeated: 0,
        }
    }

    /// How many bytes [`write`](Self::write) takes now.
    pub fn room(&self) -> usize {
        (self.most * WINDOW as usize).saturating_sub(self.written.len())
    }

    /// Has bytes sent; no more than there is [`room`](Self::room) for.
    pub fn write(&mut self, bytes: &[u8]) {
        self.written.extend(bytes);
    }

    /// What arrived and was not [`consume`](Self::consume)d, as far as it lies together.
    pub fn unread(&self) -> &[u8] {
        self.unread.as_slices().0
    }

    /// So many bytes of [`unread`](Self::unread) were handed on.
    pub fn consume(&mut self, count: usize) {
        self.unread.drain(..count);
        if self.full && self.unread.len() < UNREAD / 2 {
            self.full = false;
            // The other end would only try again after longer and longer waits.
            self.answers = true;
        }
    }

    /// What to send next, if anything; call [`sent`](Self::sent) when it is known when it will have left.
    pub fn next(&mut self, now_ns: u64) -> Option<Frame> {
        if std::mem::take(&mut self.answers) {
            if let Some(answer) = self.answer() {
                return Some(answer);
            }
        }
        self.fill();
        let Next::Frame(mut frame) = self.sending.next(now_ns) else { return None };
        if self.other.is_none() {
            // It would not be taken.
            frame.payload.clear();
        }
        frame.payload.splice(..0, self.names());
        Some(frame)
    }

    /// Whose frame it is, and for whom.
    fn names(&self) -> [u8; AROUND] {
        let mut names = [0; AROUND];
        names[..4].copy_from_slice(&self.session.to_le_bytes());
        names[4..].copy_from_slice(&self.other.as_ref().map_or(0, |other| other.session).to_le_bytes());
        names
    }

    /// What is needed next.
    fn answer(&self) -> Option<Frame> {
        let Other { stream, receiving, .. } = self.other.as_ref()?;
        let mut answer = receiving.state(*stream);
        answer.payload.extend(self.names());
        Some(answer)
    }

    /// The data frame of [`next`](Self::next) will have left by then.
    pub fn sent(&mut self, frame: Kind, left_ns: u64) {
        if frame != Kind::Acknowledgement {
            self.sending.sent(left_ns);
        }
    }

    /// Cuts what was written into frames, but not while an answer is awaited: meanwhile more may come that goes into the
    /// same frame.
    fn fill(&mut self) {
        while !self.written.is_empty() && self.may_offer() {
            let bytes = self.written.drain(..self.most.min(self.written.len())).collect();
            // There is room, and a number.
            let _ = self.sending.offer(bytes, false);
        }
    }

    fn may_offer(&mut self) -> bool {
        if self.sending.ends() >= MOST_NUMBERED && self.sending.is_empty() {
            self.stream = self.stream.wrapping_add(1);
            self.begin_anew();
        }
        // One asks for an end of which nothing is known.
        let known = self.other.is_some() || self.sending.is_empty();
        known && !self.sending.waits() && self.sending.has_room() && self.sending.ends() < MOST_NUMBERED
    }

    /// Numbers begin again, with what had not arrived.
    fn begin_anew(&mut self) {
        self.repeated += self.sending.repeated();
        let before = std::mem::replace(&mut self.sending, Sending::new(self.stream, self.timeout_ns));
        for payload in before.unarrived() {
            let _ = self.sending.offer(payload, false);
        }
    }

    /// Takes a frame that was read; whether it showed that the other end was restarted.
    pub fn take(&mut self, mut frame: Frame) -> bool {
        let is_answer = frame.kind == Kind::Acknowledgement;
        let at = if is_answer { frame.payload.len().saturating_sub(AROUND) } else { 0 };
        if frame.payload.len() < AROUND {
            return false;
        }
        let names: Vec<u8> = frame.payload.drain(at..at + AROUND).collect();
        let name = |at: usize| names[at..at + 4].iter().rev().fold(0, |name, byte| name << 8 | u32::from(*byte));
        let (from, to) = (name(0), name(4));
        let is_own = to == self.session;
        if from == 0 || from == self.session || is_answer && !is_own {
            return false;
        }
        let anew = self.meet(from);
        match is_answer {
            // One who was started anew has no answer yet.
            true if !anew => _ = self.sending.take(&frame),
            true => {}
            false => self.came(frame, is_own),
        }
        anew
    }

    /// Whether the other end is not the same any more.
    fn meet(&mut self, session: u32) -> bool {
        let before = self.other.as_ref().map(|other| other.session);
        if before == Some(session) {
            return false;
        }
        self.other = Some(Other { session, stream: 0, receiving: Receiving::default() });
        if before.is_some() {
            self.stream = 0;
            self.begin_anew();
        }
        before.is_some()
    }

    fn came(&mut self, frame: Frame, is_own: bool) {
        let Some(other) = &mut self.other else { return };
        let asks = frame.kind != Kind::Data;
        if self.unread.len() >= UNREAD {
            self.full = true;
            return;
        }
        if is_own {
            let stream = Number::of(frame.number).stream;
            if stream == other.stream.wrapping_add(1) {
                (other.stream, other.receiving) = (stream, Receiving::default());
            }
            if stream == other.stream {
                self.unread.extend(other.receiving.take(frame));
            }
        }
        self.answers |= asks;
    }

    /// Whether everything that was written has arrived.
    pub fn is_idle(&self) -> bool {
        self.written.is_empty() && self.sending.is_empty() && !self.answers
    }

    /// Frames that were sent more than once.
    pub fn repeated(&self) -> u64 {
        self.repeated + self.sending.repeated()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TIMEOUT_NS: u64 = 100;

    fn end(session: u32) -> Duplex {
        Duplex::new(3, TIMEOUT_NS, session)
    }

    /// What a user of an end sees.
    fn read(end: &mut Duplex) -> Vec<u8> {
        let mut bytes = Vec::new();
        while !end.unread().is_empty() {
            bytes.extend_from_slice(end.unread());
            end.consume(end.unread().len());
        }
        bytes
    }

    /// Both ends send what they have, over wires that lose what `lost` says; until nobody has anything to say.
    fn run(ends: &mut [Duplex; 2], came: &mut [Vec<u8>; 2], lost: &mut impl Iterator<Item = bool>, now_ns: &mut u64) {
        for _ in 0..100_000 {
            *now_ns += 1;
            for from in [0, 1] {
                if let Some(frame) = ends[from].next(*now_ns) {
                    ends[from].sent(frame.kind, *now_ns);
                    if !lost.next().unwrap_or(false) {
                        ends[1 - from].take(frame);
                    }
                }
                came[from].extend(read(&mut ends[from]));
            }
            if ends.iter().all(Duplex::is_idle) {
                return;
            }
            // Nobody waits forever: the longest wait passes within a few turns.
            *now_ns += TIMEOUT_NS / 4;
        }
        panic!("it never ends: {ends:?}");
    }

    proptest! {
        #[test]
        fn everything_arrives_both_ways(
            words in proptest::collection::vec((any::<bool>(), proptest::collection::vec(any::<u8>(), 0..40)), 0..40),
            lost in proptest::collection::vec(any::<bool>(), 0..400),
        ) {
            let (mut ends, mut came, mut now_ns) = ([end(1), end(2)], [Vec::new(), Vec::new()], 0);
            let (mut wanted, mut lost) = ([Vec::new(), Vec::new()], lost.into_iter());
            for (first, bytes) in words {
                let from = usize::from(first);
                if bytes.len() > ends[from].room() {
                    run(&mut ends, &mut came, &mut lost, &mut now_ns);
                }
                ends[from].write(&bytes);
                wanted[1 - from].extend(bytes);
            }
            run(&mut ends, &mut came, &mut lost, &mut now_ns);
            prop_assert_eq!(came, wanted);
        }

        /// One end is started anew again and again: what the other wrote arrives at one of them, once where it was
        /// acknowledged, and the order is kept.
        #[test]
        fn the_other_end_may_be_started_anew(
            turns in proptest::collection::vec((1usize..60, 0usize..30), 1..12),
            lost in proptest::collection::vec(prop::bool::weighted(0.3), 0..300),
        ) {
            let (mut ends, mut now_ns, mut lost) = ([end(1), end(2)], 0, lost.into_iter());
            let (mut counter, mut lives) = (0u32, vec![Vec::new()]);
            for (life, (length, steps)) in turns.into_iter().enumerate() {
                let bytes: Vec<u8> = (0..length).map(|_| { counter += 1; counter as u8 }).collect();
                ends[0].write(&bytes);
                for _ in 0..steps {
                    now_ns += TIMEOUT_NS / 2;
                    for from in [0, 1] {
                        if let Some(frame) = ends[from].next(now_ns) {
                            ends[from].sent(frame.kind, now_ns);
                            if !lost.next().unwrap_or(false) {
                                ends[1 - from].take(frame);
                            }
                        }
                    }
                    let read = read(&mut ends[1]);
                    lives.last_mut().unwrap().extend(read);
                }
                ends[1] = end(100 + life as u32);
                lives.push(Vec::new());
            }
            ends[0].write(b"Z");
            ends[1].write(b"back");
            let mut came = [Vec::new(), Vec::new()];
            run(&mut ends, &mut came, &mut lost, &mut now_ns);
            prop_assert_eq!(&came[0], b"back");
            prop_assert_eq!(came[1].last(), Some(&b'Z'));
            // Within each life bytes follow each other without a gap.
            for life in lives {
                prop_assert!(life.windows(2).all(|pair| pair[1] == pair[0].wrapping_add(1)), "{life:?}");
            }
        }

        /// Whatever is heard, memory stays bounded and nothing panics.
        #[test]
        fn anything_is_taken(frames in proptest::collection::vec(crate::frame::tests::frames(40), 0..200)) {
            let mut end = end(1);
            end.write(b"abc");
            for (n, frame) in frames.into_iter().enumerate() {
                end.take(frame);
                if let Some(frame) = end.next(n as u64) {
                    end.sent(frame.kind, n as u64);
                }
            }
            prop_assert!(end.unread.len() <= UNREAD + WINDOW as usize * 40);
        }
    }

    #[test]
    fn what_nobody_reads_is_not_taken_and_comes_when_it_is_read() {
        let [mut from, mut to] = [Duplex::new(1_000, TIMEOUT_NS, 1), Duplex::new(1_000, TIMEOUT_NS, 2)];
        let wanted: Vec<u8> = (0..200_000u32).map(|n| (n >> 3) as u8).collect();
        let (mut rest, mut came, mut now_ns, mut most) = (&wanted[..], Vec::new(), 0, 0);
        for turn in 0..20_000 {
            let (now, later) = rest.split_at(from.room().min(rest.len()));
            from.write(now);
            rest = later;
            now_ns += TIMEOUT_NS / 2;
            while let Some(frame) = from.next(now_ns) {
                from.sent(frame.kind, now_ns);
                to.take(frame);
            }
            while let Some(frame) = to.next(now_ns) {
                to.sent(frame.kind, now_ns);
                from.take(frame);
            }
            most = most.max(to.unread.len());
            // A reader that goes away for a while.
            if turn > 1_000 {
                came.extend(read(&mut to));
            }
        }
        assert_eq!(came, wanted);
        assert!((UNREAD..UNREAD + 40_000).contains(&most), "{most}");
    }

    /// The other end is asked to go on once half of it was read, and only where it was turned away.
    #[test]
    fn who_reads_enough_asks_for_what_was_turned_away() {
        let consumed = |full, counts: &[usize]| {
            let mut end = Duplex { full, unread: vec![7; UNREAD].into(), ..end(1) };
            counts.iter().for_each(|count| end.consume(*count));
            (end.unread.len(), end.full, end.answers)
        };
        assert_eq!(consumed(true, &[UNREAD / 2]), (UNREAD / 2, true, false));
        assert_eq!(consumed(true, &[UNREAD / 2, 1]), (UNREAD / 2 - 1, false, true));
        assert_eq!(consumed(false, &[UNREAD / 2, 1]), (UNREAD / 2 - 1, false, false));
    }

    #[test]
    fn numbers_begin_again_when_they_are_used_up() {
        let (mut ends, mut came, mut now_ns) = ([end(1), end(2)], [Vec::new(), Vec::new()], 0);
        ends[0].sending = Sending::from(0, TIMEOUT_NS, MOST_NUMBERED - 2);
        ends[1].other = Some(Other { session: 1, stream: 0, receiving: Receiving::from(0, MOST_NUMBERED - 2) });
        ends[0].write(b"abcdefghijkl");
        run(&mut ends, &mut came, &mut std::iter::empty(), &mut now_ns);
        assert_eq!(came[1], b"abcdefghijkl");
        assert_eq!(ends[0].stream, 1);
    }
}
