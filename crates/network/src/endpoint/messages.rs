//! Whole messages of the frames that come.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

use super::listener::Message;
use super::planned::Incoming;

/// A message that came whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WholeMessage {
    /// The stream's place among the listener's.
    pub stream: usize,
    /// Its number, from 0 when the talker began.
    pub number: u64,
    /// When it was to be sent, in ns of TAI.
    pub planned_ns: u64,
    /// When its last frame came, in ns of TAI.
    pub arrived_ns: u64,
    /// What its talker had it carry.
    pub payload: Vec<u8>,
}

/// Puts the frames of each stream together again. A message of which a frame is missing when the next one begins is none.
#[derive(Debug)]
pub struct Messages {
    streams: Vec<Open>,
}

/// A message of which frames came.
#[derive(Debug)]
struct Open {
    number: u64,
    parts: Vec<Option<Vec<u8>>>,
}

impl Messages {
    /// Of these streams.
    pub fn new(streams: &[Incoming]) -> Self {
        let open = |of: &Incoming| Open { number: 0, parts: vec![None; of.expected.parts as usize] };
        Self { streams: streams.iter().map(open).collect() }
    }

    /// A frame came; the message that it was the last one of.
    pub fn add(&mut self, frame: &Message<'_>) -> Option<WholeMessage> {
        if frame.is_duplicate {
            return None;
        }
        let open = &mut self.streams[frame.stream];
        if open.number != frame.header.message {
            open.number = frame.header.message;
            open.parts.fill(None);
        }
        *open.parts.get_mut(usize::from(frame.header.part))? = Some(frame.payload.to_vec());
        if open.parts.iter().any(Option::is_none) {
            return None;
        }
        let payload = open.parts.iter_mut().flat_map(|part| part.take().unwrap_or_default()).collect();
        let planned_ns = frame.header.planned_ns;
        Some(WholeMessage {
            stream: frame.stream,
            number: frame.header.message,
            planned_ns,
            arrived_ns: frame.at_ns,
            payload,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrivals::Expected;
    use crate::endpoint::header::Header;
    use crate::endpoint::planned::Way;

    fn messages(parts: u64) -> Messages {
        let expected = Expected { stream: 3, listener: 1, parts, deadline_ns: 1, planned_ns: None, window_ns: None };
        let way = Way { link: 0, links: 3 };
        let of = Incoming { expected, name: "f".into(), pcp: 5, vlan: 9, offset_ns: 0, period_ns: 1_000_000, way };
        Messages::new(&[of])
    }

    fn frame(message: u64, part: u16, payload: &[u8]) -> Message<'_> {
        let header = Header { plan: 7, stream: 3, part, payload: 1, message, planned_ns: message * 10, sent_ns: 0 };
        Message { stream: 0, header, payload, at_ns: message * 10 + u64::from(part), is_duplicate: false }
    }

    #[test]
    fn a_message_is_whole_when_its_last_frame_is_there_in_whatever_order() {
        let mut all = messages(3);
        assert_eq!(all.add(&frame(4, 2, b"c")), None);
        assert_eq!(all.add(&frame(4, 0, b"a")), None);
        assert_eq!(all.add(&Message { is_duplicate: true, ..frame(4, 1, b"x") }), None);
        let whole = WholeMessage { stream: 0, number: 4, planned_ns: 40, arrived_ns: 41, payload: b"abc".to_vec() };
        assert_eq!(all.add(&frame(4, 1, b"b")), Some(whole));
        // A frame of the next one is missing; the one after it is whole.
        assert_eq!([0, 2].map(|part| all.add(&frame(5, part, b"-"))), [None, None]);
        let next = [0, 1, 2].map(|part| all.add(&frame(6, part, b"+")).map(|of| of.payload));
        assert_eq!(next, [None, None, Some(b"+++".to_vec())]);
        // The plan has no such frame.
        assert_eq!(all.add(&frame(7, 3, b"?")), None);
    }

    #[test]
    fn a_message_of_one_frame_comes_once() {
        let mut all = messages(1);
        assert_eq!(all.add(&frame(0, 0, b"")).map(|of| of.number), Some(0));
        assert_eq!(all.add(&Message { is_duplicate: true, ..frame(0, 0, b"") }), None);
        assert_eq!(all.add(&frame(9, 0, b"late")).map(|of| of.payload), Some(b"late".to_vec()));
    }
}
