//! A simulated stream's frames: addressed and tagged as planned, numbered, and stamped by their talker.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

use ontick_tsn::wire;

/// Octets that tell all of a frame; the rest of it is filling.
pub const HEAD: usize = 40;
/// EtherType for local experiments (IEEE 802 clause 9.2.4, "Local Experimental EtherType 2").
pub const ETHER_TYPE: u16 = 0x88b6;
const SIGN: [u8; 4] = *b"otnf";
/// The number of frames that are of no stream.
pub const BEST_EFFORT: u32 = u32::MAX;

/// What a frame says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Numbered {
    /// Its stream, or [`BEST_EFFORT`].
    pub stream: u32,
    /// Which message, from 0.
    pub message: u32,
    /// Which frame of the message, from 0.
    pub part: u16,
    /// The planned time that its message is for, on the talker's clock, in ns; of best effort, when it is sent.
    pub stamp_ns: u64,
}

/// Where a frame goes, and how it is tagged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address {
    /// Destination.
    pub to: [u8; 6],
    /// Source.
    pub from: [u8; 6],
    /// Priority code point.
    pub pcp: u8,
    /// VLAN identifier; 0 is a tag for its priority alone.
    pub vlan: u16,
}

/// Octets in front of a frame's data: both addresses, the tag, and the EtherType.
pub const ETHERNET: usize = (wire::HEADER + wire::TAG) as usize;

/// What is in front of a frame's data.
pub fn ethernet(address: Address) -> [u8; ETHERNET] {
    let mut head = [0; ETHERNET];
    head[..6].copy_from_slice(&address.to);
    head[6..12].copy_from_slice(&address.from);
    head[12..14].copy_from_slice(&[0x81, 0]);
    head[14..16].copy_from_slice(&(u16::from(address.pcp) << 13 | address.vlan & 0xfff).to_be_bytes());
    head[16..].copy_from_slice(&ETHER_TYPE.to_be_bytes());
    head
}

/// The beginning of a frame.
pub fn write(address: Address, frame: Numbered) -> [u8; HEAD] {
    let mut head = [0; HEAD];
    head[..ETHERNET].copy_from_slice(&ethernet(address));
    head[18..22].copy_from_slice(&SIGN);
    head[22..26].copy_from_slice(&frame.stream.to_be_bytes());
    head[26..30].copy_from_slice(&frame.message.to_be_bytes());
    head[30..32].copy_from_slice(&frame.part.to_be_bytes());
    head[32..40].copy_from_slice(&frame.stamp_ns.to_be_bytes());
    head
}

/// What a frame says of itself, if it is one of these.
#[inline]
pub fn read(head: &[u8]) -> Option<Numbered> {
    let body = head.get(16..)?.strip_prefix(&ETHER_TYPE.to_be_bytes())?.strip_prefix(&SIGN)?;
    let (stream, body) = body.split_first_chunk()?;
    let (message, body) = body.split_first_chunk()?;
    let (part, body) = body.split_first_chunk()?;
    Some(Numbered {
        stream: u32::from_be_bytes(*stream),
        message: u32::from_be_bytes(*message),
        part: u16::from_be_bytes(*part),
        stamp_ns: u64::from_be_bytes(*body.first_chunk()?),
    })
}

/// How long one frame of a message of `size` octets is, from its first address to its last octet of data.
pub fn octets(size: u32, part: u32) -> u16 {
    let rest = size.saturating_sub(part * wire::LARGEST_SDU).min(wire::LARGEST_SDU);
    (rest + wire::HEADER + wire::TAG).max(wire::SHORTEST) as u16
}

/// The source address of a station, by its number.
pub fn station(node: usize) -> [u8; 6] {
    let [a, b, c, d] = (node as u32 + 1).to_be_bytes();
    [0x06, 0x4f, a, b, c, d]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_tells_what_was_written_into_it() {
        let address = Address { to: [3, 0, 0, 0, 0, 1], from: station(7), pcp: 6, vlan: 0xabc };
        let frame = Numbered { stream: 70_000, message: 1 << 20, part: 999, stamp_ns: u64::MAX - 5 };
        let head = write(address, frame);
        assert_eq!(read(&head), Some(frame));
        let read_back = ontick_tsn::frame::Header::read(&head).unwrap();
        assert_eq!((read_back.to, read_back.from, read_back.ether_type), (address.to, address.from, ETHER_TYPE));
        assert_eq!(read_back.tag.map(|tag| (tag.pcp, tag.vlan)), Some((6, 0xabc)));
        assert_eq!(read(&head[..39]), None);
        let mut other = head;
        other[18] ^= 1;
        assert_eq!(read(&other), None);
    }

    #[test]
    fn frames_are_as_long_as_the_planner_reckons() {
        assert_eq!([octets(10, 0), octets(42, 0), octets(43, 0), octets(1_500, 0)], [60, 60, 61, 1_518]);
        assert_eq!([octets(3_100, 0), octets(3_100, 1), octets(3_100, 2)], [1_518, 1_518, 118]);
    }
}
