//! The symbols between two marks.

use crate::code::Code;
use crate::frame::LARGEST_BLOCK;
use crate::scale::Width;
use crate::wave::AROUND;

/// Gathers the values of symbols until a mark says that it was all.
#[derive(Debug)]
pub struct Block {
    code: Code,
    open: bool,
    /// The gap of the mark itself is next: it carries nothing.
    after_mark: bool,
    pulse: Option<Pulse>,
    symbols: usize,
    pending: u64,
    bits: u32,
    bytes: Vec<u8>,
    sure: bool,
    pulses: Vec<u64>,
}

#[derive(Debug, Clone, Copy)]
struct Pulse {
    width: Width,
    sure: bool,
    ns: u64,
}

/// A block that has as many symbols as bytes need.
#[derive(Debug)]
pub struct DecodedBlock {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Nothing in it was odd.
    pub sure: bool,
    /// How wide its pulses were, in ns.
    pub pulses: Vec<u64>,
}

impl Block {
    /// Nothing is gathered before the first mark.
    pub fn new(code: Code) -> Self {
        let bytes = Vec::with_capacity(LARGEST_BLOCK + AROUND);
        Self {
            code,
            open: false,
            after_mark: false,
            pulse: None,
            symbols: 0,
            pending: 0,
            bits: 0,
            bytes,
            sure: true,
            pulses: Vec::new(),
        }
    }

    /// A mark: the block before it, if there is one, and a new one begins.
    pub fn mark(&mut self) -> Option<DecodedBlock> {
        let whole = self.open && self.symbols > 0 && self.symbols == self.code.symbols(self.bytes.len());
        let ended = whole.then(|| DecodedBlock {
            bytes: std::mem::take(&mut self.bytes),
            sure: self.sure,
            pulses: std::mem::take(&mut self.pulses),
        });
        self.forget();
        (self.open, self.after_mark) = (true, true);
        ended
    }

    /// Gathers nothing more until the next mark.
    pub fn forget(&mut self) {
        self.bytes.clear();
        self.pulses.clear();
        (self.open, self.after_mark, self.pulse, self.sure) = (false, false, None, true);
        (self.symbols, self.pending, self.bits) = (0, 0, 0);
    }

    /// A pulse that is no mark.
    pub fn pulse(&mut self, width: Width, sure: bool, ns: u64) {
        self.after_mark = false;
        self.pulse = Some(Pulse { width, sure, ns });
    }

    /// A gap, which ends the symbol.
    pub fn gap(&mut self, width: Width, sure: bool) {
        let is_of_mark = std::mem::take(&mut self.after_mark);
        let Some(pulse) = self.pulse.take().filter(|_| self.open && !is_of_mark) else { return };
        let carries = self.code.gap_bits > 0;
        if pulse.width == Width::Cancelled || carries && width == Width::Cancelled {
            // A merged stretch looks the same to a receiver that was stopped: then the symbols are too few.
            return;
        }
        self.symbols += 1;
        self.pulses.push(pulse.ns);
        self.value(pulse.width, pulse.sure, self.code.pulse_bits);
        match self.code.gap_bits {
            0 => self.sure &= sure,
            bits => self.value(width, sure, bits),
        }
        // Nothing is that long: a mark was missed.
        self.open = self.bytes.len() <= LARGEST_BLOCK + AROUND;
    }

    fn value(&mut self, width: Width, sure: bool, bits: u8) {
        let (value, fits) = match width {
            Width::Value(value, _) => (value, true),
            Width::Mark | Width::Cancelled | Width::Odd => (0, false),
        };
        self.sure &= sure && fits;
        self.pending = self.pending << bits | u64::from(value);
        self.bits += u32::from(bits);
        while self.bits >= 8 {
            self.bits -= 8;
            self.bytes.push((self.pending >> self.bits) as u8);
        }
    }
}
