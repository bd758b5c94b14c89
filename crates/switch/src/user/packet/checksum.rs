//! Checksums that a sender on this machine left to hardware which is not there.
//!
//! What comes from a real network is complete. What comes through a virtual interface from another network namespace
//! (a container, say) may have its TCP or UDP checksum yet to be made; the kernel marks such frames.

use std::ops::Range;

/// Makes the checksum of TCP or UDP, if that is what the frame carries in one piece.
#[cold]
pub fn finish(frame: &mut [u8]) {
    let Some(segment) = Segment::find(frame) else { return };
    let at = segment.range.start + segment.field;
    frame[at..at + 2].fill(0);
    let sum = match folded(segment.pseudo + sum(&frame[segment.range])) {
        // None at all would be said by zero.
        0 => 0xffff,
        sum => sum,
    };
    frame[at..at + 2].copy_from_slice(&sum.to_be_bytes());
}

/// The same where nobody tells whether it was left to be made: then the sum of the addresses, the protocol and the length
/// stands in its place. A complete one that happens to be the same comes out as it was.
#[inline]
pub fn finish_where_left(frame: &mut [u8]) {
    let Some(segment) = Segment::find(frame) else { return };
    let at = segment.range.start + segment.field;
    // In ones' complement there are two zeros.
    let (left, zeros) = (!folded(segment.pseudo), |sum: u16| if sum == 0 { 0xffff } else { sum });
    if word(frame, at).map(zeros) == Some(zeros(left)) {
        finish(frame);
    }
}

/// Amends a checksum for octets that it covers and that changed, at an even distance from where it begins (RFC 1624).
/// None at all stays none.
pub fn amend(sum: &mut [u8], old: &[u8], new: &[u8]) {
    let Some(made) = word(sum, 0).filter(|made| *made != 0) else { return };
    let sum_of = |octets: &[u8], flip: u16| {
        octets.chunks_exact(2).map(|pair| u64::from(u16::from_be_bytes([pair[0], pair[1]]) ^ flip)).sum::<u64>()
    };
    let amended = match folded(u64::from(!made) + sum_of(old, u16::MAX) + sum_of(new, 0)) {
        0 => 0xffff,
        amended => amended,
    };
    sum[..2].copy_from_slice(&amended.to_be_bytes());
}

/// What a checksum covers.
pub struct Segment {
    /// From the header of TCP or UDP to the end of its data.
    pub range: Range<usize>,
    /// TCP or UDP, by its number.
    pub protocol: u8,
    /// Where the checksum is in there.
    field: usize,
    /// Sum of the addresses, the protocol and the length.
    pseudo: u64,
}

/// The EtherType of a frame behind its tags, and where what it names begins.
pub fn payload(frame: &[u8]) -> Option<(u16, usize)> {
    let mut at = 14;
    while matches!(word(frame, at - 2)?, 0x8100 | 0x88a8) {
        at += 4;
    }
    Some((word(frame, at - 2)?, at))
}

impl Segment {
    /// That of a frame, where it is in one piece.
    pub fn find(frame: &[u8]) -> Option<Self> {
        let (ether_type, network) = payload(frame)?;
        let packet = frame.get(network..)?;
        let (range, protocol, addresses) = match ether_type {
            0x0800 => ip_4(packet)?,
            0x86dd => ip_6(packet)?,
            _ => return None,
        };
        let field = match protocol {
            TCP => 16,
            UDP => 6,
            _ => return None,
        };
        if range.len() < field + 2 || range.end > packet.len() {
            return None;
        }
        let pseudo = sum(addresses) + u64::from(protocol) + range.len() as u64;
        Some(Self { range: network + range.start..network + range.end, protocol, field, pseudo })
    }
}

const TCP: u8 = 6;
const UDP: u8 = 17;

/// Where the contents of a packet are, their protocol, and both addresses.
type Contents<'a> = (Range<usize>, u8, &'a [u8]);

fn ip_4(packet: &[u8]) -> Option<Contents<'_>> {
    let header = usize::from(packet.first()? & 0xf) * 4;
    // A fragment has the checksum of all of them together.
    let whole = word(packet, 6)? & 0x3fff == 0;
    let range = header..usize::from(word(packet, 2)?);
    (whole && header >= 20).then_some((range, *packet.get(9)?, packet.get(12..20)?))
}

fn ip_6(packet: &[u8]) -> Option<Contents<'_>> {
    const HEADER: usize = 40;
    Some((HEADER..HEADER + usize::from(word(packet, 4)?), *packet.get(6)?, packet.get(8..HEADER)?))
}

/// A word of big-endian octets.
pub fn word(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|word| u16::from_be_bytes(*word))
}

/// Sum of 16-bit words, the last of which a zero completes.
fn sum(bytes: &[u8]) -> u64 {
    let words = bytes.chunks_exact(2);
    let last = words.remainder().first().map_or(0, |octet| u64::from(*octet) << 8);
    words.map(|word| u64::from(u16::from_be_bytes([word[0], word[1]]))).sum::<u64>() + last
}

/// The complement of a sum in ones' complement (RFC 1071).
fn folded(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// UDP from 192.0.2.1:4660 to 192.0.2.2:22136, "ontick", with a checksum of nonsense.
    const FRAME: [u8; 48] = [
        2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x08, 0x00, // Ethernet
        0x45, 0, 0, 34, 0, 0, 0x40, 0, 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2, // IPv4
        0x12, 0x34, 0x56, 0x78, 0, 14, 0xde, 0xad, // UDP
        b'o', b'n', b't', b'i', b'c', b'k',
    ];

    #[test]
    fn a_frame_worked_out_by_hand() {
        let mut frame = FRAME;
        finish(&mut frame);
        // c000 + 0201 + c000 + 0202 + 0011 + 000e + 1234 + 5678 + 000e + 6f6e + 7469 + 636b = 3341e; 341e + 3 = 3421
        assert_eq!(frame[40..42], (!0x3421u16).to_be_bytes());
        assert_eq!((&frame[..40], &frame[42..]), (&FRAME[..40], &FRAME[42..]));
    }

    #[test]
    fn a_sum_that_was_left_to_hardware_is_reported_from_one_that_was_made() {
        let mut left = FRAME;
        // c000 + 0201 + c000 + 0202 + 0011 + 000e = 18422: what Linux leaves there.
        left[40..42].copy_from_slice(&0x8423u16.to_be_bytes());
        finish_where_left(&mut left);
        let mut made = FRAME;
        finish(&mut made);
        assert_eq!(left, made);
        finish_where_left(&mut made);
        assert_eq!(left, made);
        // A sum that is wrong otherwise is none of ours.
        let mut wrong = FRAME;
        finish_where_left(&mut wrong);
        assert_eq!(wrong, FRAME);
    }

    #[test]
    fn fragments_and_other_protocols_stay_as_they_are() {
        for (at, octet) in [(20, 0x20), (21, 1), (23, 1), (13, 0x06), (14, 0x44), (17, 200)] {
            let mut frame = FRAME;
            frame[at] = octet;
            let before = frame;
            finish(&mut frame);
            assert_eq!(frame, before);
        }
    }

    proptest! {
        #[test]
        fn a_receiver_finds_the_sum_right(
            six: bool, tcp: bool, tags in 0usize..3, addresses: [u8; 32], data in prop::collection::vec(any::<u8>(), 20..1400),
        ) {
            let mut frame = vec![0; 12];
            (0..tags).for_each(|_| frame.extend([0x81, 0, 0, 1]));
            let protocol = if tcp { TCP } else { UDP };
            let length = data.len() as u16;
            let addresses = if six { &addresses[..] } else { &addresses[..8] };
            if six {
                frame.extend([0x86, 0xdd, 0x60, 0, 0, 0, (length >> 8) as u8, length as u8, protocol, 64]);
            } else {
                let total = length + 20;
                frame.extend([0x08, 0, 0x45, 0, (total >> 8) as u8, total as u8, 0, 0, 0x40, 0, 64, protocol, 0, 0]);
            }
            frame.extend(addresses);
            frame.extend(&data);
            // What a short frame is filled up with does not count.
            frame.extend([0xff; 7]);
            finish(&mut frame);
            let end = frame.len() - 7;
            let sum = sum(addresses) + u64::from(protocol) + u64::from(length) + sum(&frame[end - data.len()..end]);
            prop_assert_eq!(folded(sum), 0);
        }

        #[test]
        fn any_octets_are_survived(mut frame in prop::collection::vec(any::<u8>(), 0..100), kind: Option<bool>) {
            if let (Some(six), Some(to)) = (kind, frame.get_mut(12..14)) {
                to.copy_from_slice(if six { &[0x86, 0xdd] } else { &[0x08, 0] });
            }
            finish(&mut frame);
        }
    }
}
