//! Pins of a PRU, by the names of a BeagleBone's headers or by their bits.

use std::fmt;
use std::str::FromStr;

/// A pin of a header that a PRU can have (AM335x data sheet, table 4-1; *BeagleBone Black System Reference Manual*,
/// tables 12 and 13).
#[derive(Debug, PartialEq, Eq)]
struct Header {
    name: &'static str,
    pru: u32,
    bit: u32,
    /// Where its pad's register is, behind the control module's 0x44e10000.
    pad: u32,
    /// The pad's mode in which it is a bit of r30.
    output: Option<u32>,
    /// The mode in which it is a bit of r31.
    input: Option<u32>,
}

const fn both(name: &'static str, pru: u32, bit: u32, pad: u32) -> Header {
    Header { name, pru, bit, pad, output: Some(5), input: Some(6) }
}

const fn output(name: &'static str, pru: u32, bit: u32, pad: u32) -> Header {
    Header { name, pru, bit, pad, output: Some(6), input: None }
}

const fn input(name: &'static str, pru: u32, bit: u32, pad: u32) -> Header {
    Header { name, pru, bit, pad, output: None, input: Some(6) }
}

const HEADERS: [Header; 26] = [
    both("P9_31", 0, 0, 0x990),
    both("P9_29", 0, 1, 0x994),
    both("P9_30", 0, 2, 0x998),
    both("P9_28", 0, 3, 0x99c),
    both("P9_27", 0, 5, 0x9a4),
    both("P9_25", 0, 7, 0x9ac),
    output("P8_12", 0, 14, 0x830),
    output("P8_11", 0, 15, 0x834),
    input("P8_16", 0, 14, 0x838),
    input("P8_15", 0, 15, 0x83c),
    input("P9_24", 0, 16, 0x984),
    both("P8_45", 1, 0, 0x8a0),
    both("P8_46", 1, 1, 0x8a4),
    both("P8_43", 1, 2, 0x8a8),
    both("P8_44", 1, 3, 0x8ac),
    both("P8_41", 1, 4, 0x8b0),
    both("P8_42", 1, 5, 0x8b4),
    both("P8_39", 1, 6, 0x8b8),
    both("P8_40", 1, 7, 0x8bc),
    both("P8_27", 1, 8, 0x8e0),
    both("P8_29", 1, 9, 0x8e4),
    both("P8_28", 1, 10, 0x8e8),
    both("P8_30", 1, 11, 0x8ec),
    both("P8_21", 1, 12, 0x880),
    both("P8_20", 1, 13, 0x884),
    input("P9_26", 1, 16, 0x980),
];

/// The last bits: of r30, and of r31 as far as they are pins.
const LAST: [u32; 2] = [15, 16];

/// Whether a pin is driven or read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// A bit of r30.
    Output,
    /// A bit of r31.
    Input,
}

/// A pin of a PRU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pin {
    /// Which PRU.
    pub pru: u32,
    /// Which bit of r30 or r31.
    pub bit: u32,
    header: Option<&'static Header>,
}

/// What a pad must be set to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pad {
    /// Where its register is.
    pub address: u64,
    /// The mode.
    pub mode: u32,
    /// Whether its receiver must be on.
    pub receives: bool,
}

/// Why a pin cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PinError {
    /// A text that names none.
    #[error("\"{0}\" names no pin of a PRU (write P9_31, or pru0:0 for bit 0 of PRU 0; docs/pru.md lists them)")]
    Unknown(String),
    /// The header's pin leads to no such register.
    #[error("{pin} cannot be {} by a PRU (docs/pru.md)", if *way == Direction::Output { "driven" } else { "read" })]
    NotWired {
        /// The pin.
        pin: Pin,
        /// How it was to be used.
        way: Direction,
    },
    /// A bit without a pin.
    #[error("{pin}: the bits of {} that are pins end with {last}", if *way == Direction::Output { "r30" } else { "r31" })]
    NoSuchBit {
        /// The pin.
        pin: Pin,
        /// How it was to be used.
        way: Direction,
        /// The last bit that is one.
        last: u32,
    },
}

impl Pin {
    /// Refuses a pin that cannot be used this way.
    pub fn check(&self, way: Direction) -> Result<(), PinError> {
        let last = LAST[usize::from(way == Direction::Input)];
        match self.header {
            Some(_) if self.pad(way).is_none() => Err(PinError::NotWired { pin: *self, way }),
            None if self.bit > last => Err(PinError::NoSuchBit { pin: *self, way, last }),
            _ => Ok(()),
        }
    }

    /// What its pad must be set to; `None` where the header's pin is not known.
    pub fn pad(&self, way: Direction) -> Option<Pad> {
        let header = self.header?;
        let mode = match way {
            Direction::Output => header.output,
            Direction::Input => header.input,
        }?;
        Some(Pad { address: 0x44e1_0000 + u64::from(header.pad), mode, receives: way == Direction::Input })
    }
}

impl FromStr for Pin {
    type Err = PinError;

    fn from_str(text: &str) -> Result<Self, PinError> {
        let header = text.replace('.', "_").to_uppercase();
        if let Some(header) = HEADERS.iter().find(|known| known.name == header) {
            return Ok(Self { pru: header.pru, bit: header.bit, header: Some(header) });
        }
        let bits = text.strip_prefix("pru").and_then(|rest| rest.split_once(':'));
        match bits.map(|(pru, bit)| (pru, bit.parse::<u32>())) {
            Some(("0", Ok(bit))) if bit <= LAST[1] => Ok(Self { pru: 0, bit, header: None }),
            Some(("1", Ok(bit))) if bit <= LAST[1] => Ok(Self { pru: 1, bit, header: None }),
            _ => Err(PinError::Unknown(text.into())),
        }
    }
}

impl fmt::Display for Pin {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self.header {
            Some(header) => f.write_str(header.name),
            None => write!(f, "pru{}:{}", self.pru, self.bit),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_both_kinds() {
        for (text, pru, bit, shown) in [
            ("P9_31", 0, 0, "P9_31"),
            ("p8.45", 1, 0, "P8_45"),
            ("pru1:16", 1, 16, "pru1:16"),
            ("P8_11", 0, 15, "P8_11"),
        ] {
            let pin: Pin = text.parse().unwrap();
            assert_eq!((pin.pru, pin.bit, pin.to_string().as_str()), (pru, bit, shown));
        }
        for text in ["", "P9_99", "pru2:0", "pru0", "pru0:17", "pru0:-1", "gpiochip0:3"] {
            assert!(text.parse::<Pin>().unwrap_err().to_string().contains("P9_31"), "{text}");
        }
    }

    #[test]
    fn a_pin_says_what_it_can_do() {
        let pin = |text: &str| text.parse::<Pin>().unwrap();
        assert!(pin("P8_12").check(Direction::Input).unwrap_err().to_string().contains("cannot be read"));
        assert!(pin("P8_16").check(Direction::Output).unwrap_err().to_string().contains("cannot be driven"));
        assert!(pin("pru0:16").check(Direction::Output).unwrap_err().to_string().contains("end with 15"));
        assert_eq!(pin("pru0:16").check(Direction::Input), Ok(()));
        let pad = |text, way| pin(text).pad(way).map(|pad| (pad.address, pad.mode, pad.receives));
        assert_eq!(pad("P9_31", Direction::Output), Some((0x44e1_0990, 5, false)));
        assert_eq!(pad("P9_31", Direction::Input), Some((0x44e1_0990, 6, true)));
        assert_eq!(pad("P8_11", Direction::Output), Some((0x44e1_0834, 6, false)));
        assert_eq!(pad("pru0:3", Direction::Output), None);
    }

    #[test]
    fn no_two_pins_are_one() {
        let mut pads: Vec<u32> = HEADERS.iter().map(|header| header.pad).collect();
        pads.sort_unstable();
        pads.dedup();
        assert_eq!(pads.len(), HEADERS.len());
        for way in [Direction::Output, Direction::Input] {
            let mut bits: Vec<_> = HEADERS
                .iter()
                .filter(|header| if way == Direction::Output { header.output } else { header.input }.is_some())
                .map(|header| (header.pru, header.bit))
                .collect();
            bits.sort_unstable();
            let all = bits.len();
            bits.dedup();
            assert_eq!(bits.len(), all, "{way:?}");
        }
    }
}
