//! A stream of bytes as numbered frames, and back where nothing can be repeated.

use crate::frame::{Frame, Kind};

/// Bits of a frame's number that count; the others mark the stream.
const COUNT_BITS: u32 = 24;
/// Frames that a stream can have.
pub const MOST_FRAMES: u32 = 1 << COUNT_BITS;
/// Frames of a stream that is answered: an answer names the next, which needs a number too.
pub const MOST_NUMBERED: u32 = MOST_FRAMES - 1;

/// Whose frame it is, and which. A sender that was started anew marks its frames with another stream, so that
/// nobody takes them for the rest of the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Number {
    /// The stream's mark.
    pub stream: u8,
    /// The frame's place in it, from 0.
    pub index: u32,
}

impl Number {
    /// As a frame carries it.
    pub fn joined(self) -> u32 {
        u32::from(self.stream) << COUNT_BITS | self.index
    }

    /// Of a frame.
    pub fn of(number: u32) -> Self {
        Self { stream: (number >> COUNT_BITS) as u8, index: number & (MOST_FRAMES - 1) }
    }
}

/// More bytes than a stream can number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the stream has more than {MOST_FRAMES} frames: send it in parts")]
pub struct TooLong;

/// Numbers frames.
#[derive(Debug)]
pub struct Numbering {
    stream: u8,
    next: u32,
}

impl Numbering {
    /// From 0, of this stream.
    pub fn new(stream: u8) -> Self {
        Self { stream, next: 0 }
    }

    /// The next frame, with these bytes.
    pub fn frame(&mut self, payload: Vec<u8>, last: bool) -> Result<Frame, TooLong> {
        if self.next == MOST_FRAMES {
            return Err(TooLong);
        }
        let number = Number { stream: self.stream, index: self.next }.joined();
        self.next += 1;
        let kind = if last { Kind::Last } else { Kind::Data };
        Ok(Frame { kind, number, payload })
    }
}

/// What a frame meant for the stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delivery {
    /// The next bytes.
    Bytes(Vec<u8>),
    /// The next bytes that came, after frames that did not.
    After {
        /// The first that is missing.
        first: u32,
        /// How many are.
        missing: u32,
        /// The bytes after them.
        bytes: Vec<u8>,
    },
    /// Nothing of this stream.
    Foreign,
}

/// The receiving end of a stream of which nothing is repeated: frames come in order, or not at all.
#[derive(Debug, Default)]
pub struct Incoming {
    stream: Option<u8>,
    next: u32,
    missing: u64,
    ended: bool,
}

impl Incoming {
    /// Takes a frame that was read.
    pub fn take(&mut self, frame: Frame) -> Delivery {
        let Number { stream, index } = Number::of(frame.number);
        let is_data = matches!(frame.kind, Kind::Data | Kind::Asking | Kind::Last);
        let is_own = *self.stream.get_or_insert(stream) == stream;
        if !is_data || !is_own || self.ended || index < self.next {
            return Delivery::Foreign;
        }
        let (first, missing) = (self.next, index - self.next);
        self.next = index + 1;
        self.missing += u64::from(missing);
        self.ended = frame.kind == Kind::Last;
        match missing {
            0 => Delivery::Bytes(frame.payload),
            _ => Delivery::After { first, missing, bytes: frame.payload },
        }
    }

    /// Whether the last frame came.
    pub fn ended(&self) -> bool {
        self.ended
    }

    /// Whether any frame came.
    pub fn began(&self) -> bool {
        self.stream.is_some()
    }

    /// Frames that are missing among those that came.
    pub fn missing(&self) -> u64 {
        self.missing
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Whatever is lost, what came is in order, and exactly what did not come is reported.
        #[test]
        fn what_is_missing_is_reported(lost in proptest::collection::vec(any::<bool>(), 1..100)) {
            let mut numbering = Numbering::new(7);
            let mut incoming = Incoming::default();
            let mut reported = Vec::new();
            for (n, lost) in lost.iter().enumerate() {
                let frame = numbering.frame(vec![n as u8], n + 1 == 100).unwrap();
                if *lost {
                    continue;
                }
                match incoming.take(frame) {
                    Delivery::Bytes(bytes) => reported.extend(bytes.into_iter().map(Some)),
                    Delivery::After { missing, bytes, .. } => {
                        reported.extend((0..missing).map(|_| None));
                        reported.extend(bytes.into_iter().map(Some));
                    }
                    Delivery::Foreign => prop_assert!(false),
                }
            }
            let mut wanted: Vec<_> = lost.iter().enumerate().map(|(n, lost)| (!lost).then_some(n as u8)).collect();
            while wanted.last() == Some(&None) {
                wanted.pop();
            }
            prop_assert_eq!(reported, wanted);
        }

        #[test]
        fn numbers_are_read_back(stream in any::<u8>(), index in 0..MOST_FRAMES) {
            let number = Number { stream, index };
            prop_assert_eq!(Number::of(number.joined()), number);
        }
    }

    #[test]
    fn another_sender_is_not_taken_for_the_rest() {
        let (mut first, mut second) = (Numbering::new(1), Numbering::new(2));
        let mut incoming = Incoming::default();
        assert_eq!(incoming.take(first.frame(vec![1], false).unwrap()), Delivery::Bytes(vec![1]));
        second.frame(vec![], false).unwrap();
        assert_eq!(incoming.take(second.frame(vec![9], true).unwrap()), Delivery::Foreign);
        assert!(!incoming.ended());
        assert_eq!(incoming.take(first.frame(vec![2], true).unwrap()), Delivery::Bytes(vec![2]));
        assert!(incoming.ended());
    }
}
