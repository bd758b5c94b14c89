//! Frames: where one begins, how long it is, and whether it arrived as it was sent.
//!
//! | bytes | |
//! |---|---|
//! | 1 | [`BEGIN`] |
//! | 1 | kind |
//! | 1 | sequence number: one more in each frame of a sender, modulo 256 |
//! | 1 | length of the payload, at most [`PAYLOAD`] |
//! | 0 to 55 | payload |
//! | 4 | CRC-32 (ISO-HDLC) of all before it, least significant byte first |

use crc::{CRC_32_ISO_HDLC, Crc, Table};

/// The first byte of each frame.
pub const BEGIN: u8 = 0xb7;
const HEADER: usize = 4;
const CHECK: usize = 4;
/// The most bytes of a frame: fewer than a packet of full-speed USB has, as a full packet is not the end of a transfer.
pub const LONGEST: usize = 63;
/// The most bytes of a payload.
pub const PAYLOAD: usize = LONGEST - HEADER - CHECK;

static CHECKSUM: Crc<u32, Table<1>> = Crc::<u32, Table<1>>::new(&CRC_32_ISO_HDLC);

/// A frame that arrived as it was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    /// What the payload is.
    pub kind: u8,
    /// One more than that of the frame before.
    pub sequence: u8,
    length: usize,
    bytes: [u8; LONGEST],
}

impl Frame {
    /// What it carries.
    pub fn payload(&self) -> &[u8] {
        &self.bytes[HEADER..HEADER + self.length]
    }
}

/// Writes a frame around a payload, which is at most [`PAYLOAD`] bytes; how long the frame is.
pub fn write(kind: u8, sequence: u8, payload: &[u8], to: &mut [u8; LONGEST]) -> usize {
    let end = HEADER + payload.len();
    to[HEADER..end].copy_from_slice(payload);
    seal(kind, sequence, payload.len(), to)
}

/// The same where the payload is in its place already: from byte 4.
pub fn seal(kind: u8, sequence: u8, length: usize, frame: &mut [u8; LONGEST]) -> usize {
    let end = HEADER + length;
    frame[..HEADER].copy_from_slice(&[BEGIN, kind, sequence, length as u8]);
    let check = CHECKSUM.checksum(&frame[..end]);
    frame[end..end + CHECK].copy_from_slice(&check.to_le_bytes());
    end + CHECK
}

/// The place of the payload in a frame that is written in place.
pub fn payload_of(frame: &mut [u8; LONGEST]) -> &mut [u8; PAYLOAD] {
    let [_, _, _, _, payload @ .., _, _, _, _] = frame;
    payload
}

/// Finds frames in bytes that may have anything between them.
#[derive(Debug, Clone)]
pub struct Reader {
    held: [u8; LONGEST],
    length: usize,
    foreign: u64,
}

impl Default for Reader {
    fn default() -> Self {
        Self { held: [0; LONGEST], length: 0, foreign: 0 }
    }
}

impl Reader {
    /// Takes another byte; the frame that it completes, if it does.
    pub fn take(&mut self, byte: u8) -> Option<Frame> {
        self.held[self.length] = byte;
        self.length += 1;
        loop {
            match self.look() {
                Look::Frame(frame) => {
                    self.drop_first(frame.length + HEADER + CHECK);
                    return Some(frame);
                }
                Look::Unfinished => return None,
                Look::Foreign => {
                    self.foreign += 1;
                    self.drop_first(1);
                }
            }
        }
    }

    /// Bytes that belong to no frame, until now.
    pub fn foreign(&self) -> u64 {
        self.foreign
    }

    fn look(&self) -> Look {
        let held = &self.held[..self.length];
        match held {
            [] | [BEGIN] | [BEGIN, _] | [BEGIN, _, _] => Look::Unfinished,
            [BEGIN, kind, sequence, length, ..] if usize::from(*length) <= PAYLOAD => {
                let (length, end) = (usize::from(*length), HEADER + usize::from(*length));
                if held.len() < end + CHECK {
                    return Look::Unfinished;
                }
                if held[end..end + CHECK] != CHECKSUM.checksum(&held[..end]).to_le_bytes() {
                    return Look::Foreign;
                }
                Look::Frame(Frame { kind: *kind, sequence: *sequence, length, bytes: self.held })
            }
            _ => Look::Foreign,
        }
    }

    fn drop_first(&mut self, count: usize) {
        self.held.copy_within(count..self.length, 0);
        self.length -= count;
    }
}

/// What the bytes that are held are.
enum Look {
    Frame(Frame),
    Unfinished,
    Foreign,
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use proptest::prelude::*;

    use super::*;

    fn frame(kind: u8, sequence: u8, payload: &[u8]) -> Vec<u8> {
        let mut bytes = [0; LONGEST];
        let length = write(kind, sequence, payload, &mut bytes);
        bytes[..length].to_vec()
    }

    fn read(bytes: &[u8]) -> (Vec<(u8, u8, Vec<u8>)>, Reader) {
        let mut reader = Reader::default();
        let frames = bytes.iter().filter_map(|byte| reader.take(*byte));
        (frames.map(|frame| (frame.kind, frame.sequence, frame.payload().to_vec())).collect(), reader)
    }

    fn payload() -> impl Strategy<Value = Vec<u8>> {
        proptest::collection::vec(any::<u8>(), 0..=PAYLOAD)
    }

    #[test]
    fn a_frame_is_the_documented_bytes() {
        // The CRC by zlib.crc32 of Python.
        assert_eq!(frame(0x40, 7, &[1]), [0xb7, 0x40, 7, 1, 1, 0x76, 0x6c, 0x82, 0x94]);
    }

    proptest! {
        #[test]
        fn frames_come_back_from_between_anything_else(
            parts in proptest::collection::vec((payload(), any::<u8>(), any::<u8>(), proptest::collection::vec(any::<u8>(), 0..80)), 0..20),
        ) {
            let mut bytes = Vec::new();
            let mut foreign = 0;
            for (payload, kind, sequence, between) in &parts {
                bytes.extend(between);
                bytes.extend(frame(*kind, *sequence, payload));
                foreign += between.len() as u64;
            }
            // What looked like a beginning is known to be none by then.
            bytes.extend([0; LONGEST]);
            let (frames, reader) = read(&bytes);
            let sent: Vec<_> = parts.into_iter().map(|(payload, kind, sequence, _)| (kind, sequence, payload)).collect();
            prop_assert_eq!(frames, sent);
            prop_assert_eq!(reader.foreign(), foreign + LONGEST as u64);
        }

        #[test]
        fn a_damaged_frame_is_none(payload in payload(), place in any::<prop::sample::Index>(), by in 1_u8..) {
            let mut bytes = frame(3, 9, &payload);
            let place = place.index(bytes.len());
            bytes[place] ^= by;
            bytes.extend([0; LONGEST]);
            prop_assert_eq!(read(&bytes).0.len(), 0);
        }
    }
}
