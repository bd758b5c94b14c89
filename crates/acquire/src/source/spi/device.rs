//! The kernel's SPI devices: see *Documentation/spi/spidev.rst* and `linux/spi/spidev.h`.

use std::fs::OpenOptions;
use std::io;

use rustix::io::Errno;
use spidev::{SpiModeFlags, Spidev, SpidevOptions, SpidevTransfer};

use super::frames::{Bus, Frames};
use crate::Error;

/// The most stretches of one exchange.
pub(super) const MOST: usize = 96;

/// An open SPI device.
#[derive(Debug)]
pub struct Device {
    bus: Spidev,
    speed_hz: u32,
}

impl Device {
    /// Opens it for a converter that wants this mode and speed.
    pub fn open(path: &str, mode: u8, speed_hz: u32) -> Result<Self, Error> {
        let file = OpenOptions::new().read(true).write(true).open(path);
        let file = file.map_err(|error| refusal(path, &error).unwrap_or_else(|| system(path, error)))?;
        let mut bus = Spidev::new(file);
        let mut options = SpidevOptions::new();
        options.mode(SpiModeFlags::from_bits_retain(mode.into())).bits_per_word(8).max_speed_hz(speed_hz);
        bus.configure(&options).map_err(|error| match Errno::from_io_error(&error).unwrap_or(Errno::IO) {
            Errno::NOTTY => asked(path, "is no SPI device (those are /dev/spidevBUS.SELECT)"),
            Errno::INVAL => asked(path, &format!("its controller does not do SPI mode {mode}")),
            errno => system(path, errno.into()),
        })?;
        Ok(Self { bus, speed_hz })
    }
}

fn refusal(path: &str, error: &io::Error) -> Option<Error> {
    match error.kind() {
        io::ErrorKind::NotFound => Some(asked(path, &format!("there is no such device ({})", instead()))),
        io::ErrorKind::PermissionDenied => Some(asked(
            path,
            "no permission to open it (join the group spi: sudo usermod -aG spi $USER, then log in again; or use sudo)",
        )),
        _ => None,
    }
}

/// What there is, or how it comes to be.
fn instead() -> String {
    let entries = std::fs::read_dir("/dev").into_iter().flatten();
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| name.starts_with("spidev")).collect();
    names.sort();
    match names.is_empty() {
        true => "/dev has no spidev at all: enable SPI, on a Raspberry Pi with dtparam=spi=on in config.txt".into(),
        false => format!("there is {}", names.join(", ")),
    }
}

fn asked(path: &str, why: &str) -> Error {
    Error::Invalid { what: "SPI device", text: path.into(), why: why.into() }
}

fn system(path: &str, error: io::Error) -> Error {
    Error::System { what: format!("setting up the SPI device {path}"), error }
}

impl Bus for Device {
    fn exchange(&mut self, frames: &mut Frames) -> Result<(), Errno> {
        let count = frames.cuts.len();
        let total: usize = frames.cuts.iter().map(|cut| cut.bytes).sum();
        if count > MOST || total != frames.sent.len() || total != frames.received.len() {
            return Err(Errno::INVAL);
        }
        let (mut sent, mut received) = (&frames.sent[..], &mut frames.received[..]);
        // On the stack: nothing is allocated between two samples.
        let mut transfers: [SpidevTransfer; MOST] = std::array::from_fn(|_| SpidevTransfer::default());
        for (n, (transfer, cut)) in transfers.iter_mut().zip(&frames.cuts).enumerate() {
            let (from, to);
            (from, sent) = sent.split_at(cut.bytes);
            (to, received) = std::mem::take(&mut received).split_at_mut(cut.bytes);
            *transfer = SpidevTransfer::read_write(from, to);
            (transfer.speed_hz, transfer.bits_per_word) = (self.speed_hz, 8);
            transfer.delay_usecs = cut.pause_us;
            // The last transfer of a message deselects by itself; there the flag means the opposite.
            transfer.cs_change = u8::from(cut.ends && n + 1 < count);
        }
        let done = self.bus.transfer_multiple(&mut transfers[..count]);
        done.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permission_is_the_group_spi() {
        let refused = refusal("/dev/spidev0.0", &io::ErrorKind::PermissionDenied.into()).unwrap().to_string();
        assert!(refused.contains("/dev/spidev0.0") && refused.contains("group spi"), "{refused}");
    }

    #[test]
    fn an_exchange_with_something_else_fails_and_says_so() {
        let file = OpenOptions::new().read(true).write(true).open("/dev/null").unwrap();
        let mut device = Device { bus: Spidev::new(file), speed_hz: 1_000_000 };
        assert_eq!(device.exchange(&mut Frames::default().frame(&[1, 2, 3])), Err(Errno::NOTTY));
        let many = (0..=MOST).fold(Frames::default(), |frames, _| frames.frame(&[0]));
        assert_eq!(device.exchange(&mut { many }), Err(Errno::INVAL));
    }
}
