//! Whole messages of the frames that come.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

use std::collections::VecDeque;

use super::listener::Message;
use super::planned::Incoming;
use crate::arrivals::OPEN;

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

/// Puts the frames of each stream together again. Frames of a few messages may come among each other; one of which a frame
/// is missing until then is none.
#[derive(Debug)]
pub struct Messages {
    streams: Vec<Stream>,
}

/// The messages that frames came of last, the newest at the end.
#[derive(Debug)]
struct Stream {
    parts: usize,
    open: VecDeque<Open>,
}

/// A message of which frames came. One with its number and another time is another talker's.
#[derive(Debug)]
struct Open {
    number: u64,
    planned_ns: u64,
    parts: Vec<Option<Vec<u8>>>,
}

impl Messages {
    /// Of these streams.
    pub fn new(streams: &[Incoming]) -> Self {
        let stream = |of: &Incoming| Stream { parts: of.expected.parts as usize, open: VecDeque::with_capacity(OPEN) };
        Self { streams: streams.iter().map(stream).collect() }
    }

    /// A frame came; the message that it was the last one of.
    pub fn add(&mut self, frame: &Message<'_>) -> Option<WholeMessage> {
        let (of, header) = (&mut self.streams[frame.stream], &frame.header);
        let part = usize::from(header.part);
        if frame.is_duplicate || part >= of.parts {
            return None;
        }
        let place = of.place(header.message, header.planned_ns);
        let parts = &mut of.open[place].parts;
        parts[part] = Some(frame.payload.to_vec());
        if parts.iter().any(Option::is_none) {
            return None;
        }
        let payload = of.open.remove(place)?.parts.into_iter().flatten().flatten().collect();
        Some(WholeMessage {
            stream: frame.stream,
            number: header.message,
            planned_ns: header.planned_ns,
            arrived_ns: frame.at_ns,
            payload,
        })
    }
}

impl Stream {
    /// Where the parts of a message are, for which the one that began first makes room.
    fn place(&mut self, number: u64, planned_ns: u64) -> usize {
        let is_its = |of: &Open| (of.number, of.planned_ns) == (number, planned_ns);
        self.open.iter().position(is_its).unwrap_or_else(|| {
            if self.open.len() == OPEN {
                self.open.pop_front();
            }
            self.open.push_back(Open { number, planned_ns, parts: vec![None; self.parts] });
            self.open.len() - 1
        })
    }
}

#[cfg(test)]
mod tests {
    use ontick_switch::user::packet::Stamps;

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
        let (at_ns, stamps) = (message * 10 + u64::from(part), Stamps::Software);
        Message { stream: 0, header, payload, at_ns, stamps, talker: 1, is_duplicate: false }
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
    fn messages_whose_frames_come_among_each_other_are_whole() {
        let mut all = messages(2);
        let frames = [(0, 0), (0, 1), (1, 0), (2, 0), (1, 1), (2, 1), (3, 0), (3, 1)];
        let whole = frames.iter().filter_map(|(message, part)| all.add(&frame(*message, *part, b"")));
        assert_eq!(whole.map(|of| of.number).collect::<Vec<_>>(), [0, 1, 2, 3]);
        // One of which a frame never comes makes room for others, and a talker that began anew has others of its number.
        (4..9).for_each(|message| assert_eq!(all.add(&frame(message, 0, b"")), None));
        assert_eq!(all.add(&frame(4, 1, b"")), None);
        let mut anew = frame(8, 1, b"");
        anew.header.planned_ns += 1;
        assert_eq!(all.add(&anew), None);
        assert_eq!(all.add(&frame(8, 1, b"")).map(|of| of.number), Some(8));
    }

    #[test]
    fn a_message_of_one_frame_comes_once() {
        let mut all = messages(1);
        assert_eq!(all.add(&frame(0, 0, b"")).map(|of| of.number), Some(0));
        assert_eq!(all.add(&Message { is_duplicate: true, ..frame(0, 0, b"") }), None);
        assert_eq!(all.add(&frame(9, 0, b"late")).map(|of| of.payload), Some(b"late".to_vec()));
    }
}
