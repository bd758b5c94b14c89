//! Frames as durations on a line.
//!
//! A line is low between frames. A frame begins with [`PREAMBLE`] symbols, alternately all shortest and all longest,
//! from which a receiver learns what the sender's widths look like when they arrive: overheads, clocks that differ,
//! slow edges. Then come blocks: the header, data and parity, and the header again. Each begins with a mark, a pulse
//! longer than any that carries bits, then a byte that says which block it is, its bytes, and a check (CRC-8 with the
//! polynomial 0x2f of AUTOSAR), all of them most significant bit first. A last mark ends the last block; after it the
//! line rests for at least [`Code::idle_ns`].
//!
//! A stop of the receiver spoils the blocks that it falls into, and no others. A sender that was stopped and finds that
//! a stretch has become too long lets it last for [`Code::cancel_ns`], which takes the symbol back, and sends the symbol
//! again. One that finds a pulse to have been too long does so in the gap behind it, where gaps carry bits; else, and behind
//! a gap, it sends the block again (the receiver takes the last of two with one number).

use crate::code::Code;
use crate::frame::{Frame, Shape};

/// Symbols before the first block.
pub const PREAMBLE: usize = 8;
/// The number of the header's block.
pub const HEADER: u8 = 255;

/// High and low stretches of one frame in ns, alternately, beginning and ending with a high one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wave {
    /// The stretches.
    pub stretches: Vec<u32>,
    /// Where the marks are among them: before each block, and after the last.
    pub marks: Vec<usize>,
}

impl Wave {
    /// Of a frame.
    pub fn new(frame: &Frame, shape: Shape, code: Code) -> Self {
        let parts = frame.parts(shape);
        let mut wave = Self { stretches: Vec::new(), marks: Vec::with_capacity(parts.blocks.len() + 3) };
        for n in 0..PREAMBLE {
            let (pulse, gap) = if n % 2 == 0 { (0, 0) } else { (code.longest_pulse(), code.longest_gap()) };
            wave.symbol(code.pulse_ns(pulse), code.gap_ns(gap));
        }
        wave.block(HEADER, &parts.header, code);
        for (n, block) in parts.blocks.iter().enumerate() {
            wave.block(n as u8, block, code);
        }
        wave.block(HEADER, &parts.header, code);
        wave.marks.push(wave.stretches.len());
        wave.stretches.push(code.mark_ns() as u32);
        wave
    }

    fn symbol(&mut self, pulse_ns: u64, gap_ns: u64) {
        self.stretches.extend([pulse_ns as u32, gap_ns as u32]);
    }

    fn block(&mut self, number: u8, bytes: &[u8], code: Code) {
        self.marks.push(self.stretches.len());
        self.symbol(code.mark_ns(), code.gap_ns(0));
        let bytes = &numbered(number, bytes);
        let mut bits = Bits { bytes, next: 0 };
        for _ in 0..code.symbols(bytes.len()) {
            let (pulse, gap) = (bits.take(code.pulse_bits), bits.take(code.gap_bits));
            self.symbol(code.pulse_ns(pulse), code.gap_ns(gap));
        }
    }
}

/// Bytes that a block has besides its data.
pub const AROUND: usize = 2;

const CHECK: crc::Crc<u8> = crc::Crc::<u8>::new(&crc::CRC_8_AUTOSAR);

fn numbered(number: u8, data: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(data.len() + AROUND);
    bytes.push(number);
    bytes.extend_from_slice(data);
    bytes.push(CHECK.checksum(&bytes));
    bytes
}

/// The number and the data of a block, if its check says that they are right.
pub fn checked(block: &[u8]) -> Option<(u8, &[u8])> {
    let (check, numbered) = block.split_last()?;
    let (number, data) = numbered.split_first()?;
    (CHECK.checksum(numbered) == *check).then_some((*number, data))
}

/// Bits of a block, most significant first; zeros fill the last symbol.
struct Bits<'a> {
    bytes: &'a [u8],
    next: usize,
}

impl Bits<'_> {
    fn take(&mut self, count: u8) -> u32 {
        let bit = |at: usize| self.bytes.get(at / 8).map_or(0, |byte| u32::from(byte >> (7 - at % 8) & 1));
        let value = (self.next..self.next + usize::from(count)).fold(0, |value, at| value << 1 | bit(at));
        self.next += usize::from(count);
        value
    }
}
