//! The converters that are known: what is asked of them, and what the answer means.
//!
//! | converter | bits | channels | range | `vref` | maker's data sheet |
//! | --- | --- | --- | --- | --- | --- |
//! | mcp3004, mcp3008 | 10 | 4, 8 | 0 to vref | 3.3 V | Microchip DS21295 |
//! | mcp3202 | 12 | 2 | 0 to vref (the supply) | 3.3 V | Microchip DS21034 |
//! | mcp3204, mcp3208 | 12 | 4, 8 | 0 to vref | 3.3 V | Microchip DS21298 |
//! | ads1256 | 24 | 8 | ± 2 vref | 2.5 V | Texas Instruments SBAS288 |
//! | ads131m02, ads131m04, ads131m08 | 24 | 2, 4, 8 | ± 1.2 V | inside | Texas Instruments SBAS853, SBAS890, SBAS950 |

use std::io;

use rustix::io::Errno;

use super::frames::{Bus, Frames};
use super::{ads131m, ads1256, mcp};

/// A kind of converter.
#[derive(Debug, PartialEq)]
pub struct Adc {
    /// Its name, in small letters.
    pub name: &'static str,
    /// How many channels it has.
    pub channels: u8,
    /// When clock and data change: 0 to 3.
    pub mode: u8,
    /// The bus clock it takes at 2.7 V already.
    pub usual_hz: u32,
    /// The bus clock it takes at most.
    pub most_hz: u32,
    /// The usual reference, in V.
    pub vref: f64,
    /// Whether that is its own, not a pin's.
    pub vref_is_inside: bool,
    /// One step of the value, as a part of the reference.
    step: f64,
    speech: Speech,
}

/// How it is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Speech {
    /// Three bytes for each channel.
    Mcp(mcp::Word),
    /// Commands, the input chosen for each channel.
    Ads1256,
    /// Frames of 24-bit words with all channels, and a checksum.
    Ads131m,
}

const fn mcp(name: &'static str, channels: u8, speeds_hz: [u32; 2], word: mcp::Word) -> Adc {
    let step = 1.0 / (1u32 << word.bits()) as f64;
    let [usual_hz, most_hz] = speeds_hz;
    let speech = Speech::Mcp(word);
    Adc { name, channels, mode: 0, usual_hz, most_hz, vref: 3.3, vref_is_inside: false, step, speech }
}

/// Full scale is 2^23 steps.
const fn ads131m(name: &'static str, channels: u8) -> Adc {
    let (mode, usual_hz, most_hz, step) = (1, 8_000_000, 25_000_000, 1.0 / 8_388_608.0);
    let speech = Speech::Ads131m;
    Adc { name, channels, mode, usual_hz, most_hz, vref: 1.2, vref_is_inside: true, step, speech }
}

/// Every converter that is known. Clocks of the MCP family: the data sheets' tables 1.0, at 2.7 V and at 5 V.
pub static ALL: [Adc; 9] = [
    mcp("mcp3004", 4, [1_350_000, 3_600_000], mcp::Word::Ten),
    mcp("mcp3008", 8, [1_350_000, 3_600_000], mcp::Word::Ten),
    mcp("mcp3202", 2, [900_000, 1_800_000], mcp::Word::TwelveOfTwo),
    mcp("mcp3204", 4, [1_000_000, 2_000_000], mcp::Word::Twelve),
    mcp("mcp3208", 8, [1_000_000, 2_000_000], mcp::Word::Twelve),
    Adc {
        name: "ads1256",
        channels: 8,
        mode: 1,
        // A quarter of its clock of 7.68 MHz at most.
        usual_hz: 1_000_000,
        most_hz: 1_920_000,
        vref: 2.5,
        vref_is_inside: false,
        // Full scale is twice the reference, 0x7fffff (SBAS288, "Data format").
        step: 2.0 / 8_388_607.0,
        speech: Speech::Ads1256,
    },
    ads131m("ads131m02", 2),
    ads131m("ads131m04", 4),
    ads131m("ads131m08", 8),
];

/// Their names, for people.
pub fn names() -> String {
    ALL.each_ref().map(|adc| adc.name).join(", ")
}

impl Adc {
    /// The one of this name, in capitals or not.
    pub fn named(name: &str) -> Option<&'static Adc> {
        ALL.iter().find(|adc| adc.name.eq_ignore_ascii_case(name))
    }

    /// One step of the value, in V.
    pub fn lsb(&self, vref: f64) -> f64 {
        self.step * vref
    }

    /// Brings it into the state that [`request`](Self::request) expects, and makes sure that it answers.
    pub fn set_up(&self, bus: &mut impl Bus) -> io::Result<()> {
        match self.speech {
            Speech::Mcp(_) => Ok(()),
            Speech::Ads1256 => ads1256::set_up(bus),
            Speech::Ads131m => ads131m::set_up(bus, self.channels),
        }
    }

    /// What reads these channels.
    pub fn request(&self, channels: &[u8]) -> Frames {
        match self.speech {
            Speech::Mcp(word) => channels.iter().fold(Frames::default(), |all, n| all.frame(&word.request(*n))),
            Speech::Ads1256 => channels.iter().fold(Frames::default(), |all, n| ads1256::request(all, *n)),
            Speech::Ads131m => ads131m::request(self.channels),
        }
    }

    /// What came back for these channels. `EIO` when it is no answer of such a converter.
    pub fn decode(&self, frames: &Frames, channels: &[u8], values: &mut [i64]) -> Result<(), Errno> {
        match self.speech {
            Speech::Mcp(word) => each(frames, mcp::BYTES, values, |_, answer| word.value(answer)),
            Speech::Ads1256 => each(frames, ads1256::BYTES, values, ads1256::value),
            Speech::Ads131m => ads131m::values(&frames.received, self.channels, channels, values).ok_or(Errno::IO),
        }
    }
}

/// One value from each so many bytes, by what was sent and what came back.
fn each(
    frames: &Frames,
    bytes: usize,
    values: &mut [i64],
    one: impl Fn(&[u8], &[u8]) -> Option<i64>,
) -> Result<(), Errno> {
    let pairs = frames.sent.chunks_exact(bytes).zip(frames.received.chunks_exact(bytes));
    for (value, (request, answer)) in values.iter_mut().zip(pairs) {
        *value = one(request, answer).ok_or(Errno::IO)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_those_of_the_data_sheets() {
        let value = |name, vref, raw: f64| Adc::named(name).unwrap().lsb(vref) * raw;
        // DS21295 and DS21298, equations 4-1 and 4-2: LSB = VREF / 1024, VREF / 4096.
        assert_eq!(value("MCP3008", 5.0, 512.0), 2.5);
        assert_eq!(value("mcp3208", 4.096, 1.0), 0.001);
        assert_eq!(value("ads1256", 2.5, 8_388_607.0), 5.0);
        assert!((value("ads131m04", 1.2, 8_388_608.0) - 1.2).abs() < 1e-12);
    }
}
