//! Frames: bytes with a number, a length and a checksum.
//!
//! | bytes | what |
//! |---|---|
//! | 1 | version (high four bits, now 1) and kind (low four: 0 data, 1 last data, 2 acknowledgement, 3 data that asks for one) |
//! | 1 | parity: Reed–Solomon bytes per codeword of the body; 0: none |
//! | 2 | length of the payload, little-endian |
//! | 4 | number of the frame, little-endian |
//! | 8 | Reed–Solomon parity of the eight bytes above: mends four wrong ones |
//! | length | payload |
//! | 4 | CRC-32 (IEEE 802.3) of the first eight bytes and the payload, little-endian |
//! | | parity of payload and CRC, after each 255 - parity bytes of them |

use crate::fec;

const VERSION: u8 = 1;
const HEADER: usize = 8;
const HEADER_PARITY: u8 = 8;
const CHECKSUM: usize = 4;
/// Longest payload of a frame.
pub const LONGEST: usize = 4096;
/// Most parity per codeword: more would leave little to protect.
pub const MOST_PARITY: u8 = 128;

/// What a frame is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Bytes of the stream.
    Data,
    /// Bytes of the stream, after which the sender waits for an acknowledgement.
    Asking,
    /// The last bytes of the stream; asks too.
    Last,
    /// Which frames were received.
    Acknowledgement,
}

/// One frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// What it is for.
    pub kind: Kind,
    /// Its number: data frames count from 0.
    pub number: u32,
    /// At most [`LONGEST`] bytes.
    pub payload: Vec<u8>,
}

/// Why bytes are no whole frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    /// The header cannot be mended, or says what no sender would.
    #[error("its header is damaged")]
    Header,
    /// The body is shorter or longer than the header says: pulses were missed, or noise was taken for some.
    #[error("frame {number} has {came} bytes instead of {wanted}")]
    Length {
        /// The frame's number.
        number: u32,
        /// Bytes that came.
        came: usize,
        /// Bytes that should have.
        wanted: usize,
    },
    /// More bytes are wrong than the parity can mend, or there is none.
    #[error("the bytes of frame {number} are damaged")]
    Body {
        /// The frame's number.
        number: u32,
    },
}

impl Damage {
    /// The number of the damaged frame, where its header could be read.
    pub fn number(self) -> Option<u32> {
        match self {
            Damage::Header => None,
            Damage::Length { number, .. } | Damage::Body { number } => Some(number),
        }
    }
}

impl Frame {
    /// The bytes on the wire, with this much parity per codeword.
    pub fn encode(&self, parity: u8) -> Vec<u8> {
        let header = self.header(parity);
        let mut body = self.payload.clone();
        body.extend_from_slice(&checksum(&header, &self.payload).to_le_bytes());
        let mut bytes = fec::protect(&header, HEADER_PARITY);
        bytes.extend(fec::protect(&body, parity));
        bytes
    }

    fn header(&self, parity: u8) -> [u8; HEADER] {
        let kind = match self.kind {
            Kind::Data => 0,
            Kind::Last => 1,
            Kind::Acknowledgement => 2,
            Kind::Asking => 3,
        };
        let mut header = [0; HEADER];
        header[0] = VERSION << 4 | kind;
        header[1] = parity;
        header[2..4].copy_from_slice(&(self.payload.len() as u16).to_le_bytes());
        header[4..].copy_from_slice(&self.number.to_le_bytes());
        header
    }

    /// Reads a frame back, and tells how many bytes were mended. Bits that fill the last symbol may follow it.
    pub fn decode(bytes: &[u8]) -> Result<(Frame, usize), Damage> {
        let protected = HEADER + usize::from(HEADER_PARITY);
        let first = bytes.get(..protected).ok_or(Damage::Header)?;
        let (header, mended) = fec::mend(first, HEADER_PARITY).ok_or(Damage::Header)?;
        let (kind, parity, length, number) = read_header(&header).ok_or(Damage::Header)?;

        let wanted = fec::protected_length(length + CHECKSUM, parity);
        let came = bytes.len() - protected;
        let body = bytes[protected..].get(..wanted).filter(|_| came <= wanted + 1);
        let body = body.ok_or(Damage::Length { number, came, wanted })?;
        let (mut payload, more) = fec::mend(body, parity).ok_or(Damage::Body { number })?;
        let came = payload.split_off(length);
        if came != checksum(&header, &payload).to_le_bytes() {
            return Err(Damage::Body { number });
        }
        Ok((Frame { kind, number, payload }, mended + more))
    }

    /// How many bytes a frame with this payload is on the wire.
    pub fn length(payload: usize, parity: u8) -> usize {
        HEADER + usize::from(HEADER_PARITY) + fec::protected_length(payload + CHECKSUM, parity)
    }
}

fn read_header(header: &[u8]) -> Option<(Kind, u8, usize, u32)> {
    let (first, parity) = (header[0], header[1]);
    let kind = match first & 15 {
        0 => Kind::Data,
        1 => Kind::Last,
        2 => Kind::Acknowledgement,
        3 => Kind::Asking,
        _ => return None,
    };
    let length = usize::from(u16::from_le_bytes([header[2], header[3]]));
    let number = u32::from_le_bytes(header[4..HEADER].try_into().ok()?);
    (first >> 4 == VERSION && parity <= MOST_PARITY && length <= LONGEST).then_some((kind, parity, length, number))
}

fn checksum(header: &[u8], payload: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(header);
    hasher.update(payload);
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn frames() -> impl Strategy<Value = Frame> {
        let kind = prop_oneof![Just(Kind::Data), Just(Kind::Last), Just(Kind::Acknowledgement), Just(Kind::Asking)];
        (kind, any::<u32>(), proptest::collection::vec(any::<u8>(), 0..700)).prop_map(|(kind, number, payload)| Frame {
            kind,
            number,
            payload,
        })
    }

    proptest! {
        #[test]
        fn a_frame_is_read_back(frame in frames(), parity in 0..=MOST_PARITY) {
            let bytes = frame.encode(parity);
            prop_assert_eq!(bytes.len(), Frame::length(frame.payload.len(), parity));
            prop_assert_eq!(Frame::decode(&bytes), Ok((frame, 0)));
        }

        /// Whatever happened to it, what is read back is what was sent, or nothing.
        #[test]
        fn a_wrong_byte_is_never_handed_on(
            frame in frames(),
            parity in 0u8..=32,
            hits in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..40),
            cut in any::<prop::sample::Index>(),
        ) {
            let mut bytes = frame.encode(parity);
            for (index, value) in hits {
                let index = index.index(bytes.len());
                bytes[index] = value;
            }
            bytes.truncate(bytes.len() - cut.index(4));
            if let Ok((read, _)) = Frame::decode(&bytes) {
                prop_assert_eq!(read, frame);
            }
        }

        #[test]
        fn anything_is_answered(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = Frame::decode(&bytes);
        }
    }

    #[test]
    fn damage_names_the_frame_where_it_can() {
        let bytes = Frame { kind: Kind::Data, number: 7, payload: vec![1; 100] }.encode(0);
        assert_eq!(Frame::decode(&bytes[..60]), Err(Damage::Length { number: 7, came: 44, wanted: 104 }));
        let mut wrong = bytes.clone();
        wrong[50] ^= 1;
        assert_eq!(Frame::decode(&wrong).unwrap_err().number(), Some(7));
        assert_eq!(Frame::decode(&bytes[..10]), Err(Damage::Header));
    }
}
