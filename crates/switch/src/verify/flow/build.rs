//! Frames, octet by octet.

use std::net::Ipv4Addr;

use super::Mark;
use ontick_tsn::frame::{Header, Ip};

const UDP: u8 = 17;
const TCP: u8 = 6;
const FROM_IP: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);
/// Addresses for documentation (RFC 3849).
const FROM_IP6: [u8; 16] = [0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
const TO_IP6: [u8; 16] = [0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2];

/// A frame without a mark.
pub struct Built {
    pub octets: Vec<u8>,
    pub mark_at: usize,
    /// Where the checksum over the mark is, and its sum so far.
    pub checksum: Option<(usize, u32)>,
}

/// A frame with this header, of at least so many octets.
pub fn frame(header: &Header, octets: usize, id: u16) -> Built {
    let mut frame: Vec<u8> = [header.to, header.from].concat();
    if let Some(tag) = header.tag {
        frame.extend([0x81, 0x00]);
        frame.extend((u16::from(tag.pcp) << 13 | tag.vlan).to_be_bytes());
    }
    frame.extend(header.ether_type.to_be_bytes());
    let ip_at = frame.len();
    let (network, transport) = header.ip.map_or((0, 0), |ip| lengths(&ip));
    let mark_at = ip_at + network + transport;
    frame.resize(octets.max(mark_at + Mark::OCTETS), 0);
    // Nothing that would be joined or compressed away.
    for (i, octet) in frame[mark_at + Mark::OCTETS..].iter_mut().enumerate() {
        *octet = i as u8;
    }
    let checksum = header.ip.and_then(|ip| {
        let pseudo = network_header(&mut frame[ip_at..], &ip, id);
        transport_header(&mut frame, ip_at + network, &ip, pseudo)
    });
    Built { octets: frame, mark_at, checksum }
}

fn lengths(ip: &Ip) -> (usize, usize) {
    let transport = match (ip.protocol, ip.ports) {
        (UDP, Some(_)) => 8,
        (TCP, Some(_)) => 20,
        _ => 0,
    };
    (if ip.to.is_some() { 20 } else { 40 }, transport)
}

/// Writes the IP header (RFC 791 section 3.1, RFC 8200 section 3) and gives the sum of the pseudo header.
fn network_header(packet: &mut [u8], ip: &Ip, id: u16) -> u32 {
    let octets = packet.len() as u16;
    if let Some(to) = ip.to {
        packet[..2].copy_from_slice(&[0x45, ip.dscp << 2]);
        packet[2..4].copy_from_slice(&octets.to_be_bytes());
        packet[4..6].copy_from_slice(&id.to_be_bytes());
        // Not to be cut into pieces; may be forwarded 64 times.
        packet[6..10].copy_from_slice(&[0x40, 0, 64, ip.protocol]);
        packet[12..16].copy_from_slice(&FROM_IP.octets());
        packet[16..20].copy_from_slice(&to.octets());
        let checksum = finished(sum(0, &packet[..20]));
        packet[10..12].copy_from_slice(&checksum);
        return sum(u32::from(ip.protocol) + u32::from(octets - 20), &packet[12..20]);
    }
    packet[..2].copy_from_slice(&(0x6000 | u16::from(ip.dscp) << 6).to_be_bytes());
    packet[4..6].copy_from_slice(&(octets - 40).to_be_bytes());
    packet[6..8].copy_from_slice(&[ip.protocol, 64]);
    packet[8..24].copy_from_slice(&FROM_IP6);
    packet[24..40].copy_from_slice(&TO_IP6);
    sum(u32::from(ip.protocol) + u32::from(octets - 40), &packet[8..40])
}

/// Writes the UDP or TCP header (RFC 768, RFC 9293) and gives its checksum's place and sum.
fn transport_header(frame: &mut [u8], at: usize, ip: &Ip, pseudo: u32) -> Option<(usize, u32)> {
    let (from, to) = ip.ports?;
    let octets = (frame.len() - at) as u16;
    let segment = &mut frame[at..];
    segment[..2].copy_from_slice(&from.to_be_bytes());
    segment[2..4].copy_from_slice(&to.to_be_bytes());
    let checksum_at = match ip.protocol {
        UDP => {
            segment[4..6].copy_from_slice(&octets.to_be_bytes());
            6
        }
        TCP => {
            // Five words of header; an acknowledgement; a window.
            segment[12..16].copy_from_slice(&[0x50, 0x10, 0x10, 0x00]);
            16
        }
        _ => return None,
    };
    Some((at + checksum_at, sum(pseudo, segment)))
}

/// Adds up 16-bit words (RFC 1071).
#[inline]
pub fn sum(start: u32, octets: &[u8]) -> u32 {
    let words = octets.chunks(2).map(|word| u32::from(word[0]) << 8 | u32::from(*word.get(1).unwrap_or(&0)));
    let sum = words.fold(start, |sum, word| sum + word);
    // Folded, so that what is added later never runs over.
    (sum & 0xffff) + (sum >> 16)
}

/// The checksum of a sum. A UDP checksum of 0 would say that there is none; all ones mean the same.
#[inline]
pub fn finished(sum: u32) -> [u8; 2] {
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = (sum & 0xffff) + (sum >> 16);
    match !(sum as u16) {
        0 => [0xff, 0xff],
        checksum => checksum.to_be_bytes(),
    }
}
