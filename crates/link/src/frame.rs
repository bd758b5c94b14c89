//! Frames: bytes with a number, a length and a checksum, in blocks.
//!
//! A frame is a header, sent before and after the rest, and blocks of one size: the payload, a CRC-32 (IEEE 802.3) of
//! the header's first nine bytes (its kind taken as 0) and the payload, zeros that fill the last block, and then parity
//! blocks (Reed–Solomon), any of which replaces any block that was lost. So a frame that is sent again has the same
//! blocks, whatever it is for then, and a receiver can put together what came of it each time.
//! On the wire every block has a number and a check of its own ([`wave`](crate::wave)).
//!
//! | bytes of the header | what |
//! |---|---|
//! | 1 | version (high four bits, now 2) and kind (low four: 0 data, 1 last data, 2 acknowledgement, 3 data that asks for one) |
//! | 1 | parity blocks |
//! | 1 | bytes in each block |
//! | 2 | length of the payload, little-endian |
//! | 4 | number of the frame, little-endian |
//! | 2 | CRC-16 (IBM-3740, "CCITT-FALSE") of the nine bytes above, little-endian |

use crate::fec;

const VERSION: u8 = 2;
/// Bytes of the checksum, which are part of the blocks.
pub const CHECKSUM: usize = 4;
/// Bytes of a header.
const HEADER: usize = 9;
/// With its check.
pub const HEADER_BYTES: usize = HEADER + 2;
const CHECK: crc::Crc<u16> = crc::Crc::<u16>::new(&crc::CRC_16_IBM_3740);
/// Longest payload of a frame.
pub const LONGEST: usize = 4096;
/// Most bytes of a block.
pub const LARGEST_BLOCK: usize = 64;
/// Most blocks of a frame, parity among them.
pub const MOST_BLOCKS: usize = 250;
/// Most parity, as a share of the blocks with data, in percent: more would leave little to protect.
pub const MOST_PARITY: u8 = 200;
/// Where there is parity at all, there are so many blocks of it.
const LEAST_PARITY: usize = 2;

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

/// How frames are cut into blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Bytes in a block, at most [`LARGEST_BLOCK`]; a frame that is smaller has one smaller block.
    pub block: usize,
    /// Parity blocks for every hundred with data, rounded up, and at least two; 0: none.
    pub parity: u8,
}

impl Shape {
    /// Blocks with data and parity blocks of a frame with this payload, and their size.
    pub fn blocks(self, payload: usize) -> (usize, usize, usize) {
        let length = payload + CHECKSUM;
        let size = self.block.min(length);
        let data = length.div_ceil(size);
        let parity =
            if self.parity == 0 { 0 } else { (data * usize::from(self.parity)).div_ceil(100).max(LEAST_PARITY) };
        (data, parity, size)
    }
}

/// The bytes of a frame as they are sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parts {
    /// What the header says.
    pub header: [u8; HEADER_BYTES],
    /// Data, then parity, all of one size.
    pub blocks: Vec<Vec<u8>>,
}

/// What a header says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    bytes: [u8; HEADER],
    kind: Kind,
    /// The frame's number.
    pub number: u32,
    length: usize,
    parity: usize,
    size: usize,
}

/// Why bytes are no whole frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Damage {
    /// Neither header can be read.
    #[error("its header is damaged")]
    Header,
    /// More blocks are missing than the parity can replace.
    #[error("of frame {number}, {came} of {wanted} blocks came")]
    Missing {
        /// The frame's number.
        number: u32,
        /// Blocks that came.
        came: usize,
        /// Blocks that were sent.
        wanted: usize,
    },
    /// Bytes are wrong that nothing mends.
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
            Damage::Missing { number, .. } | Damage::Body { number } => Some(number),
        }
    }
}

impl Frame {
    /// Its bytes on the wire.
    pub fn parts(&self, shape: Shape) -> Parts {
        let (data, parity, size) = shape.blocks(self.payload.len());
        let header = self.header(parity, size);
        let mut body = self.payload.clone();
        body.extend_from_slice(&checksum(&header, &self.payload).to_le_bytes());
        body.resize(data * size, 0);
        let mut blocks: Vec<Vec<u8>> = body.chunks(size).map(<[u8]>::to_vec).collect();
        blocks.extend(fec::parity_blocks(&blocks, parity));
        let mut checked = [0; HEADER_BYTES];
        checked[..HEADER].copy_from_slice(&header);
        checked[HEADER..].copy_from_slice(&CHECK.checksum(&header).to_le_bytes());
        Parts { header: checked, blocks }
    }

    fn header(&self, parity: usize, size: usize) -> [u8; HEADER] {
        let kind = match self.kind {
            Kind::Data => 0,
            Kind::Last => 1,
            Kind::Acknowledgement => 2,
            Kind::Asking => 3,
        };
        let mut header = [0; HEADER];
        header[..3].copy_from_slice(&[VERSION << 4 | kind, parity as u8, size as u8]);
        header[3..5].copy_from_slice(&(self.payload.len() as u16).to_le_bytes());
        header[5..].copy_from_slice(&self.number.to_le_bytes());
        header
    }
}

impl Header {
    /// Reads one back.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let bytes: [u8; HEADER_BYTES] = bytes.try_into().ok()?;
        let (bytes, check) = bytes.split_first_chunk::<HEADER>()?;
        if check != CHECK.checksum(bytes).to_le_bytes() {
            return None;
        }
        let kind = match bytes[0] & 15 {
            0 => Kind::Data,
            1 => Kind::Last,
            2 => Kind::Acknowledgement,
            3 => Kind::Asking,
            _ => return None,
        };
        let (parity, size) = (usize::from(bytes[1]), usize::from(bytes[2]));
        let length = usize::from(u16::from_le_bytes([bytes[3], bytes[4]]));
        let number = u32::from_le_bytes(bytes[5..].try_into().ok()?);
        let header = Self { bytes: *bytes, kind, number, length, parity, size };
        let possible = bytes[0] >> 4 == VERSION && length <= LONGEST && (1..=LARGEST_BLOCK).contains(&size);
        (possible && header.wanted() <= MOST_BLOCKS).then_some(header)
    }

    /// Whether it is another header of the same frame, maybe of another kind.
    pub fn is_of(&self, other: &Header) -> bool {
        without_kind(&self.bytes) == without_kind(&other.bytes)
    }

    /// Blocks that the frame has.
    pub fn wanted(&self) -> usize {
        (self.length + CHECKSUM).div_ceil(self.size) + self.parity
    }

    /// The frame of the blocks that came, by their place, and how many of them were replaced.
    pub fn join(&self, came: &[Option<Vec<u8>>]) -> Result<(Frame, usize), Damage> {
        let (number, wanted) = (self.number, self.wanted());
        let fits = |block: &&[u8]| block.len() == self.size;
        let came: Vec<Option<&[u8]>> =
            (0..wanted).map(|n| came.get(n).and_then(Option::as_deref).filter(fits)).collect();
        let data = &came[..wanted - self.parity];
        // All of it, as a rule: then nothing needs to be computed.
        if let Some(body) = data.iter().copied().collect::<Option<Vec<&[u8]>>>().map(|blocks| blocks.concat()) {
            if let Some(payload) = self.payload(body) {
                return Ok((Frame { kind: self.kind, number, payload }, 0));
            }
        }
        let there = came.iter().flatten().count();
        if there < wanted - self.parity {
            return Err(Damage::Missing { number, came: there, wanted });
        }
        let damaged = Damage::Body { number };
        if self.parity == 0 {
            return Err(damaged);
        }
        let restored = fec::restore(&came, self.parity, self.size).ok_or(damaged)?;
        let mended = data.iter().filter(|block| block.is_none()).count();
        let payload = self.payload(restored.concat()).ok_or(damaged)?;
        Ok((Frame { kind: self.kind, number, payload }, mended))
    }

    /// The payload, if the checksum says that it is right.
    fn payload(&self, mut body: Vec<u8>) -> Option<Vec<u8>> {
        let rest = body.split_off(self.length);
        (rest[..CHECKSUM] == checksum(&self.bytes, &body).to_le_bytes()).then_some(body)
    }
}

fn checksum(header: &[u8; HEADER], payload: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&without_kind(header));
    hasher.update(payload);
    hasher.finalize()
}

fn without_kind(header: &[u8; HEADER]) -> [u8; HEADER] {
    let mut header = *header;
    header[0] &= 0xf0;
    header
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;

    pub fn frames(most: usize) -> impl Strategy<Value = Frame> {
        let kind = prop_oneof![Just(Kind::Data), Just(Kind::Last), Just(Kind::Acknowledgement), Just(Kind::Asking)];
        (kind, any::<u32>(), proptest::collection::vec(any::<u8>(), 0..most))
            .prop_map(|(kind, number, payload)| Frame { kind, number, payload })
    }

    pub fn shapes() -> impl Strategy<Value = Shape> {
        (8usize..=LARGEST_BLOCK, 0u8..=60).prop_map(|(block, parity)| Shape { block, parity })
    }

    /// CRC-32 of IEEE 802.3, bit by bit.
    fn crc_32(bytes: &[u8]) -> u32 {
        let bit = |crc: u32| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
        !bytes.iter().fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), |crc, _| bit(crc)))
    }

    fn frame_of_20_bytes(parity: u8) -> (Frame, Parts) {
        let frame = Frame { kind: Kind::Asking, number: 0x0403_0201, payload: (100..120).collect() };
        let parts = frame.parts(Shape { block: 64, parity });
        (frame, parts)
    }

    /// The layout as the table at the top has it, so that another implementation can be written from it.
    #[test]
    fn the_checksum_is_a_whole_crc_32_of_header_and_payload() {
        let (frame, parts) = frame_of_20_bytes(0);
        assert_eq!(crc_32(b"123456789"), 0xcbf4_3926);
        assert_eq!(parts.header[..HEADER], [0x23, 0, 24, 20, 0, 1, 2, 3, 4]);
        let checked = [&[0x20, 0, 24, 20, 0, 1, 2, 3, 4], &frame.payload[..]].concat();
        assert_eq!(parts.blocks, [[&frame.payload[..], &crc_32(&checked).to_le_bytes()].concat()]);
    }

    #[test]
    fn every_bit_of_payload_and_checksum_is_checked() {
        let (frame, parts) = frame_of_20_bytes(0);
        let header = Header::read(&parts.header).unwrap();
        for bit in 0..24 * 8 {
            let mut block = parts.blocks[0].clone();
            block[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(header.join(&[Some(block)]), Err(Damage::Body { number: frame.number }), "bit {bit}");
        }
    }

    #[test]
    fn every_bit_of_a_header_is_checked() {
        let (_, parts) = frame_of_20_bytes(0);
        for bit in 0..HEADER_BYTES * 8 {
            let mut header = parts.header;
            header[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Header::read(&header), None, "bit {bit}");
        }
    }

    proptest! {
        #[test]
        fn a_frame_is_read_back(frame in frames(700), shape in shapes()) {
            let parts = frame.parts(shape);
            let header = Header::read(&parts.header).unwrap();
            let (data, parity, size) = shape.blocks(frame.payload.len());
            prop_assert_eq!((header.wanted(), parts.blocks.len()), (data + parity, data + parity));
            prop_assert!(parts.blocks.iter().all(|block| block.len() == size));
            let came: Vec<_> = parts.blocks.into_iter().map(Some).collect();
            prop_assert_eq!(header.join(&came), Ok((frame, 0)));
        }

        /// As many lost blocks as there is parity are replaced; with one more it is reported how many came.
        #[test]
        fn lost_blocks_are_replaced(frame in frames(700), shape in shapes(), seed in any::<u64>()) {
            let parts = frame.parts(shape);
            let header = Header::read(&parts.header).unwrap();
            let mut came: Vec<_> = parts.blocks.into_iter().map(Some).collect();
            let (wanted, mut at) = (came.len(), seed as usize);
            for _ in 0..header.parity {
                while came[at % wanted].is_none() {
                    at += 1;
                }
                came[at % wanted] = None;
                at = at.wrapping_mul(31).wrapping_add(7);
            }
            let read = header.join(&came);
            prop_assert_eq!(read.map(|(frame, _)| frame), Ok(frame));
            if let Some(last) = came.iter().position(Option::is_some) {
                came[last] = None;
                let there = wanted - header.parity - 1;
                prop_assert_eq!(header.join(&came), Err(Damage::Missing { number: header.number, came: there, wanted }));
            }
        }

        /// Whatever happened to it, what is read back is what was sent, or nothing.
        #[test]
        fn a_wrong_byte_is_never_handed_on(
            frame in frames(300),
            shape in shapes(),
            hits in proptest::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<u8>()), 0..40),
            lost in proptest::collection::vec(any::<prop::sample::Index>(), 0..4),
            header_hits in proptest::collection::vec((0..HEADER_BYTES, any::<u8>()), 0..6),
        ) {
            let mut parts = frame.parts(shape);
            for (index, byte, value) in hits {
                let block = index.get(&parts.blocks).len();
                let index = index.index(parts.blocks.len());
                parts.blocks[index][byte.index(block)] = value;
            }
            header_hits.into_iter().for_each(|(byte, value)| parts.header[byte] = value);
            let mut came: Vec<_> = parts.blocks.into_iter().map(Some).collect();
            lost.into_iter().for_each(|index| { let n = index.index(came.len()); came[n] = None; });
            if let Some(Ok((read, _))) = Header::read(&parts.header).map(|header| header.join(&came)) {
                prop_assert_eq!(read, frame);
            }
        }

        #[test]
        fn anything_is_answered(
            bytes in any::<[u8; HEADER]>(),
            blocks in proptest::collection::vec(proptest::option::of(proptest::collection::vec(any::<u8>(), 0..70)), 0..260),
        ) {
            let checked = [&bytes[..], &CHECK.checksum(&bytes).to_le_bytes()].concat();
            if let Some(header) = Header::read(&checked) {
                let _ = header.join(&blocks);
            }
        }
    }
}
