//! Which pulse and which gap stand for which bits.

use std::fmt;
use std::str::FromStr;

/// A pulse-width code. A symbol is one pulse and the gap after it; the pulse has one of a power of two of
/// widths, evenly spaced, and so has the gap. Source 002's is `2x1`: a short pulse is 0, a long one 1, and the
/// gap says nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Code {
    /// Bits that a pulse's width carries.
    pub pulse_bits: u8,
    /// Bits that a gap's width carries.
    pub gap_bits: u8,
    /// The shortest pulse and gap, in ns.
    pub shortest_ns: u64,
    /// From one width to the next, in ns.
    pub step_ns: u64,
}

/// Text or figures that are no code.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("code \"{0}\": give the numbers of pulse widths and of gap widths, powers of two up to 16, such as 2x1 or 4x4")]
pub struct CodeError(String);

/// No silence shorter than this counts as a rest, in ns.
const SHORTEST_IDLE_NS: u64 = 200_000;
/// A mark is longer than the longest pulse by so many steps.
pub const MARK_STEPS: u64 = 2;
/// Ends are stopped for up to about so long hundreds of times a second, in ns.
const STOP_NS: u64 = 30_000;
/// Blocks last about so long: what stops an end for a moment spoils one or two of them, in ns.
const BLOCK_NS: f64 = 80_000.0;
/// Bytes of a block.
const BLOCKS: std::ops::RangeInclusive<usize> = 8..=32;

/// Most bits that one width carries.
const MOST_BITS: u8 = 4;

impl Code {
    /// Source 002's: pulses of 100 and 200 µs, gaps of 100 µs; 4 kb/s.
    pub const SOURCE_002: Code = Code { pulse_bits: 1, gap_bits: 0, shortest_ns: 100_000, step_ns: 100_000 };

    /// Bits per symbol.
    pub fn bits(self) -> u32 {
        u32::from(self.pulse_bits + self.gap_bits)
    }

    /// How long the pulse with this value is, in ns.
    pub fn pulse_ns(self, value: u32) -> u64 {
        self.shortest_ns + u64::from(value) * self.step_ns
    }

    /// How long the gap with this value is, in ns.
    pub fn gap_ns(self, value: u32) -> u64 {
        self.pulse_ns(value)
    }

    /// The greatest value of a pulse.
    pub fn longest_pulse(self) -> u32 {
        (1 << self.pulse_bits) - 1
    }

    /// The greatest value of a gap.
    pub fn longest_gap(self) -> u32 {
        (1 << self.gap_bits) - 1
    }

    /// How long the pulse is that begins a block, in ns: longer than any that carries bits.
    pub fn mark_ns(self) -> u64 {
        self.pulse_ns(self.longest_pulse()) + MARK_STEPS * self.step_ns
    }

    /// Whether a pulse of `ns` may be taken for a mark.
    pub fn resembles_mark(self, ns: u64) -> bool {
        self.mark_ns().abs_diff(ns) <= self.step_ns * 5 / 4
    }

    /// How long a stretch is, at least, that takes its symbol back, in ns: longer than a mark.
    pub fn cancel_ns(self) -> u64 {
        self.mark_ns() + MARK_STEPS * self.step_ns
    }

    /// A low line for this long rests, in ns: four times as long as any gap in a frame.
    pub fn idle_ns(self) -> u64 {
        (4 * self.gap_ns(self.longest_gap()).max(self.pulse_ns(self.longest_pulse()))).max(SHORTEST_IDLE_NS)
    }

    /// Symbols that carry so many bytes.
    pub fn symbols(self, bytes: usize) -> usize {
        (bytes * 8).div_ceil(self.bits() as usize)
    }

    /// Bytes of data in a block: as many as are worth what a block has around them, and no more than a moment's where a
    /// usual stop of either end is enough to spoil them.
    pub fn block_bytes(self) -> usize {
        let bytes = if self.step_ns >= STOP_NS { usize::MAX } else { (BLOCK_NS * self.raw_rate() / 8e9) as usize };
        bytes.clamp(*BLOCKS.start(), *BLOCKS.end())
    }

    /// Bits per second of a long run of random symbols, before frames and parity.
    pub fn raw_rate(self) -> f64 {
        let average = |bits: u8| self.shortest_ns as f64 + self.step_ns as f64 * f64::from((1u32 << bits) - 1) / 2.0;
        f64::from(self.bits()) * 1e9 / (average(self.pulse_bits) + average(self.gap_bits))
    }

    /// The name of its alphabet: `2x1`.
    pub fn alphabet(self) -> String {
        format!("{}x{}", 1 << self.pulse_bits, 1 << self.gap_bits)
    }

    /// The code with this alphabet (`2x1`, `4x4`) and widths.
    pub fn new(alphabet: &str, shortest_ns: u64, step_ns: u64) -> Result<Self, CodeError> {
        let Alphabet(pulse_bits, gap_bits) = alphabet.parse()?;
        Ok(Self { pulse_bits, gap_bits, shortest_ns, step_ns })
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{} from {} ns in steps of {} ns", self.alphabet(), self.shortest_ns, self.step_ns)
    }
}

/// Bits of pulse and gap.
struct Alphabet(u8, u8);

impl FromStr for Alphabet {
    type Err = CodeError;

    fn from_str(text: &str) -> Result<Self, CodeError> {
        let wrong = || CodeError(text.into());
        let bits = |number: &str| {
            let number: u32 = number.parse().ok()?;
            let bits = number.is_power_of_two().then(|| number.trailing_zeros() as u8)?;
            (bits <= MOST_BITS).then_some(bits)
        };
        let (pulses, gaps) = text.split_once('x').ok_or_else(wrong)?;
        let (pulse_bits, gap_bits) = (bits(pulses).ok_or_else(wrong)?, bits(gaps).ok_or_else(wrong)?);
        if pulse_bits + gap_bits == 0 {
            return Err(wrong());
        }
        Ok(Alphabet(pulse_bits, gap_bits))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_of_source_002_gives_its_rate() {
        assert_eq!(Code::SOURCE_002.alphabet(), "2x1");
        assert_eq!(Code::SOURCE_002.raw_rate(), 4_000.0);
        let dense = Code::new("4x4", 20_000, 10_000).unwrap();
        assert_eq!((dense.bits(), dense.pulse_ns(3), dense.idle_ns()), (4, 50_000, 200_000));
    }

    #[test]
    fn what_is_no_alphabet_is_explained() {
        for text in ["", "2", "1x1", "3x1", "2x0", "32x1", "x", "2x1x1", "-2x1"] {
            assert!(Code::new(text, 1, 1).unwrap_err().to_string().contains("powers of two"), "{text}");
        }
    }
}
