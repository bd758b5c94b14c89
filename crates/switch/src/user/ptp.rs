//! PTP's event messages, and the time that they were in the switch: an end-to-end transparent clock (IEEE 1588-2019
//! clause 10.2).
//!
//! The message itself is corrected, whether its master takes one step or two (clause 10.2.2): a slave adds the
//! correction of Follow_Up to that of Sync.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

use std::num::NonZeroU16;

use super::packet::checksum;

/// PTP over Ethernet (IEEE 1588-2019 annex E).
const ETHER_TYPE: u16 = 0x88f7;
/// Destination port of event messages over UDP (annexes C and D).
const EVENT_PORT: u16 = 319;
const UDP: u8 = 17;
const UDP_HEADER: usize = 8;
/// The common header of all messages (clause 13.3).
const HEADER: usize = 34;
/// Where in it the correction is.
const CORRECTION: usize = 8;
/// Sync, Delay_Req, Pdelay_Req and Pdelay_Resp, the messages whose arrival is stamped, are the types up to this.
const LAST_EVENT: u8 = 3;
const VERSION: u8 = 2;
/// Of the correction in one nanosecond (clause 13.3.2.9).
const SCALE_BITS: u32 = 16;
/// Says that it is too large to be stated.
const TOO_LARGE: i64 = i64::MAX;

/// Where in a frame an event message begins, and whether UDP carries it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event(NonZeroU16);

impl Event {
    const OVER_UDP: u16 = 1 << 15;

    /// The event message of a frame, if it carries one.
    #[inline]
    pub fn find(frame: &[u8]) -> Option<Self> {
        let (ether_type, payload) = checksum::payload(frame)?;
        let (header, over) = if ether_type == ETHER_TYPE {
            (payload, 0)
        } else {
            let segment = checksum::Segment::find(frame)?;
            let udp = segment.range.start;
            let is_event = segment.protocol == UDP && checksum::word(frame, udp + 2)? == EVENT_PORT;
            (is_event.then_some(udp + UDP_HEADER)?, Self::OVER_UDP)
        };
        let message = frame.get(header..header + HEADER)?;
        let fits = message[0] & 0xf <= LAST_EVENT && message[1] & 0xf == VERSION;
        NonZeroU16::new(header as u16 | over).filter(|_| fits).map(Self)
    }

    /// Adds to the correction of the message in its frame, in ns.
    pub fn correct(self, frame: &mut [u8], by_ns: i64) {
        let header = usize::from(self.0.get() & !Self::OVER_UDP);
        let Some((before, rest)) = frame.split_at_mut_checked(header + CORRECTION) else { return };
        let Some(field) = rest.first_chunk_mut() else { return };
        let (old, correction) = (*field, i64::from_be_bytes(*field));
        if correction == TOO_LARGE {
            return;
        }
        let by = by_ns.checked_mul(1 << SCALE_BITS);
        *field = by.and_then(|by| correction.checked_add(by)).unwrap_or(TOO_LARGE).to_be_bytes();
        if self.0.get() & Self::OVER_UDP != 0 {
            let sum = &mut before[header - 2..header];
            checksum::amend(sum, &old, field);
        }
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, clippy::disallowed_types)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ETHERNET: [u8; 12] = [0x01, 0x1b, 0x19, 0, 0, 0, 2, 0, 0, 0, 0, 1];
    const TAG: [u8; 4] = [0x81, 0, 0xe0, 5];

    /// A Sync with a correction of 1.5 ns.
    fn message(kind: u8) -> Vec<u8> {
        let mut message = vec![kind, 2, 0, 44];
        message.resize(44, 7);
        message[8..16].copy_from_slice(&0x1_8000u64.to_be_bytes());
        message
    }

    fn over_ethernet(kind: u8, tag: &[u8]) -> Vec<u8> {
        [&ETHERNET[..], tag, &[0x88, 0xf7], &message(kind)].concat()
    }

    /// To port 319, or another, with a checksum or without.
    fn over_udp(six: bool, port: u16, summed: bool) -> Vec<u8> {
        let length: u16 = 8 + 44;
        let mut frame = ETHERNET.to_vec();
        if six {
            frame.extend([0x86, 0xdd, 0x60, 0, 0, 0, 0, length as u8, 17, 1]);
            frame.extend([0xfe; 32]);
        } else {
            frame.extend([
                8,
                0,
                0x45,
                0,
                0,
                length as u8 + 20,
                0,
                0,
                0x40,
                0,
                1,
                17,
                0,
                0,
                192,
                0,
                2,
                1,
                224,
                0,
                1,
                129,
            ]);
        }
        frame.extend([1, 63, (port >> 8) as u8, port as u8, 0, length as u8, 0, 0]);
        frame.extend(message(0));
        if summed {
            checksum::finish(&mut frame);
        }
        frame
    }

    fn correction(frame: &[u8], from_end: usize) -> i64 {
        i64::from_be_bytes(*frame[frame.len() - from_end + 8..].first_chunk().unwrap())
    }

    #[test]
    fn event_messages_are_corrected_and_no_others() {
        for tag in [&[][..], &TAG, &[TAG, TAG].concat()] {
            for kind in 0..16u8 {
                let mut frame = over_ethernet(0x10 | kind, tag);
                let found = Event::find(&frame);
                assert_eq!(found.is_some(), kind < 4, "{kind}");
                let Some(event) = found else { continue };
                event.correct(&mut frame, 1_000);
                assert_eq!(correction(&frame, 44), (1_000 << 16) + 0x1_8000);
                event.correct(&mut frame, -1_000);
                assert_eq!(frame, over_ethernet(0x10 | kind, tag));
            }
        }
        assert_eq!(Event::find(&over_udp(false, 320, true)), None, "general messages");
        let mut first = over_ethernet(0, &[]);
        first[15] = 1;
        assert_eq!(Event::find(&first), None, "version 1");
        let short = over_ethernet(0, &[]);
        assert_eq!(Event::find(&short[..14 + HEADER - 1]), None);
    }

    #[test]
    fn what_is_too_large_stays_so() {
        let mut frame = over_ethernet(1, &[]);
        let event = Event::find(&frame).unwrap();
        event.correct(&mut frame, i64::MAX >> 16);
        assert_eq!(correction(&frame, 44), i64::MAX);
        event.correct(&mut frame, -5);
        assert_eq!(correction(&frame, 44), i64::MAX);
    }

    #[test]
    fn no_checksum_stays_none() {
        let mut frame = over_udp(false, 319, false);
        Event::find(&frame).unwrap().correct(&mut frame, 77);
        assert_eq!(frame[40..42], [0, 0]);
        assert_eq!(correction(&frame, 44), (77 << 16) + 0x1_8000);
    }

    proptest! {
        /// As if the sum were made anew over the whole packet.
        #[test]
        fn checksums_are_right_after_it(six: bool, by_ns: i32) {
            let mut frame = over_udp(six, 319, true);
            Event::find(&frame).unwrap().correct(&mut frame, i64::from(by_ns));
            let mut anew = frame.clone();
            checksum::finish(&mut anew);
            prop_assert_eq!(frame, anew);
        }

        #[test]
        fn any_octets_are_survived(mut frame in prop::collection::vec(any::<u8>(), 0..120), kind in 0usize..4, by_ns: i64) {
            let kinds: [&[u8]; 3] = [&[0x88, 0xf7], &[8, 0], &[0x86, 0xdd]];
            if let (Some(kind), Some(to)) = (kinds.get(kind), frame.get_mut(12..14)) {
                to.copy_from_slice(kind);
            }
            if let Some(event) = Event::find(&frame) {
                event.correct(&mut frame, by_ns);
            }
        }
    }
}
