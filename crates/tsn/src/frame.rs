//! What a frame says of itself: the parts that rules can ask for.
//!
//! Nothing is copied and nothing is believed: whatever is cut off or does not fit is as if it were not there.

use std::net::Ipv4Addr;

use crate::wire::{self, HEADER, TAG};

/// EtherTypes of VLAN tags: customer (0x8100) and service (0x88a8), IEEE 802.1Q clause 9.5.
const TAGS: [u16; 2] = [0x8100, 0x88a8];
/// EtherType of the redundancy tag (IEEE 802.1CB-2017 clause 7.8).
pub const R_TAG: u16 = 0xf1c1;
/// Octets of both addresses.
const ADDRESSES: usize = 12;
const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const TCP: u8 = 6;
const UDP: u8 = 17;
/// Extension headers of IPv6 that are passed over at most.
const EXTENSIONS: usize = 8;

/// The header of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Destination address.
    pub to: [u8; 6],
    /// Source address.
    pub from: [u8; 6],
    /// The outermost VLAN tag.
    pub tag: Option<Tag>,
    /// Number in the redundancy tag behind the VLAN tags.
    pub sequence: Option<u16>,
    /// EtherType behind all tags.
    pub ether_type: u16,
    /// What IP says, where it is IP.
    pub ip: Option<Ip>,
}

/// A VLAN tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tag {
    /// Priority code point, 0 to 7.
    pub pcp: u8,
    /// VLAN identifier, 0 to 4095.
    pub vlan: u16,
}

/// An IP header, of either version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ip {
    /// Differentiated services code point.
    pub dscp: u8,
    /// Protocol that it carries.
    pub protocol: u8,
    /// Destination, of IPv4.
    pub to: Option<Ipv4Addr>,
    /// Source and destination port of UDP or TCP; absent on later fragments, which do not carry them.
    pub ports: Option<(u16, u16)>,
}

impl Header {
    /// Reads the header of a frame that begins with its destination address; nothing if it is too short to be one.
    #[inline]
    pub fn read(frame: &[u8]) -> Option<Self> {
        let (to, from) = (array(frame, 0)?, array(frame, 6)?);
        let mut ether_type = u16_at(frame, 12)?;
        let mut at = HEADER as usize;
        let mut tag = None;
        for _ in 0..2 {
            if !TAGS.contains(&ether_type) {
                break;
            }
            let tci = u16_at(frame, at)?;
            tag = tag.or(Some(Tag { pcp: (tci >> 13) as u8, vlan: tci & 0xfff }));
            ether_type = u16_at(frame, at + 2)?;
            at += TAG as usize;
        }
        let mut sequence = None;
        if ether_type == R_TAG {
            sequence = Some(u16_at(frame, at + 2)?);
            ether_type = u16_at(frame, at + 4)?;
            at += wire::R_TAG as usize;
        }
        let rest = frame.get(at..).unwrap_or_default();
        let ip = match ether_type {
            IPV4 => ipv4(rest),
            IPV6 => ipv6(rest),
            _ => None,
        };
        Some(Self { to, from, tag, sequence, ether_type, ip })
    }

    /// Octets of the service data unit in a frame of this length: what follows addresses, tags and EtherType.
    #[inline]
    pub fn sdu(&self, octets: usize) -> u32 {
        let tag = if self.tag.is_some() { TAG } else { 0 };
        let redundancy = if self.sequence.is_some() { wire::R_TAG } else { 0 };
        (octets as u32).saturating_sub(HEADER + tag + redundancy)
    }

    /// Whether it is for one of the addresses that no bridge forwards (IEEE 802.1Q clause 8.6.3): spanning tree, flow
    /// control, LLDP, PTP's peer delay.
    #[inline]
    pub fn is_reserved(&self) -> bool {
        self.reserved().is_some()
    }

    /// Which of these addresses it is for: their last digit.
    #[inline]
    pub fn reserved(&self) -> Option<u8> {
        (self.to[..5] == [0x01, 0x80, 0xc2, 0x00, 0x00] && self.to[5] < 0x10).then_some(self.to[5])
    }
}

/// Where the addresses and VLAN tags of a frame end, and a redundancy tag has its place.
#[inline]
pub fn behind_vlan_tags(frame: &[u8]) -> usize {
    let is_tag = |at: usize| u16_at(frame, at).is_some_and(|ether_type| TAGS.contains(&ether_type));
    let places = (ADDRESSES..).step_by(TAG as usize).take(2);
    ADDRESSES + places.take_while(|at| is_tag(*at)).count() * TAG as usize
}

/// RFC 791 section 3.1.
#[inline]
fn ipv4(packet: &[u8]) -> Option<Ip> {
    let first = *packet.first()?;
    let length = usize::from(first & 0xf) * 4;
    if first >> 4 != 4 || length < 20 {
        return None;
    }
    let (service, protocol) = (*packet.get(1)?, *packet.get(9)?);
    let to = Ipv4Addr::from(array::<4>(packet, 16)?);
    let fragment = u16_at(packet, 6)? & 0x1fff;
    let ports = if fragment == 0 { ports(protocol, packet.get(length..)) } else { None };
    Some(Ip { dscp: service >> 2, protocol, to: Some(to), ports })
}

/// RFC 8200 sections 3 and 4.
#[inline]
fn ipv6(packet: &[u8]) -> Option<Ip> {
    const HOP_BY_HOP: u8 = 0;
    const ROUTING: u8 = 43;
    const FRAGMENT: u8 = 44;
    const DESTINATION: u8 = 60;
    let first = u16_at(packet, 0)?;
    if first >> 12 != 6 || packet.len() < 40 {
        return None;
    }
    let dscp = ((first >> 6) & 0x3f) as u8;
    let (mut protocol, mut at, mut whole) = (packet[6], 40, true);
    for _ in 0..EXTENSIONS {
        let (next, length) = match (protocol, packet.get(at), packet.get(at + 1)) {
            (HOP_BY_HOP | ROUTING | DESTINATION, Some(next), Some(eights)) => (*next, 8 + usize::from(*eights) * 8),
            (FRAGMENT, Some(next), Some(_)) => {
                whole &= u16_at(packet, at + 2).is_some_and(|offset| offset >> 3 == 0);
                (*next, 8)
            }
            _ => break,
        };
        (protocol, at) = (next, at + length);
    }
    let ports = if whole { ports(protocol, packet.get(at..)) } else { None };
    Some(Ip { dscp, protocol, to: None, ports })
}

#[inline]
fn ports(protocol: u8, segment: Option<&[u8]>) -> Option<(u16, u16)> {
    match protocol {
        TCP | UDP => Some((u16_at(segment?, 0)?, u16_at(segment?, 2)?)),
        _ => None,
    }
}

#[inline]
fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    array(bytes, at).map(u16::from_be_bytes)
}

#[inline]
fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TO: [u8; 6] = [2, 0, 0, 0, 0, 1];
    const FROM: [u8; 6] = [2, 0, 0, 0, 0, 2];

    fn frame(parts: &[&[u8]]) -> Vec<u8> {
        [&TO[..], &FROM[..]].iter().chain(parts).flat_map(|part| part.iter().copied()).collect()
    }

    /// IPv4 with DSCP 46, two words of options, UDP from 1000 to 6666.
    const UDP_4: &[u8] = &[
        0x47,
        46 << 2,
        0,
        36,
        0,
        0,
        0,
        0,
        64,
        UDP,
        0,
        0,
        10,
        0,
        0,
        1,
        10,
        0,
        0,
        2,
        1,
        1,
        1,
        1,
        1,
        1,
        1,
        1,
        0x03,
        0xe8,
        0x1a,
        0x0a,
        0,
        8,
        0,
        0,
    ];

    #[test]
    fn an_untagged_udp_frame() {
        let header = Header::read(&frame(&[&[0x08, 0x00], UDP_4])).unwrap();
        let ip = Ip { dscp: 46, protocol: UDP, to: Some(Ipv4Addr::new(10, 0, 0, 2)), ports: Some((1000, 6666)) };
        assert_eq!(header, Header { to: TO, from: FROM, tag: None, sequence: None, ether_type: IPV4, ip: Some(ip) });
        assert_eq!(header.sdu(1514), 1500);
    }

    #[test]
    fn tags_are_looked_through_and_the_outer_one_counts() {
        let tagged = Header::read(&frame(&[&[0x81, 0x00, 0xc0, 0x64, 0x08, 0x00], UDP_4])).unwrap();
        assert_eq!(tagged.tag, Some(Tag { pcp: 6, vlan: 100 }));
        assert_eq!(tagged.ip.unwrap().ports, Some((1000, 6666)));
        assert_eq!(tagged.sdu(1518), 1500);
        let twice =
            Header::read(&frame(&[&[0x88, 0xa8, 0x20, 0x01, 0x81, 0x00, 0xe0, 0x02, 0x08, 0x00], UDP_4])).unwrap();
        assert_eq!(twice.tag, Some(Tag { pcp: 1, vlan: 1 }));
        assert_eq!(twice.ip.unwrap().dscp, 46);
    }

    #[test]
    fn a_redundancy_tag_is_looked_through() {
        let numbered: &[u8] = &[0xf1, 0xc1, 0, 0, 0x12, 0x34, 0x08, 0x00];
        let tagged = frame(&[&[0x81, 0x00, 0xc0, 0x64], numbered, UDP_4]);
        let header = Header::read(&tagged).unwrap();
        assert_eq!((header.sequence, header.ether_type, header.sdu(1524)), (Some(0x1234), IPV4, 1500));
        assert_eq!(header.ip.unwrap().ports, Some((1000, 6666)));
        assert_eq!(behind_vlan_tags(&tagged), 16);
        let plain = frame(&[numbered, UDP_4]);
        assert_eq!((Header::read(&plain).unwrap().sequence, behind_vlan_tags(&plain)), (Some(0x1234), 12));
        assert_eq!(behind_vlan_tags(&frame(&[&[0x88, 0xa8, 0, 1, 0x81, 0, 0, 1, 0x08, 0]])), 20);
        // One that is cut off is no frame.
        assert!(Header::read(&plain[..19]).is_none() && Header::read(&plain[..20]).is_some());
    }

    #[test]
    fn ipv6_with_extensions() {
        let mut packet = vec![0x6b, 0x80, 0, 0, 0, 16, 0, 64];
        packet.extend([0; 32]);
        packet.extend([UDP, 0, 1, 4, 0, 0, 0, 0, 0x03, 0xe8, 0x1a, 0x0a, 0, 8, 0, 0]);
        let header = Header::read(&frame(&[&[0x86, 0xdd], &packet])).unwrap();
        assert_eq!(header.ip, Some(Ip { dscp: 46, protocol: UDP, to: None, ports: Some((1000, 6666)) }));
    }

    #[test]
    fn a_later_fragment_has_no_ports() {
        let mut packet = UDP_4.to_vec();
        packet[7] = 1;
        let header = Header::read(&frame(&[&[0x08, 0x00], &packet])).unwrap();
        assert_eq!(header.ip.unwrap().ports, None);
    }

    #[test]
    fn reserved_addresses() {
        let mut bytes = frame(&[&[0x88, 0xcc]]);
        bytes[..6].copy_from_slice(&[0x01, 0x80, 0xc2, 0, 0, 0x0e]);
        assert!(Header::read(&bytes).unwrap().is_reserved());
        bytes[5] = 0x10;
        assert!(!Header::read(&bytes).unwrap().is_reserved());
    }

    proptest! {
        #[test]
        fn cut_anywhere_it_says_less_and_nothing_else(cut in 0usize..54) {
            let whole = frame(&[&[0x81, 0x00, 0xc0, 0x64, 0x08, 0x00], UDP_4]);
            let (all, part) = (Header::read(&whole).unwrap(), Header::read(&whole[..cut]));
            prop_assert_eq!(part.is_none(), cut < 18);
            if let Some(part) = part {
                prop_assert_eq!((part.to, part.from, part.tag, part.ether_type), (all.to, all.from, all.tag, all.ether_type));
                if let Some(ip) = part.ip {
                    prop_assert!(ip.ports.is_none() || part == all);
                }
            }
        }

        #[test]
        fn anything_is_read(bytes in prop::collection::vec(any::<u8>(), 0..120), kind in 0usize..4) {
            let mut bytes = bytes;
            if let Some(place) = bytes.get_mut(12..14) {
                place.copy_from_slice([&[0x08, 0x00], &[0x86, 0xdd], &[0x81, 0x00], &[0x88, 0xa8]][kind]);
            }
            prop_assert_eq!(Header::read(&bytes).is_some(), bytes.len() >= 14 && (kind < 2 || bytes.len() >= 18)
                && !(kind >= 2 && TAGS.contains(&u16_at(&bytes, 16).unwrap()) && bytes.len() < 22));
        }
    }
}
