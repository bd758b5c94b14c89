//! The ADS131M02, ADS131M04 and ADS131M08 (SBAS853, SBAS890, SBAS950): all channels at once, in frames of words.
//!
//! A frame has a word for the command and its late answer, one for each channel and one for the checksum, 24 bits each
//! ("SPI communication frames"). The converter runs freely, 4000 conversions a second after a reset, and keeps two: so
//! two frames are read in quick succession and the second counts ("Collecting data for the first time or after a pause
//! in data collection"). A frame with a wrong checksum is no answer.

use std::io;
use std::thread::sleep;
use std::time::Duration;

use super::frames::{Bus, Frames};
use super::signed::signed_24;

const WORD: usize = 3;
// "Commands".
const NULL: u16 = 0x0000;
const RESET: u16 = 0x0011;
/// One register from address 0 on: ID.
const READ_ID: u16 = 0xa000;
/// tREGACQ, 5 µs, and more.
const AFTER_RESET_US: u16 = 20;
/// Three conversions until the filter has settled, and the start before them.
const START: Duration = Duration::from_millis(5);

fn words(channels: u8) -> usize {
    usize::from(channels) + 2
}

fn command(command: u16, channels: u8) -> Vec<u8> {
    let mut frame = vec![0; words(channels) * WORD];
    frame[..2].copy_from_slice(&command.to_be_bytes());
    frame
}

/// What reads all channels.
pub fn request(channels: u8) -> Frames {
    let frame = command(NULL, channels);
    Frames::default().frame(&frame).frame(&frame)
}

/// The wanted channels' values in the second frame.
pub fn values(received: &[u8], channels: u8, wanted: &[u8], values: &mut [i64]) -> Option<()> {
    let frame = received.get(words(channels) * WORD..)?;
    if !is_whole(frame) {
        return None;
    }
    for (value, channel) in values.iter_mut().zip(wanted) {
        let at = (usize::from(*channel) + 1) * WORD;
        *value = signed_24([frame[at], frame[at + 1], frame[at + 2]]);
    }
    Some(())
}

/// Whether the last word is the checksum of all before.
fn is_whole(frame: &[u8]) -> bool {
    let (data, last) = frame.split_at(frame.len() - WORD);
    last[..2] == checksum(data).to_be_bytes()
}

/// CRC-16-CCITT: polynomial 0x1021, begun with ones ("Communication cyclic redundancy check").
fn checksum(data: &[u8]) -> u16 {
    data.iter().fold(0xffff, |crc, byte| {
        (0..8).fold(crc ^ u16::from(*byte) << 8, |crc, _| crc << 1 ^ if crc & 0x8000 == 0 { 0 } else { 0x1021 })
    })
}

/// Resets it, and asks what it is.
pub fn set_up(bus: &mut impl Bus, channels: u8) -> io::Result<()> {
    bus.exchange(&mut Frames::default().rest(&command(RESET, channels), AFTER_RESET_US))?;
    sleep(START);
    let mut ask = Frames::default().frame(&command(READ_ID, channels)).frame(&command(NULL, channels));
    bus.exchange(&mut ask)?;
    let answer = &ask.received[words(channels) * WORD..];
    // ID: 2, the number of channels, and a reserved byte.
    if is_whole(answer) && answer[0] == 0x20 | channels {
        return Ok(());
    }
    let what = match is_whole(answer) && answer[0] & 0xf0 == 0x20 {
        true => format!("this is an ADS131M0{}", answer[0] & 0x0f),
        false => format!("no ADS131M0{channels} answers: check wiring, supply, clock and chip select"),
    };
    Err(io::Error::other(what))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rustix::io::Errno;

    use super::*;
    use crate::Source;
    use crate::source::spi::{Spi, SpiSpec};

    /// A converter that answers each frame with the result of the command before.
    struct Converter {
        inputs: Vec<i32>,
        answer: u16,
        damage: Option<usize>,
    }

    impl Bus for Converter {
        fn exchange(&mut self, frames: &mut Frames) -> Result<(), Errno> {
            let mut at = 0;
            for cut in &frames.cuts {
                let whole = (self.inputs.len() + 2) * WORD;
                assert_eq!(cut.bytes, whole);
                let mut frame: Vec<u8> = [self.answer.to_be_bytes().as_slice(), &[0]].concat();
                self.inputs.iter().for_each(|value| frame.extend(&value.to_be_bytes()[1..]));
                let crc = checksum(&frame);
                frame.extend([(crc >> 8) as u8, crc as u8, 0]);
                frames.received[at..][..whole].copy_from_slice(&frame);
                self.answer = match u16::from_be_bytes([frames.sent[at], frames.sent[at + 1]]) {
                    NULL => 0x0500,
                    RESET => 0xff20 | self.inputs.len() as u16,
                    READ_ID => 0x2000 | (self.inputs.len() as u16) << 8,
                    command => panic!("{command:#x} is no command"),
                };
                at += whole;
            }
            if let Some(bit) = self.damage {
                let bits = frames.received.len() * 8;
                // In the second frame, and not in the last byte, which is padding.
                let bit = bits / 2 + bit % (bits / 2 - 8);
                frames.received[bit / 8] ^= 1 << (bit % 8);
            }
            Ok(())
        }
    }

    fn converter(inputs: Vec<i32>) -> Converter {
        Converter { inputs, answer: 0, damage: None }
    }

    #[test]
    fn the_checksum_is_the_standards() {
        // The check value of CRC-16/CCITT-FALSE.
        assert_eq!(checksum(b"123456789"), 0x29b1);
    }

    #[test]
    fn another_converter_is_named() {
        let asked = SpiSpec::read("x,ads131m04").unwrap();
        let refused = Spi::with(Absent, &asked).err().unwrap().to_string();
        assert!(refused.contains("no ADS131M04 answers"), "{refused}");
    }

    /// A line that nobody drives.
    struct Absent;

    impl Bus for Absent {
        fn exchange(&mut self, frames: &mut Frames) -> Result<(), Errno> {
            frames.received.fill(0xff);
            Ok(())
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn values_arrive_and_damage_is_noticed(
            size in 1u32..=3,
            all in proptest::collection::vec(-8_388_608i32..=8_388_607, 8),
            damage in any::<usize>(),
        ) {
            let channels = 1usize << size;
            let asked = format!("x,ads131m0{channels},channels=1");
            let inputs = all[..channels].to_vec();
            let mut spi = Spi::with(converter(inputs.clone()), &SpiSpec::read(&asked).unwrap()).unwrap();
            let mut values = [0];
            prop_assert_eq!(spi.read(0, &mut values), Ok(()));
            prop_assert_eq!(values, [i64::from(inputs[1])]);
            spi.bus.damage = Some(damage);
            prop_assert_eq!(spi.read(0, &mut values), Err(Errno::IO));
        }
    }
}
