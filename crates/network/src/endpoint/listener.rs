//! Holds what comes to a station against the plan.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

use ontick_switch::user::packet::Stamps;

use super::header::Header;
use super::planned::Incoming;
use crate::arrivals::{Arrivals, Arrived};
use crate::distribution::Distribution;

/// A frame of a stream that came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message<'a> {
    /// The stream's place among the listener's.
    pub stream: usize,
    /// What the frame says of itself.
    pub header: Header,
    /// What its talker gave it to carry.
    pub payload: &'a [u8],
    /// When it came, in ns of TAI.
    pub at_ns: u64,
    /// By whose stamp.
    pub stamps: Stamps,
    /// Of which talker of the stream it is, from 1: one that begins anew is the next.
    pub talker: u64,
    /// A frame of its number came before.
    pub is_duplicate: bool,
}

/// What came besides frames in good order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Strays {
    /// Frames of a talker with another plan, or another network.
    pub other_plan: u64,
    /// Frames of streams that are for others.
    pub other_streams: u64,
    /// Frames with another tag than is planned, or without one.
    pub retagged: u64,
    /// Frames of no talker of this kind, or with numbers that none gives them.
    pub foreign: u64,
    /// Frames planned further from when they came than clocks differ that are kept in time.
    pub other_time: u64,
    /// Frames that came and found no room: lost by this listener, not on their way.
    pub overflowed: u64,
}

/// A frame as it came in.
#[derive(Debug, Clone, Copy)]
pub(super) struct Received<'a> {
    /// Behind its EtherType; of a datagram all.
    pub data: &'a [u8],
    /// Priority code point and VLAN identifier of its tag; nothing where it had none.
    pub tag: Option<(u8, u16)>,
    /// Whether frames of its kind have tags.
    pub is_tagged_kind: bool,
    /// When it came, in ns of TAI.
    pub at_ns: u64,
    /// By whose stamp.
    pub stamps: Stamps,
}

/// The streams that come to a station.
#[derive(Debug)]
pub struct Listener {
    streams: Vec<Incoming>,
    arrivals: Vec<Arrivals>,
    /// From the handing over until the arrival of each frame, by stream.
    delays: Vec<Distribution>,
    /// By the stream's place in the network, its place here.
    places: Vec<Option<u32>>,
    plan: u32,
    strays: Strays,
    /// Frames that come in this stretch of TAI are kept: their stream's place, and when they came.
    keeps_ns: (u64, u64),
    kept: Vec<(usize, u64)>,
}

/// Frames that are kept at most.
const MOST_KEPT: usize = 10_000;
/// Clocks with one time do not differ by as much, even if one of them has TAI and the other one UTC; in ns.
const OTHER_TIME_NS: u64 = 3_600_000_000_000;

impl Listener {
    /// Waits for these streams of a plan: its [`super::fingerprint`].
    pub fn new(streams: Vec<Incoming>, plan: u32) -> Self {
        let most = streams.iter().map(|of| of.expected.stream + 1).max().unwrap_or(0);
        let mut places = vec![None; most];
        streams.iter().enumerate().for_each(|(place, of)| places[of.expected.stream] = Some(place as u32));
        let arrivals = streams.iter().map(|of| Arrivals::new(of.expected)).collect();
        let delays = vec![Distribution::default(); streams.len()];
        let (strays, kept) = (Strays::default(), Vec::new());
        Self { streams, arrivals, delays, places, plan, strays, keeps_ns: (0, 0), kept }
    }

    /// Keeps when each frame comes from `from_ns` of TAI until `until_ns`, to be drawn.
    pub fn keeping(mut self, from_ns: u64, until_ns: u64) -> Self {
        self.keeps_ns = (from_ns, until_ns);
        self
    }

    /// The stream's place and the time of TAI of each frame that was kept.
    pub fn kept(&self) -> &[(usize, u64)] {
        &self.kept
    }

    /// The streams.
    pub fn streams(&self) -> &[Incoming] {
        &self.streams
    }

    /// What came of each.
    pub fn arrivals(&self) -> &[Arrivals] {
        &self.arrivals
    }

    /// From the handing over to the kernel until the arrival, of the frames of each.
    pub fn delays(&self) -> &[Distribution] {
        &self.delays
    }

    /// What else came.
    pub fn strays(&self) -> Strays {
        self.strays
    }

    /// Frames of all streams so far.
    pub fn frames(&self) -> u64 {
        self.arrivals.iter().map(Arrivals::frames).sum()
    }

    /// Frames that found no room.
    pub(super) fn overflowed(&mut self, frames: u64) {
        self.strays.overflowed += frames;
    }

    /// A frame came; what it is, if it is of a stream that is waited for.
    #[inline]
    pub(super) fn came<'a>(&mut self, received: Received<'a>) -> Option<Message<'a>> {
        let Some((header, payload)) = Header::read(received.data) else {
            self.strays.foreign += 1;
            return None;
        };
        if header.plan != self.plan {
            self.strays.other_plan += 1;
            return None;
        }
        let Some(place) = self.places.get(header.stream as usize).copied().flatten() else {
            self.strays.other_streams += 1;
            return None;
        };
        let (place, of) = (place as usize, &self.streams[place as usize]);
        if !is_possible(&header, of.expected.parts) {
            self.strays.foreign += 1;
            return None;
        }
        if header.planned_ns.abs_diff(received.at_ns) > OTHER_TIME_NS {
            self.strays.other_time += 1;
            return None;
        }
        if received.is_tagged_kind && received.tag != Some((of.pcp, of.vlan)) {
            self.strays.retagged += 1;
        }
        self.delays[place].add(received.at_ns.saturating_sub(header.sent_ns));
        let is_new = self.arrivals[place].arrived(Arrived {
            message: header.message,
            part: header.part,
            at_ns: received.at_ns,
            period_ns: header.planned_ns.saturating_sub(of.offset_ns),
        });
        if (self.keeps_ns.0..self.keeps_ns.1).contains(&received.at_ns) && self.kept.len() < MOST_KEPT {
            self.kept.push((place, received.at_ns));
        }
        let Received { at_ns, stamps, .. } = received;
        let talker = self.arrivals[place].talkers();
        Some(Message { stream: place, header, payload, at_ns, stamps, talker, is_duplicate: !is_new })
    }
}

/// Whether there is such a frame of a stream whose messages have so many, and a number after it.
fn is_possible(header: &Header, parts: u64) -> bool {
    u64::from(header.part) < parts && header.message < u64::MAX / parts - 1
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::arrivals::Expected;
    use crate::endpoint::header::HEADER;
    use crate::endpoint::planned::Way;

    fn incoming(stream: usize) -> Incoming {
        let expected = Expected {
            stream,
            listener: 1,
            parts: 1,
            deadline_ns: 500_000,
            planned_ns: Some(300_000),
            window_ns: Some((280_000, 310_000)),
        };
        let way = Way { link: 0, links: 3 };
        Incoming { expected, name: "f".into(), pcp: 5, vlan: 9, offset_ns: 200_000, period_ns: 1_000_000, way }
    }

    fn data(stream: u32, message: u64, plan: u32) -> [u8; 60] {
        let planned_ns = 7_000_200_000 + message * 1_000_000;
        let header = Header { plan, stream, part: 0, payload: 2, message, planned_ns, sent_ns: planned_ns + 1_000 };
        let mut data = [7; 60];
        header.write(data.first_chunk_mut().unwrap());
        data[HEADER..HEADER + 2].copy_from_slice(b"ok");
        data
    }

    fn came(listener: &mut Listener, data: &[u8], tag: Option<(u8, u16)>, at_ns: u64) -> bool {
        let message = listener.came(Received { data, tag, is_tagged_kind: true, at_ns, stamps: Stamps::Software });
        message.inspect(|message| assert_eq!((message.payload, message.at_ns), (&b"ok"[..], at_ns))).is_some()
    }

    #[test]
    fn arrivals_count_from_the_period_that_the_talker_planned() {
        let mut listener = Listener::new(vec![incoming(4)], 77).keeping(7_001_000_000, 7_002_000_000);
        let tag = Some((5, 9));
        assert!(came(&mut listener, &data(4, 0, 77), tag, 7_000_300_000));
        assert!(came(&mut listener, &data(4, 1, 77), tag, 7_001_320_000));
        assert!(came(&mut listener, &data(4, 3, 77), tag, 7_003_600_001));
        let delivered = listener.arrivals()[0].delivered(4);
        assert_eq!((delivered.received, delivered.late, delivered.after_plan, delivered.outside_window), (3, 1, 2, 2));
        assert_eq!((delivered.latency.min_ns, delivered.latency.max_ns), (Some(300_000), Some(600_001)));
        assert_eq!((listener.arrivals()[0].span(), listener.frames()), (4, 3));
        assert_eq!(listener.delays()[0].histogram().min_ns, Some(99_000));
        assert_eq!((listener.strays(), listener.kept()), (Strays::default(), &[(0, 7_001_320_000)][..]));
    }

    #[test]
    fn what_is_not_as_planned_is_told_apart() {
        let mut listener = Listener::new(vec![incoming(4)], 77);
        assert!(!came(&mut listener, &data(4, 0, 78), Some((5, 9)), 0));
        assert!(
            !came(&mut listener, &data(5, 0, 77), Some((5, 9)), 0) && !came(&mut listener, &data(0, 0, 77), None, 0)
        );
        assert!(!came(&mut listener, &[0; 60], None, 0) && !came(&mut listener, &data(4, 0, 77)[..HEADER], None, 0));
        // They count all the same: it is the tag that is wrong.
        assert!(came(&mut listener, &data(4, 0, 77), Some((5, 8)), 8_000_000_000));
        assert!(came(&mut listener, &data(4, 1, 77), None, 8_000_000_000));
        listener.overflowed(3);
        let strays = Strays { other_plan: 1, other_streams: 2, retagged: 2, foreign: 2, overflowed: 3, other_time: 0 };
        assert_eq!((listener.strays(), listener.frames()), (strays, 2));
    }

    #[test]
    fn numbers_that_no_talker_gives_are_of_no_talker() {
        let mut listener = Listener::new(vec![incoming(4)], 77);
        let mut came = |part: u16, message: u64, planned_ns: u64| {
            let header = Header { plan: 77, stream: 4, part, payload: 0, message, planned_ns, sent_ns: 0 };
            let mut data = [0; HEADER];
            header.write(&mut data);
            let (tag, stamps) = (Some((5, 9)), Stamps::Software);
            let received = Received { data: &data, tag, is_tagged_kind: true, at_ns: 7_000_300_000, stamps };
            listener.came(received).is_some_and(|message| !message.is_duplicate)
        };
        assert!(!came(1, 0, 7_000_200_000) && !came(u16::MAX, 0, 7_000_200_000));
        assert!(![u64::MAX, u64::MAX - 1].iter().any(|message| came(0, *message, 7_000_200_000)));
        assert!(![u64::MAX, 7_000_300_001 + OTHER_TIME_NS].iter().any(|planned_ns| came(0, 0, *planned_ns)));
        assert!(came(0, 0, 7_000_200_000));
        // One that could be is got over by the next one that is.
        assert!(came(0, 1 << 60, 7_000_200_001) && came(0, 1, 7_001_200_000) && came(0, 2, 7_002_200_000));
        let strays = Strays { foreign: 4, other_time: 2, ..Strays::default() };
        assert_eq!((listener.strays(), listener.frames()), (strays, 4));
    }

    proptest! {
        #[test]
        fn nothing_that_a_header_says_breaks_a_listener(
            frames in prop::collection::vec((any::<u16>(), any::<u64>(), any::<u64>(), any::<u64>(), any::<bool>()), 1..100),
        ) {
            let mut several = incoming(4);
            several.expected.parts = 3;
            let mut listener = Listener::new(vec![several], 77);
            for (n, (part, message, planned_ns, at_ns, is_real)) in frames.into_iter().enumerate() {
                let planned_ns = if is_real { at_ns } else { planned_ns };
                let (part, message) = if is_real { (part % 3, message >> (n % 64)) } else { (part, message) };
                let header = Header { plan: 77, stream: 4, part, payload: 0, message, planned_ns, sent_ns: planned_ns };
                let mut data = [0; HEADER];
                header.write(&mut data);
                let stamps = Stamps::Software;
                listener.came(Received { data: &data, tag: None, is_tagged_kind: false, at_ns, stamps });
            }
            let of = &listener.arrivals()[0];
            prop_assert!(of.messages() <= of.frames() && of.frames() <= of.span());
        }
    }
}
