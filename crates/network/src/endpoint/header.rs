//! What each frame of an end point begins its data with. A payload follows.
//!
//! | octets | what |
//! |---|---|
//! | 0 to 3 | `OTN1` |
//! | 4 to 7 | which plan: [`super::fingerprint`] |
//! | 8 to 11 | the stream: its place in the network's file, from 0 |
//! | 12, 13 | which frame of its message, from 0 |
//! | 14, 15 | octets of payload that follow in this frame |
//! | 16 to 23 | number of its message, from 0 when the talker began |
//! | 24 to 31 | when the message was to be sent, in ns of TAI |
//! | 32 to 39 | when this frame was handed over, in ns of TAI |
//!
//! Numbers are in network order. In an Ethernet frame it is behind the VLAN tag and the EtherType for local experiments
//! 0x88b6 (IEEE 802 clause 9.2.4); in a datagram it is the beginning.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

/// Its octets: fewer than the shortest frame has of data.
pub const HEADER: usize = 40;
const SIGN: [u8; 4] = *b"OTN1";

/// What a frame says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Which plan it follows.
    pub plan: u32,
    /// Its stream, by its place in the network.
    pub stream: u32,
    /// Which frame of its message.
    pub part: u16,
    /// Octets of payload that follow.
    pub payload: u16,
    /// Number of its message.
    pub message: u64,
    /// When its message was to be sent, in ns of TAI.
    pub planned_ns: u64,
    /// When it was handed over, in ns of TAI.
    pub sent_ns: u64,
}

impl Header {
    /// Writes it to the beginning of a frame's data.
    #[inline]
    pub fn write(&self, to: &mut [u8; HEADER]) {
        to[..4].copy_from_slice(&SIGN);
        to[4..8].copy_from_slice(&self.plan.to_be_bytes());
        to[8..12].copy_from_slice(&self.stream.to_be_bytes());
        to[12..14].copy_from_slice(&self.part.to_be_bytes());
        to[14..16].copy_from_slice(&self.payload.to_be_bytes());
        to[16..24].copy_from_slice(&self.message.to_be_bytes());
        to[24..32].copy_from_slice(&self.planned_ns.to_be_bytes());
        to[32..40].copy_from_slice(&self.sent_ns.to_be_bytes());
    }

    /// Reads it from the beginning of a frame's data, and the payload behind it; nothing if it is none, or cut.
    #[inline]
    pub fn read(data: &[u8]) -> Option<(Self, &[u8])> {
        let body = data.strip_prefix(&SIGN)?;
        let (plan, body) = body.split_first_chunk()?;
        let (stream, body) = body.split_first_chunk()?;
        let (part, body) = body.split_first_chunk()?;
        let (payload, body) = body.split_first_chunk()?;
        let (message, body) = body.split_first_chunk()?;
        let (planned_ns, body) = body.split_first_chunk()?;
        let (sent_ns, body) = body.split_first_chunk()?;
        let header = Self {
            plan: u32::from_be_bytes(*plan),
            stream: u32::from_be_bytes(*stream),
            part: u16::from_be_bytes(*part),
            payload: u16::from_be_bytes(*payload),
            message: u64::from_be_bytes(*message),
            planned_ns: u64::from_be_bytes(*planned_ns),
            sent_ns: u64::from_be_bytes(*sent_ns),
        };
        Some((header, body.get(..usize::from(header.payload))?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_and_its_payload_survive_the_wire() {
        let header = Header {
            plan: 0xfedc_ba98,
            stream: 70_000,
            part: 3,
            payload: 2,
            message: u64::MAX - 1,
            planned_ns: 1 << 60,
            sent_ns: (1 << 60) + 5,
        };
        let mut data = [0; 60];
        header.write(data.first_chunk_mut().unwrap());
        data[HEADER..HEADER + 3].copy_from_slice(b"abc");
        assert_eq!(Header::read(&data), Some((header, &b"ab"[..])));
        assert_eq!((&data[..4], &data[8..12]), (&b"OTN1"[..], &[0, 1, 0x11, 0x70][..]));
        // Cut, or of somebody else.
        assert_eq!(Header::read(&data[..HEADER + 1]), None);
        assert_eq!(Header::read(&data[..HEADER - 1]), None);
        data[0] ^= 1;
        assert_eq!(Header::read(&data), None);
    }
}
