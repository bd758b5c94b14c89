//! Selective repeat: what did not arrive is sent again, and nothing else.
//!
//! The sender numbers its frames and sends up to [`WINDOW`] of them; the last one asks. The receiver answers with an
//! acknowledgement: its number is that of the next frame it needs, and its payload is a bitmap (32 bits,
//! little-endian): bit n says that frame number + 1 + n came already. What the answer does not name is sent again.
//! Without an answer in time the sender sends its oldest frame again, which asks too. When everything was
//! acknowledged it says so by an acknowledgement of its own, so that the receiver need not wait for repeats.
//!
//! Both sides are state machines without clocks or lines: whoever drives them tells the time.

use std::collections::{BTreeMap, VecDeque};

use crate::frame::{Frame, Kind};
use crate::stream::{MOST_NUMBERED, Number, TooLong};

/// Frames that may be under way at a time.
pub const WINDOW: u32 = 32;
/// The wait for an answer doubles at every one that does not come, at most this often.
pub(crate) const MOST_DOUBLINGS: u32 = 3;

/// What a sender does next.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    /// Send this; once it is sent, call [`Sending::sent`].
    Frame(Frame),
    /// Wait for an answer until then, in ns.
    Wait(u64),
    /// Nothing, until there are more bytes.
    Idle,
    /// Everything arrived.
    Done,
}

/// The sending end.
#[derive(Debug)]
pub struct Sending {
    stream: u8,
    timeout_ns: u64,
    /// Index of the oldest frame that is not known to have arrived.
    base: u32,
    slots: VecDeque<Slot>,
    ended: bool,
    /// Until when an answer is waited for, if one was asked for, in ns.
    answer_by_ns: Option<u64>,
    asking: bool,
    doublings: u32,
    repeated: u64,
}

#[derive(Debug)]
struct Slot {
    payload: Vec<u8>,
    last: bool,
    arrived: bool,
    due: bool,
    sent_before: bool,
}

impl Sending {
    /// Of this stream; an answer is waited for so long at first, in ns.
    pub fn new(stream: u8, timeout_ns: u64) -> Self {
        Self {
            stream,
            timeout_ns,
            base: 0,
            slots: VecDeque::new(),
            ended: false,
            answer_by_ns: None,
            asking: false,
            doublings: 0,
            repeated: 0,
        }
    }

    /// With the first frame numbered so.
    #[cfg(test)]
    pub(crate) fn from(stream: u8, timeout_ns: u64, base: u32) -> Self {
        Self { base, ..Self::new(stream, timeout_ns) }
    }

    /// The number of the next payload.
    pub fn ends(&self) -> u32 {
        self.base + self.slots.len() as u32
    }

    /// Whether everything that was offered has arrived.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Whether an answer is awaited.
    pub fn waits(&self) -> bool {
        self.answer_by_ns.is_some()
    }

    /// What the other end may not have handed on, oldest first.
    pub fn unarrived(self) -> Vec<Vec<u8>> {
        self.slots.into_iter().map(|slot| slot.payload).collect()
    }

    /// Whether there is room for another payload.
    pub fn has_room(&self) -> bool {
        !self.ended && self.slots.len() < WINDOW as usize
    }

    /// Adds the next payload; there must be room.
    pub fn offer(&mut self, payload: Vec<u8>, last: bool) -> Result<(), TooLong> {
        if self.ends() >= MOST_NUMBERED {
            return Err(TooLong);
        }
        self.slots.push_back(Slot { payload, last, arrived: false, due: true, sent_before: false });
        self.ended |= last;
        Ok(())
    }

    /// What to do now.
    pub fn next(&mut self, now_ns: u64) -> Next {
        if self.slots.is_empty() {
            return if self.ended { Next::Done } else { Next::Idle };
        }
        match self.answer_by_ns {
            Some(by_ns) if now_ns < by_ns => return Next::Wait(by_ns),
            Some(_) => {
                // The oldest is never one that arrived: those leave.
                self.answer_by_ns = None;
                self.doublings = (self.doublings + 1).min(MOST_DOUBLINGS);
                self.slots[0].due = true;
            }
            None => {}
        }
        let due: Vec<usize> = (0..self.slots.len()).filter(|n| self.slots[*n].due).take(2).collect();
        match due[..] {
            [] => {
                // Everything was sent and nothing asked: cannot be, but the oldest asks.
                self.slots[0].due = true;
                Next::Wait(now_ns)
            }
            [n] => self.emit(n, true),
            [n, ..] => self.emit(n, false),
        }
    }

    fn emit(&mut self, n: usize, asks: bool) -> Next {
        let index = self.base + n as u32;
        let slot = &mut self.slots[n];
        self.repeated += u64::from(slot.sent_before);
        (slot.due, slot.sent_before) = (false, true);
        self.asking = asks || slot.last;
        let kind = match (slot.last, asks) {
            (true, _) => Kind::Last,
            (false, true) => Kind::Asking,
            (false, false) => Kind::Data,
        };
        let number = Number { stream: self.stream, index }.joined();
        Next::Frame(Frame { kind, number, payload: slot.payload.clone() })
    }

    /// The last frame of [`next`](Self::next) has left by now.
    pub fn sent(&mut self, now_ns: u64) {
        if self.asking {
            self.answer_by_ns = Some(now_ns + (self.timeout_ns << self.doublings));
        }
    }

    /// Whether the frame that was sent last asks, so that it must have left before [`sent`](Self::sent).
    pub fn asks(&self) -> bool {
        self.asking
    }

    /// Takes an answer; `false` if it is none to this stream. One that needs what was acknowledged before is late and says
    /// nothing new, or of a receiver that was started anew and has nothing of that.
    pub fn take(&mut self, frame: &Frame) -> bool {
        let Number { stream, index } = Number::of(frame.number);
        let is_own = frame.kind == Kind::Acknowledgement && stream == self.stream;
        if !is_own || !(self.base..=self.ends()).contains(&index) {
            return false;
        }
        let Some(bits) = bitmap(frame) else { return false };
        for (place, slot) in (self.base..).zip(&mut self.slots) {
            slot.arrived |= names(index, bits, place);
        }
        while self.slots.front().is_some_and(|slot| slot.arrived) {
            self.slots.pop_front();
            self.base += 1;
        }
        // An answer from before is no reason to send again what is under way.
        if self.answer_by_ns.take().is_some() {
            self.slots.iter_mut().for_each(|slot| slot.due = !slot.arrived);
        }
        self.doublings = 0;
        true
    }

    /// Says that everything arrived.
    pub fn farewell(&self) -> Frame {
        let number = Number { stream: self.stream, index: self.base }.joined();
        Frame { kind: Kind::Acknowledgement, number, payload: Vec::new() }
    }

    /// Frames that were sent more than once.
    pub fn repeated(&self) -> u64 {
        self.repeated
    }
}

fn bitmap(answer: &Frame) -> Option<u32> {
    answer.payload[..].try_into().map(u32::from_le_bytes).ok()
}

/// Whether an answer with this number and bitmap says that the frame at `place` came.
fn names(number: u32, bits: u32, place: u32) -> bool {
    let bit = place.checked_sub(number + 1).filter(|bit| *bit < u32::BITS);
    place < number || bit.is_some_and(|bit| bits >> bit & 1 == 1)
}

/// The receiving end.
#[derive(Debug, Default)]
pub struct Receiving {
    stream: Option<u8>,
    next: u32,
    /// Delivery before those that they follow; the last is marked.
    early: BTreeMap<u32, (Vec<u8>, bool)>,
    complete: bool,
    closed: bool,
    asked: bool,
}

impl Receiving {
    /// In the middle of a stream.
    #[cfg(test)]
    pub(crate) fn from(stream: u8, next: u32) -> Self {
        Self { stream: Some(stream), next, ..Self::default() }
    }

    /// Takes a frame that was read; the bytes that are next, as far as they are there now.
    pub fn take(&mut self, frame: Frame) -> Vec<u8> {
        if !self.is_own(&frame) {
            return Vec::new();
        }
        let Number { stream, index } = Number::of(frame.number);
        if frame.kind == Kind::Acknowledgement {
            self.closed |= self.complete && self.stream.is_some();
            return Vec::new();
        }
        self.stream = Some(stream);
        self.asked |= frame.kind != Kind::Data;
        if !self.complete && (self.next..self.next + WINDOW).contains(&index) {
            self.early.insert(index, (frame.payload, frame.kind == Kind::Last));
        }
        let mut bytes = Vec::new();
        while let Some((payload, last)) = self.early.remove(&self.next) {
            bytes.extend(payload);
            self.next += 1;
            self.complete |= last;
        }
        bytes
    }

    /// Whether a frame is of this stream.
    pub fn is_own(&self, frame: &Frame) -> bool {
        let Number { stream, index } = Number::of(frame.number);
        // Nobody's first frame is beyond the first window: that is the middle of another stream.
        self.stream.map_or(index < WINDOW, |own| own == stream)
    }

    /// The answer, if one was asked for since the last.
    pub fn answer(&mut self) -> Option<Frame> {
        let stream = self.stream.filter(|_| std::mem::take(&mut self.asked))?;
        Some(self.state(stream))
    }

    /// What an answer to this stream says now.
    pub fn state(&self, stream: u8) -> Frame {
        let bits = self.early.keys().fold(0u32, |bits, index| bits | 1 << (index - self.next - 1));
        let number = Number { stream, index: self.next }.joined();
        Frame { kind: Kind::Acknowledgement, number, payload: bits.to_le_bytes().to_vec() }
    }

    /// Whether the whole stream was handed on.
    pub fn complete(&self) -> bool {
        self.complete
    }

    /// Whether the sender knows that.
    pub fn closed(&self) -> bool {
        self.closed
    }

    /// Whether any frame came.
    pub fn began(&self) -> bool {
        self.stream.is_some()
    }

    /// The frame that is needed next.
    pub fn needs(&self) -> u32 {
        self.next
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TIMEOUT_NS: u64 = 1_000;

    /// What a wire does to one frame.
    #[derive(Debug, Clone, Copy, PartialEq)]
    enum Fate {
        Arrives,
        Lost,
        /// Comes again, after whatever is sent next.
        Twice,
    }

    fn fates() -> impl Strategy<Value = Vec<Fate>> {
        let fate = prop_oneof![3 => Just(Fate::Arrives), 2 => Just(Fate::Lost), 1 => Just(Fate::Twice)];
        proptest::collection::vec(fate, 0..300)
    }

    /// Passes frames on as fate will have it; when the fates are used up, all arrive.
    struct Wire {
        fates: std::vec::IntoIter<Fate>,
        late: Option<Frame>,
    }

    impl Wire {
        fn new(fates: Vec<Fate>) -> Self {
            Self { fates: fates.into_iter(), late: None }
        }

        fn pass(&mut self, frame: Frame) -> Vec<Frame> {
            let late = self.late.take();
            let first = match self.fates.next().unwrap_or(Fate::Arrives) {
                Fate::Arrives => Some(frame),
                Fate::Lost => None,
                Fate::Twice => {
                    self.late = Some(frame.clone());
                    Some(frame)
                }
            };
            first.into_iter().chain(late).collect()
        }
    }

    /// Sends payloads through both wires, offering a few at a time; what was handed on, and how often was repeated.
    fn through(payloads: &[Vec<u8>], at_once: usize, there: Vec<Fate>, back: Vec<Fate>) -> (Vec<u8>, Receiving, u64) {
        let (mut sending, mut receiving) = (Sending::new(9, TIMEOUT_NS), Receiving::default());
        let (mut there, mut back) = (Wire::new(there), Wire::new(back));
        let (mut came, mut now_ns, mut offered) = (Vec::new(), 0, 0);
        for _ in 0..100_000 {
            for _ in 0..at_once {
                if offered < payloads.len() && sending.has_room() {
                    sending.offer(payloads[offered].clone(), offered + 1 == payloads.len()).unwrap();
                    offered += 1;
                }
            }
            now_ns += 1;
            match sending.next(now_ns) {
                Next::Done => {
                    receiving.take(sending.farewell());
                    return (came, receiving, sending.repeated());
                }
                Next::Wait(until_ns) => now_ns = now_ns.max(until_ns),
                Next::Idle => {}
                Next::Frame(frame) => {
                    sending.sent(now_ns);
                    for frame in there.pass(frame) {
                        came.extend(receiving.take(frame));
                        for answer in receiving.answer().into_iter().flat_map(|answer| back.pass(answer)) {
                            sending.take(&answer);
                        }
                    }
                }
            }
        }
        panic!("it never ends: {sending:?} {receiving:?}");
    }

    proptest! {
        #[test]
        fn everything_arrives_once_and_in_order(
            lengths in proptest::collection::vec(0usize..5, 1..120),
            at_once in 1usize..40,
            there in fates(),
            back in fates(),
        ) {
            let mut counter = 0u8;
            let mut payload = |length| (0..length).map(|_| { counter = counter.wrapping_add(1); counter }).collect();
            let payloads: Vec<Vec<u8>> = lengths.into_iter().map(&mut payload).collect();
            let (came, receiving, _) = through(&payloads, at_once, there, back);
            prop_assert_eq!(came, payloads.concat());
            prop_assert!(receiving.complete() && receiving.closed());
        }

        /// Frames of another stream, or made up, change nothing.
        #[test]
        fn strangers_are_left_alone(number in any::<u32>(), payload in proptest::collection::vec(any::<u8>(), 0..6)) {
            let (mut sending, mut receiving) = (Sending::new(9, TIMEOUT_NS), Receiving::default());
            sending.offer(vec![1, 2, 3], true).unwrap();
            let Next::Frame(frame) = sending.next(0) else { panic!() };
            sending.sent(0);
            prop_assert_eq!(receiving.take(frame.clone()), vec![1, 2, 3]);
            prop_assume!(Number::of(number).stream != 9);
            let stranger = |kind| Frame { kind, number, payload: payload.clone() };
            prop_assert!(!sending.take(&stranger(Kind::Acknowledgement)));
            receiving.answer();
            prop_assert_eq!(receiving.take(stranger(Kind::Asking)), Vec::<u8>::new());
            prop_assert_eq!(receiving.answer(), None);
            prop_assert_eq!(sending.next(1), Next::Wait(TIMEOUT_NS));
        }
    }

    #[test]
    fn only_what_is_missing_is_repeated() {
        let payloads: Vec<Vec<u8>> = (0..20).map(|n| vec![n]).collect();
        let fates = (0..20).map(|n| if n == 3 || n == 11 { Fate::Lost } else { Fate::Arrives }).collect();
        let (came, _, repeated) = through(&payloads, 40, fates, Vec::new());
        assert_eq!((came, repeated), (payloads.concat(), 2));
    }

    #[test]
    fn a_receiver_that_is_started_anew_acknowledges_nothing_of_what_went_to_the_one_before() {
        let mut sending = Sending::new(1, TIMEOUT_NS);
        for n in 0..3 {
            sending.offer(vec![n], n == 2).unwrap();
        }
        let mut frames = (0..3).map(|_| match sending.next(0) {
            Next::Frame(frame) => frame,
            other => panic!("{other:?}"),
        });
        let (mut first, mut anew) = (Receiving::default(), Receiving::default());
        first.take(frames.next().unwrap());
        first.take(frames.next().unwrap());
        let last = frames.next().unwrap();
        sending.sent(0);
        assert!(sending.take(&first.state(1)));
        assert_eq!(anew.take(last), Vec::<u8>::new());
        assert!(!sending.take(&anew.answer().unwrap()));
        assert!(matches!(sending.next(1), Next::Frame(Frame { kind: Kind::Last, .. })));
    }

    #[test]
    fn a_silent_receiver_is_asked_less_and_less_often() {
        let mut sending = Sending::new(1, TIMEOUT_NS);
        sending.offer(vec![1], true).unwrap();
        let (mut now_ns, mut waits) = (0, Vec::new());
        for _ in 0..8 {
            assert!(matches!(sending.next(now_ns), Next::Frame(_)));
            sending.sent(now_ns);
            let Next::Wait(until_ns) = sending.next(now_ns) else { panic!() };
            waits.push((until_ns - now_ns) / TIMEOUT_NS);
            now_ns = until_ns;
        }
        assert_eq!(waits, [1, 2, 4, 8, 8, 8, 8, 8]);
    }
}
