//! The ADS1256 (SBAS288): commands and pauses.
//!
//! Each channel of a sample is a conversion of its own that begins when it is asked for: the input is chosen (against
//! AINCOM), the converter synchronised, and the result read when the filter has settled (table 13: 210 µs at 30 kSPS).
//! It is synchronised again just before, as in figure 19, so that no further conversion changes the result while it is
//! read. So a channel takes about 0.3 ms, and every value is of its own sample. The multiplexer's register is read back
//! after every value: a converter that is gone, or lost its power, is noticed.

use std::io;
use std::thread::sleep;
use std::time::Duration;

use super::frames::{Bus, Frames};
use super::signed::signed_24;

// "Command definitions".
const WAKEUP: u8 = 0x00;
const RDATA: u8 = 0x01;
const SDATAC: u8 = 0x0f;
const RREG: u8 = 0x10;
const WREG: u8 = 0x50;
const SELFCAL: u8 = 0xf0;
const SYNC: u8 = 0xfc;

// Registers.
const STATUS: u8 = 0;
const MUX: u8 = 1;
/// Highest byte first, no automatic calibration, no buffer.
const STATUS_WANTED: u8 = 0;
/// Clock out as after a reset, gain 1.
const ADCON_WANTED: u8 = 0x20;
/// 30 000 samples a second.
const DRATE_WANTED: u8 = 0xf0;
/// The negative input.
const AINCOM: u8 = 0x08;

// "Timing characteristics", at a clock of 7.68 MHz, rounded up, in µs.
/// t6, 50 clocks: from a command to its data.
const TO_DATA_US: u16 = 7;
/// t11, 4 clocks: to the next command.
const NEXT_US: u16 = 1;
/// t11 of SYNC, 24 clocks.
const AFTER_SYNC_US: u16 = 4;
/// t18: until the filter has settled, and a little more.
const SETTLE_US: u16 = 220;
/// Self-calibration takes 596 µs.
const CALIBRATION: Duration = Duration::from_millis(2);

/// Bytes of a request for one channel and of its answer.
pub const BYTES: usize = 14;
/// Where in them the input is chosen, the value comes, and the chosen input is read back.
const CHOSEN: usize = 2;
const VALUE: usize = 8;
const CHECK: usize = 13;

/// Adds what reads one channel.
pub fn request(frames: Frames, channel: u8) -> Frames {
    frames
        .part(&[WREG | MUX, 0, channel << 4 | AINCOM], NEXT_US)
        .part(&[SYNC], AFTER_SYNC_US)
        .part(&[WAKEUP], SETTLE_US)
        .part(&[SYNC], AFTER_SYNC_US)
        .part(&[WAKEUP], NEXT_US)
        .part(&[RDATA], TO_DATA_US)
        .part(&[0; 3], NEXT_US)
        .part(&[RREG | MUX, 0], TO_DATA_US)
        .frame(&[0])
}

/// The value in the answer.
pub fn value(request: &[u8], answer: &[u8]) -> Option<i64> {
    let is_there = request.get(CHOSEN)? == answer.get(CHECK)?;
    is_there.then(|| signed_24([answer[VALUE], answer[VALUE + 1], answer[VALUE + 2]]))
}

/// Settings and self-calibration.
pub fn set_up(bus: &mut impl Bus) -> io::Result<()> {
    let settings = [WREG | STATUS, 3, STATUS_WANTED, AINCOM, ADCON_WANTED, DRATE_WANTED];
    let mut configure = Frames::default().part(&[SDATAC], NEXT_US).part(&settings, NEXT_US).frame(&[SELFCAL]);
    bus.exchange(&mut configure)?;
    sleep(CALIBRATION);
    let mut look = Frames::default().part(&[RREG | STATUS, 3], TO_DATA_US).frame(&[0; 4]);
    bus.exchange(&mut look)?;
    match look.received[2..] {
        // The upper half of the status is the chip's identity, the lowest bit says whether data are ready.
        [status, AINCOM, ADCON_WANTED, DRATE_WANTED] if status & 0x0e == STATUS_WANTED => Ok(()),
        _ => Err(io::Error::other(format!(
            "no ADS1256 answers (its registers read {:02x?}): check wiring, supply, SPI mode and chip select",
            &look.received[2..]
        ))),
    }
}

#[cfg(test)]
mod tests {
    use rustix::io::Errno;

    use super::*;
    use crate::Source;
    use crate::source::spi::{Spi, SpiSpec};

    /// A converter that takes commands as the data sheet has them; its inputs are constant.
    struct Converter {
        registers: [u8; 11],
        inputs: [i32; 8],
        /// What is being converted, and what was last.
        running: Option<i32>,
        converted: Option<i32>,
        powered: bool,
    }

    impl Bus for Converter {
        fn exchange(&mut self, frames: &mut Frames) -> Result<(), Errno> {
            if !self.powered {
                frames.received.fill(0xff);
                return Ok(());
            }
            let (mut at, bytes) = (0, frames.sent.clone());
            while at < bytes.len() {
                let command = bytes[at];
                at += 1;
                match command {
                    SDATAC | SELFCAL => {}
                    WAKEUP => self.running = Some(self.inputs[(self.registers[1] >> 4) as usize]),
                    SYNC => self.converted = self.running.take(),
                    RDATA => {
                        let value = self.converted.take().expect("data before a conversion");
                        frames.received[at..at + 3].copy_from_slice(&value.to_be_bytes()[1..]);
                        at += 3;
                    }
                    _ => {
                        let (first, count) = ((command & 0x0f) as usize, bytes[at] as usize + 1);
                        at += 1;
                        match command & 0xf0 {
                            WREG => self.registers[first..][..count].copy_from_slice(&bytes[at..][..count]),
                            RREG => frames.received[at..][..count].copy_from_slice(&self.registers[first..][..count]),
                            _ => panic!("{command:#x} is no command"),
                        }
                        at += count;
                    }
                }
            }
            self.registers[0] |= 0x31;
            Ok(())
        }
    }

    #[test]
    fn a_converter_is_set_up_read_and_missed() {
        let inputs = [0, 1, -1, 8_388_607, -8_388_608, 5, 6, 7];
        let converter = Converter { registers: [0x55; 11], inputs, running: None, converted: None, powered: true };
        let mut spi = Spi::with(converter, &SpiSpec::read("x,ads1256,channels=1-4").unwrap()).unwrap();
        let mut values = [0; 4];
        spi.read(0, &mut values).unwrap();
        assert_eq!(values, [1, -1, 8_388_607, -8_388_608]);
        spi.bus.powered = false;
        assert_eq!(spi.read(0, &mut values), Err(Errno::IO));
        let gone = Converter { registers: [0; 11], inputs, running: None, converted: None, powered: false };
        let refused = Spi::with(gone, &SpiSpec::read("x,ads1256").unwrap()).err().unwrap().to_string();
        assert!(refused.contains("no ADS1256 answers"), "{refused}");
    }

    #[test]
    fn pauses_are_kept_and_the_converter_stays_selected_between_them() {
        let frames = request(Frames::default(), 7);
        assert_eq!(frames.sent, [0x51, 0, 0x78, 0xfc, 0, 0xfc, 0, 1, 0, 0, 0, 0x11, 0, 0]);
        assert_eq!(frames.sent.len(), BYTES);
        assert_eq!(frames.cuts.iter().map(|cut| cut.pause_us).collect::<Vec<_>>(), [1, 4, 220, 4, 1, 7, 1, 7, 0]);
        assert_eq!(frames.cuts.iter().filter(|cut| cut.ends).count(), 1);
    }
}
