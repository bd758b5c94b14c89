//! Times of edges, as the payload of a frame carries them.
//!
//! | bytes | |
//! |---|---|
//! | 1 | bank in the high half, levels of its lines before the first edge in the low half |
//! | 6 | tick of the first edge, least significant byte first |
//! | 1 to 8 for each edge | ticks since the edge before, times four, plus the line within the bank: seven bits a byte, least significant first, the highest bit set in all but the last (LEB128, of which the last byte may be 0) |
//!
//! Each edge changes its line, so a level need not be sent.

use crate::frame::PAYLOAD;
use crate::{BANKS, LINES_OF_BANK};

const HEADER: usize = 7;
/// A tick has no more bits than this: 26 days.
pub const TICK_BITS: u32 = 48;

/// A change of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edge {
    /// When, in ticks since the capture began.
    pub tick: u64,
    /// 0 to 7.
    pub line: u8,
    /// From low to high.
    pub rising: bool,
}

/// Collects edges of a bank until a payload is full.
#[derive(Debug, Clone, Copy)]
pub struct EdgeWriter {
    bank: u8,
    /// Before the edges that are collected, and after them.
    levels: u8,
    length: usize,
    last: u64,
}

impl EdgeWriter {
    /// Nothing yet; these are the levels of the lines.
    pub fn new(bank: u8, levels: u8) -> Self {
        Self { bank, levels, length: 0, last: 0 }
    }

    /// Adds an edge of a line of the bank, not sooner than the last one, to the payload that it was given before; whether
    /// there was room.
    #[inline]
    pub fn add(&mut self, tick: u64, line: u8, payload: &mut [u8; PAYLOAD]) -> bool {
        if self.length == 0 {
            self.begin(tick, payload);
        }
        let since = tick.wrapping_sub(self.last);
        let (value, at) = ((since as u32) << 2 | u32::from(line), self.length);
        // Most are a few thousand ticks apart.
        let length = if since < 1 << 12 && at + 2 <= PAYLOAD {
            payload[at] = value as u8 | 0x80;
            payload[at + 1] = (value >> 7) as u8;
            at + 2
        } else if let Some(length) = put(since << 2 | u64::from(line), at, payload) {
            length
        } else {
            return false;
        };
        (self.length, self.last) = (length, tick);
        self.levels ^= 1 << line;
        true
    }

    #[cold]
    fn begin(&mut self, tick: u64, payload: &mut [u8; PAYLOAD]) {
        payload[0] = self.bank << 4 | self.levels;
        payload[1..HEADER].copy_from_slice(&tick.to_le_bytes()[..HEADER - 1]);
        (self.length, self.last) = (HEADER, tick);
    }

    /// The length of the payload, 0 without edges; the next edge begins another one.
    pub fn finish(&mut self) -> usize {
        core::mem::take(&mut self.length)
    }

    /// Whether there are edges in it.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }
}

/// Writes a number from this place on; where it ends, if there was room.
#[cold]
fn put(mut value: u64, at: usize, payload: &mut [u8; PAYLOAD]) -> Option<usize> {
    let mut at = at;
    while value >= 0x80 {
        *payload.get_mut(at)? = value as u8 | 0x80;
        at += 1;
        value >>= 7;
    }
    *payload.get_mut(at)? = value as u8;
    Some(at + 1)
}

/// The edges of a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edges<'p> {
    /// The lines that they are of.
    pub bank: u8,
    levels: u8,
    tick: u64,
    rest: &'p [u8],
}

impl<'p> Edges<'p> {
    /// Of a payload, if it is one of whole edges.
    pub fn read(payload: &'p [u8]) -> Option<Self> {
        let (header, rest) = payload.split_at_checked(HEADER)?;
        let mut tick = [0; 8];
        tick[..HEADER - 1].copy_from_slice(&header[1..]);
        let edges = Self { bank: header[0] >> 4, levels: header[0] & 0xf, tick: u64::from_le_bytes(tick), rest };
        let mut copy = edges;
        while copy.next().is_some() {}
        (edges.bank < BANKS && !rest.is_empty() && copy.rest.is_empty()).then_some(edges)
    }
}

impl Iterator for Edges<'_> {
    type Item = Edge;

    fn next(&mut self) -> Option<Edge> {
        let mut value = 0_u64;
        for (place, byte) in self.rest.iter().enumerate().take(8) {
            value |= u64::from(byte & 0x7f) << (7 * place);
            if byte & 0x80 == 0 {
                self.rest = &self.rest[place + 1..];
                self.tick += value >> 2;
                let line = value as u8 & 3;
                self.levels ^= 1 << line;
                let rising = self.levels >> line & 1 == 1;
                return Some(Edge { tick: self.tick, line: self.bank * LINES_OF_BANK + line, rising });
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use proptest::prelude::*;

    use super::*;

    fn written(bank: u8, levels: u8, edges: &[(u64, u8)]) -> Vec<Vec<u8>> {
        let (mut writer, mut payload) = (EdgeWriter::new(bank, levels), [0; PAYLOAD]);
        let mut payloads = Vec::new();
        for (tick, line) in edges {
            if !writer.add(*tick, *line, &mut payload) {
                let length = writer.finish();
                payloads.push(payload[..length].to_vec());
                assert!(writer.add(*tick, *line, &mut payload));
            }
        }
        let length = writer.finish();
        payloads.extend((length > 0).then(|| payload[..length].to_vec()));
        payloads
    }

    #[test]
    fn a_payload_is_the_documented_bytes() {
        // 1250 * 4 + 3 is 39 * 128 + 11.
        let bytes = [0x15, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x81, 0, 0x80 | 11, 39];
        assert_eq!(written(1, 5, &[(0x3344_5566_7788, 1), (0x3344_5566_7788 + 1250, 3)]), [bytes]);
    }

    #[test]
    fn at_two_hundred_thousand_a_second_a_frame_has_two_dozen() {
        let edges: Vec<(u64, u8)> = (0..1000).map(|n| (n * 625, (n % 4) as u8)).collect();
        assert_eq!(written(0, 0, &edges).len(), 42);
    }

    #[test]
    fn what_is_cut_off_is_no_payload() {
        let payload = &written(0, 0, &[(7, 0), (70_000, 1)])[0];
        assert!((0..payload.len()).all(|end| Edges::read(&payload[..end]).is_none() || end == 9));
        assert!(Edges::read(&[0x20, 0, 0, 0, 0, 0, 0, 0]).is_none(), "a bank that is not there");
        assert!(Edges::read(&[[0; 7].as_slice(), &[0xff; 9]].concat()).is_none());
    }

    proptest! {
        #[test]
        fn edges_come_back(bank in 0..BANKS, levels in 0_u8..16, deltas in proptest::collection::vec((0_u64..1 << 34, 0_u8..4), 0..300)) {
            let mut tick = 0;
            let edges: Vec<(u64, u8)> = deltas.into_iter().map(|(delta, line)| { tick += delta >> (delta % 33); (tick, line) }).collect();
            let mut now = levels;
            let expected = edges.iter().map(|(tick, line)| {
                now ^= 1 << line;
                Edge { tick: *tick, line: 4 * bank + line, rising: now >> line & 1 == 1 }
            });
            let expected: Vec<Edge> = expected.collect();
            let payloads = written(bank, levels, &edges);
            let read: Vec<Edge> = payloads.iter().flat_map(|payload| Edges::read(payload).unwrap()).collect();
            prop_assert_eq!(read, expected);
        }
    }
}
