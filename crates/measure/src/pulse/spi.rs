//! Pulses as bits on an SPI controller's data line, which its clock times (Linux: Documentation/spi/spidev.rst).

use std::fmt;
use std::fs::{self, OpenOptions};
use std::io;
use std::path::PathBuf;
use std::str::FromStr;

use ontick_gpio::Gone;
use ontick_units::exact;
use rustix::io::Errno;
use spidev::{Spidev, SpidevTransfer};

use crate::Error;

/// The fastest clock that is asked for: what every controller and a long wire can do, in Hz.
const FASTEST_HZ: u64 = 10_000_000;
/// A transfer begins and ends with so many bytes of low.
const PAD: usize = 1;
/// What the driver takes at a time unless its parameter says otherwise.
const CHUNK: usize = 4096;

/// A device of an SPI bus: `spidev0.0`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device(String);

/// A text that names none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" names no SPI device (write spidev0.0; ls /dev/spidev* shows those there are)")]
pub struct DeviceError(pub String);

impl FromStr for Device {
    type Err = DeviceError;

    fn from_str(text: &str) -> Result<Self, DeviceError> {
        let name = text.strip_prefix("/dev/").unwrap_or(text);
        let numbers = name.strip_prefix("spidev").and_then(|numbers| numbers.split_once('.'));
        let plain = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        match numbers {
            Some((bus, select)) if plain(bus) && plain(select) => Ok(Self(name.into())),
            _ => Err(DeviceError(text.into())),
        }
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A pulse as bits: so many ones at this clock, with low before and after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    /// Clock rate, in Hz.
    pub hz: u32,
    /// Bits that are one.
    pub ones: u64,
    /// What is sent, most significant bits first.
    pub bytes: Vec<u8>,
}

/// Why a pulse cannot be sent as bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PatternError {
    /// Shorter than one bit.
    #[error("a pulse of {} is shorter than a bit at {fastest_hz} Hz", exact(*width_ns))]
    UnderOneBit {
        /// The pulse, in ns.
        width_ns: u64,
        /// The fastest clock.
        fastest_hz: u64,
    },
    /// No clock is as fast.
    #[error("a pulse of {} needs too fast a clock", exact(*.0))]
    ClockTooFast(u64),
    /// No clock is as slow.
    #[error("a pulse of {} needs too slow a clock", exact(*.0))]
    ClockTooSlow(u64),
}

/// The pattern of a pulse this wide: at the fastest clock up to `fastest_hz` that fits `chunk` bytes and makes the
/// width a whole number of bits, as nearly as a clock in whole Hz can.
pub fn pattern(width_ns: u64, fastest_hz: u64, chunk: usize) -> Result<Pattern, PatternError> {
    const SECOND_NS: u64 = 1_000_000_000;
    let room = chunk.saturating_sub(2 * PAD) as u64 * 8;
    let fastest_bits = u128::from(width_ns) * u128::from(fastest_hz) / u128::from(SECOND_NS);
    let ones = u64::try_from(fastest_bits).unwrap_or(u64::MAX).min(room);
    if ones == 0 {
        return Err(PatternError::UnderOneBit { width_ns, fastest_hz });
    }
    let hz = (u128::from(ones) * u128::from(SECOND_NS) + u128::from(width_ns / 2)) / u128::from(width_ns);
    let hz = u32::try_from(hz).map_err(|_| PatternError::ClockTooFast(width_ns))?;
    if hz == 0 {
        return Err(PatternError::ClockTooSlow(width_ns));
    }
    let mut bytes = vec![0; PAD];
    bytes.extend(std::iter::repeat_n(0xff, (ones / 8) as usize));
    bytes.extend((ones % 8 > 0).then(|| 0xffu8 << (8 - ones % 8)));
    bytes.extend([0; PAD]);
    Ok(Pattern { hz, ones, bytes })
}

impl Device {
    /// Opens the device to send pulses of this width.
    pub(super) fn open(&self, width_ns: u64) -> Result<Sender, Error> {
        let path = PathBuf::from("/dev").join(&self.0);
        let fails = |why: String| Error::Impossible(format!("SPI device {self}: {why}"));
        let file = OpenOptions::new().read(true).write(true).open(&path).map_err(|error| {
            fails(match error.kind() {
                io::ErrorKind::NotFound => {
                    "there is no such device (ls /dev/spidev* shows those there are; a Raspberry Pi needs dtparam=spi=on)".into()
                }
                io::ErrorKind::PermissionDenied => "no permission (sudo, or the group spi)".into(),
                _ => format!("cannot be opened: {error}"),
            })
        })?;
        let pattern = pattern(width_ns, FASTEST_HZ, chunk()).map_err(|e| fails(e.to_string()))?;
        let sender = Sender { device: Spidev::new(file), pattern };
        // Once before anything is timed: a driver that refuses the clock is found out now.
        sender.pulse().map_err(|Gone(errno)| {
            fails(format!("refuses {} bytes at {} Hz: {errno}", sender.pattern.bytes.len(), sender.pattern.hz))
        })?;
        Ok(sender)
    }
}

/// What the driver takes at a time.
fn chunk() -> usize {
    let reported = fs::read_to_string("/sys/module/spidev/parameters/bufsiz");
    reported.ok().and_then(|text| text.trim().parse().ok()).unwrap_or(CHUNK)
}

/// An open device.
#[derive(Debug)]
pub(super) struct Sender {
    device: Spidev,
    pattern: Pattern,
}

impl Sender {
    /// Sends one pulse; returns when it is over.
    pub fn pulse(&self) -> Result<(), Gone> {
        let mut transfer = SpidevTransfer::write(&self.pattern.bytes);
        (transfer.speed_hz, transfer.bits_per_word) = (self.pattern.hz, 8);
        let done = self.device.transfer(&mut transfer);
        done.map_err(|error| Gone(Errno::from_io_error(&error).unwrap_or(Errno::IO)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_file_that_is_no_spi_device_is_reported_so() {
        let file = OpenOptions::new().write(true).open("/dev/null").unwrap();
        let sender = Sender { device: Spidev::new(file), pattern: pattern(10_000, FASTEST_HZ, CHUNK).unwrap() };
        assert_eq!(sender.pulse(), Err(Gone(Errno::NOTTY)));
        let missing = "spidev250.7".parse::<Device>().unwrap().open(10_000).unwrap_err().to_string();
        assert!(missing.contains("no such device") && missing.contains("spidev250.7"), "{missing}");
    }

    #[test]
    fn a_pulse_is_ones_between_lows() {
        let short = pattern(1_200, 10_000_000, CHUNK).unwrap();
        assert_eq!(short, Pattern { hz: 10_000_000, ones: 12, bytes: vec![0, 0xff, 0xf0, 0] });
        // As long as a chunk lets it be: the clock slows down.
        let long = pattern(1_000_000_000, 10_000_000, CHUNK).unwrap();
        assert_eq!((long.hz, long.ones, long.bytes.len()), (32_752, 32_752, CHUNK));
        assert!(pattern(50, 10_000_000, CHUNK).unwrap_err().to_string().contains("shorter than a bit"));
        assert!(pattern(1_000, 10_000_000, 2).is_err());
    }

    #[test]
    fn names() {
        assert_eq!("/dev/spidev0.1".parse::<Device>().unwrap().to_string(), "spidev0.1");
        for text in ["", "spi0.0", "spidev0", "spidev0.", "spidev.0", "/dev/../spidev0.0", "spidev0.0/x"] {
            assert!(text.parse::<Device>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn the_bits_are_as_wide_as_wanted(width_ns in 1_000u64..=1_000_000_000, chunk in 16usize..70_000) {
            let pattern = pattern(width_ns, FASTEST_HZ, chunk).unwrap();
            prop_assert!(pattern.bytes.len() <= chunk && u64::from(pattern.hz) <= FASTEST_HZ + FASTEST_HZ / 10);
            // One run of ones, low before and after it.
            let ones: u64 = pattern.bytes.iter().map(|byte| u64::from(byte.count_ones())).sum();
            let bits: Vec<bool> =
                pattern.bytes.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1 == 1)).collect();
            let changes = bits.windows(2).filter(|pair| pair[0] != pair[1]).count();
            prop_assert_eq!((ones, changes, bits[0], bits[bits.len() - 1]), (pattern.ones, 2, false, false));
            // A clock in whole Hz misses the width by half a Hz at most.
            let made_ns = ones as f64 * 1e9 / f64::from(pattern.hz);
            let bound_ns = width_ns as f64 * 0.51 / f64::from(pattern.hz) + 0.01;
            prop_assert!((made_ns - width_ns as f64).abs() <= bound_ns, "{} for {}", made_ns, width_ns);
        }
    }
}
