//! DMA without an end: two channels that start each other.

use crate::registers::{DMA, read, write};

/// Words that a channel moves before the other one does. A multiple of the longest ring.
pub const WORDS: u32 = 1 << 20;

const ENABLED: u32 = 1;
const FIRST: u32 = 1 << 1;
const WORD: u32 = 2 << 2;
const WRITE_ON: u32 = 1 << 5;
const BUSY: u32 = 1 << 24;
const QUIET: u32 = 1 << 21;
/// The write address wraps after 2^15 bytes.
const RING: u32 = 15 << 6 | 1 << 10;

/// Two channels.
#[derive(Clone, Copy)]
pub struct Pair(pub usize);

/// Where words go.
#[derive(Clone, Copy)]
pub enum To {
    /// To one register.
    Register(usize),
    /// Around a ring of 2^15 bytes.
    Ring(usize),
}

impl Pair {
    /// Moves words as the source asks for it, by a number of the datasheet's table of DREQs.
    pub fn start(self, from: usize, to: To, dreq: u32) {
        let (address, ring) = match to {
            To::Register(address) => (address, 0),
            To::Ring(address) => (address, RING | WRITE_ON),
        };
        let control = |next: usize| ENABLED | FIRST | WORD | QUIET | ring | (next as u32) << 11 | dreq << 15;
        // The one written last begins.
        for (channel, next, place) in [(self.0 + 1, self.0, 0x10), (self.0, self.0 + 1, 0x0c)] {
            let base = DMA + 0x40 * channel;
            write(base, from as u32);
            write(base + 0x04, address as u32);
            write(base + 0x08, WORDS);
            write(base + place, control(next));
        }
    }

    pub fn stop(self) {
        // Not enabled first, so that neither starts the other.
        for channel in [self.0, self.0 + 1] {
            write(DMA + 0x40 * channel + 0x10, 0);
        }
        write(DMA + 0x444, 3 << self.0);
        while self.left(0).or(self.left(1)).is_some() {}
    }

    /// How many words were moved, modulo [`WORDS`].
    #[inline]
    pub fn moved(self) -> u32 {
        // Where neither is busy, one has just ended.
        (WORDS - self.left(0).or_else(|| self.left(1)).unwrap_or(0)) % WORDS
    }

    /// How many words one of them has yet to move, if it is at work.
    #[inline]
    fn left(self, which: usize) -> Option<u32> {
        let base = DMA + 0x40 * (self.0 + which);
        (read(base + 0x0c) & BUSY != 0).then(|| read(base + 0x08))
    }
}
