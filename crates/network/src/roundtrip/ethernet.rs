//! Messages as Ethernet frames, by an interface.

use std::fmt;
use std::io;
use std::time::Duration;

use ontick_switch::user::open::OpenError;
use ontick_switch::user::packet::{Frame, PacketReader, PacketSender, Stamps};
use ontick_switch::user::port::Sent;
use ontick_tsn::config::show_mac;
use ontick_tsn::wire;

use super::message::{Message, OCTETS};
use super::port::{Arrival, Port};
use crate::frame::ETHER_TYPE;

/// Frames that the ring holds.
const RING: u32 = 1024;
/// Frames of others that are passed over in one call.
const AT_ONCE: u32 = 64;
const ADDRESSES: usize = 12;
/// Octets of the largest frame: 1500 of data, with a tag.
const LARGEST: usize = 1_518;

/// A VLAN tag's two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tag {
    /// Priority code point, 0 to 7.
    pub pcp: u8,
    /// VLAN identifier; 0 is a tag for its priority alone.
    pub vlan: u16,
}

/// A station, and how frames to it are tagged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Station {
    /// Its address.
    pub address: [u8; 6],
    /// The tag, if frames have one.
    pub tag: Option<Tag>,
}

impl fmt::Display for Station {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&show_mac(self.address))
    }
}

/// Why an interface cannot be used for this.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EthernetError {
    /// It cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// Nobody answers for a group.
    #[error("{0} is the address of a group of stations: name the responder's own")]
    Group(Station),
    /// A frame to oneself does not leave.
    #[error("{0} is the address of {1} itself: name the interface of the responder")]
    Own(Station, String),
    /// It takes no frames as long as that.
    #[error(
        "frames of {size} octets are longer than {interface} takes: its MTU of {mtu} leaves {} octets (ip link set {interface} \
         mtu N changes it)",
        .mtu + .head
    )]
    Size {
        /// Octets of the frames.
        size: usize,
        /// The interface.
        interface: String,
        /// Octets of data that it takes.
        mtu: usize,
        /// Octets before the data.
        head: usize,
    },
    /// It does not say how long frames may be.
    #[error("{0} does not say how long its frames may be: {1}")]
    Mtu(String, io::Error),
}

/// An interface that sends and receives messages.
#[derive(Debug)]
pub struct EthernetPort {
    sender: PacketSender,
    reader: PacketReader,
    /// What is sent.
    frame: Box<[u8; LARGEST]>,
}

impl EthernetPort {
    /// Opens an interface of the calling thread's network namespace.
    pub fn open(interface: &str) -> Result<Self, EthernetError> {
        let sender = PacketSender::open(interface)?;
        sender.stamp_sent()?;
        let reader = PacketReader::open(interface, RING, Stamps::Software)?;
        Ok(Self { sender, reader, frame: Box::new([0; LARGEST]) })
    }

    /// The interface's own address.
    pub fn address(&self) -> [u8; 6] {
        self.sender.address()
    }

    /// Refuses what cannot be a responder.
    pub fn check(&self, to: Station) -> Result<(), EthernetError> {
        match to.address {
            [first, ..] if first & 1 == 1 => Err(EthernetError::Group(to)),
            own if own == self.address() => Err(EthernetError::Own(to, self.reader.interface().to_owned())),
            _ => Ok(()),
        }
    }

    /// Refuses frames that are longer than the interface takes.
    pub fn check_size(&self, to: Station, size: usize) -> Result<(), EthernetError> {
        let interface = || self.reader.interface().to_owned();
        let mtu = self.sender.mtu().map_err(|error| EthernetError::Mtu(interface(), error))? as usize;
        let head = (wire::HEADER + if to.tag.is_some() { wire::TAG } else { 0 }) as usize;
        match size > mtu + head {
            true => Err(EthernetError::Size { size, interface: interface(), mtu, head }),
            false => Ok(()),
        }
    }
}

/// Writes a message as a frame; how many octets it has.
fn frame(octets: &mut [u8; LARGEST], to: Station, from: [u8; 6], message: &[u8; OCTETS], size: usize) -> usize {
    octets[..6].copy_from_slice(&to.address);
    octets[6..ADDRESSES].copy_from_slice(&from);
    let mut at = ADDRESSES;
    if let Some(Tag { pcp, vlan }) = to.tag {
        octets[at..at + 2].copy_from_slice(&[0x81, 0]);
        octets[at + 2..at + 4].copy_from_slice(&(u16::from(pcp) << 13 | vlan & 0xfff).to_be_bytes());
        at += wire::TAG as usize;
    }
    octets[at..at + 2].copy_from_slice(&ETHER_TYPE.to_be_bytes());
    let end = at + 2 + OCTETS;
    octets[at + 2..end].copy_from_slice(message);
    // An earlier one may have had a tag.
    octets[end..end + wire::TAG as usize].fill(0);
    // A tag makes the shortest frame no longer (IEEE 802.3 clause 3.2.7 counts it as data).
    size.clamp(wire::SHORTEST as usize, LARGEST)
}

/// What a frame is, if it is a message.
#[inline]
fn arrival(frame: &Frame<'_>) -> Option<Arrival<Station>> {
    let (head, data) = frame.bytes.split_at_checked(wire::HEADER as usize)?;
    let from: [u8; 6] = *head[6..].first_chunk()?;
    // No station is a group: an answer to one would go to all.
    if head[ADDRESSES..] != ETHER_TYPE.to_be_bytes() || from[0] & 1 == 1 {
        return None;
    }
    let message = Message::read(data)?;
    // The kernel has taken the tag out.
    let tag = frame.tag.map(|tag| Tag { pcp: tag.pcp(), vlan: tag.vlan() });
    let size = frame.bytes.len() + tag.map_or(0, |_| wire::TAG as usize);
    Some(Arrival { message, peer: Station { address: from, tag }, stamp_ns: Some(frame.stamp_ns), size })
}

impl Port for EthernetPort {
    type Peer = Station;

    #[inline]
    fn send(&mut self, to: Station, octets: &[u8; OCTETS], size: usize) -> Sent {
        let length = frame(&mut self.frame, to, self.sender.address(), octets, size);
        self.sender.send(&self.frame[..length])
    }

    fn take_sent_stamp(&mut self) -> Option<u64> {
        self.sender.take_stamp()
    }

    #[inline]
    fn next(&mut self) -> Option<Arrival<Station>> {
        let own = self.sender.address();
        for _ in 0..AT_ONCE {
            // Promiscuous mode shows frames for others, too.
            let came = self.reader.next(|frame| arrival(&frame).filter(|_| frame.bytes[..6] == own))?;
            if came.is_some() {
                return came;
            }
        }
        None
    }

    fn wait(&mut self, at_most: Duration) -> io::Result<bool> {
        self.reader.wait(at_most)
    }

    fn overflowed(&mut self) -> u64 {
        self.reader.overflowed()
    }

    fn trouble(&self) -> Option<String> {
        (!self.sender.is_running()).then(|| format!("{} has no link", self.reader.interface()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roundtrip::message::Request;

    #[test]
    fn a_frame_has_its_size_with_a_tag_and_without() {
        let request = Request { practice: false, run: 1, number: 2, period_ns: 3 };
        let message = Message { request, residence: None }.octets();
        let station = |tag| Station { address: [2, 0, 0, 0, 0, 9], tag };
        let mut plain = [0; LARGEST];
        let length = frame(&mut plain, station(None), [2, 0, 0, 0, 0, 8], &message, 60);
        assert_eq!((&plain[..14], &plain[14..50]), (&b"\x02\0\0\0\0\x09\x02\0\0\0\0\x08\x88\xb6"[..], &message[..]));
        let (mut tagged, tag) = (plain, Some(Tag { pcp: 6, vlan: 0x123 }));
        let same = frame(&mut tagged, station(tag), [2, 0, 0, 0, 0, 8], &message, 0);
        assert_eq!((&tagged[12..18], &tagged[18..54]), (&b"\x81\0\xc1\x23\x88\xb6"[..], &message[..]));
        assert_eq!((length, same), (60, 60));
        let mut sized = |size| frame(&mut tagged, station(None), [2, 0, 0, 0, 0, 8], &message, size);
        assert_eq!([59, 61, 1_518, 1_519].map(&mut sized), [60, 61, 1_518, 1_518]);
        // Nothing of the one with a tag is left.
        assert_eq!(tagged, plain);
    }

    #[test]
    fn only_whole_messages_of_stations_arrive() {
        let stamps = Stamps::Software;
        let message =
            Message { request: Request { practice: false, run: 1, number: 2, period_ns: 3 }, residence: None };
        let station = Station { address: [2, 0, 0, 0, 0, 9], tag: None };
        let mut sent = [0; LARGEST];
        let length = frame(&mut sent, station, [2, 0, 0, 0, 0, 8], &message.octets(), 100);
        let received = |bytes: &[u8]| arrival(&Frame { bytes, tag: None, cut: false, stamp_ns: 5, stamps });
        let peer = Station { address: [2, 0, 0, 0, 0, 8], tag: None };
        assert_eq!(received(&sent[..length]), Some(Arrival { message, peer, stamp_ns: Some(5), size: 100 }));
        (0..14 + OCTETS).for_each(|octets| assert_eq!(received(&sent[..octets]), None));
        // Of a group, or of another kind.
        for at in [6, 13] {
            let mut other = sent;
            other[at] ^= 1;
            assert_eq!(received(&other), None);
        }
    }
}
