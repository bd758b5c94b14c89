//! The kernel's SPI devices: see *Documentation/spi/spidev.rst* and `linux/spi/spidev.h`.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::fs::{File, OpenOptions};
use std::io;

use rustix::io::Errno;
use rustix::ioctl::{Direction, Ioctl, IoctlOutput, Opcode, Setter, ioctl, opcode};

use super::frames::{Bus, Frames};
use crate::Error;

/// `struct spi_ioc_transfer`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct Transfer {
    tx_buf: u64,
    rx_buf: u64,
    len: u32,
    speed_hz: u32,
    delay_usecs: u16,
    bits_per_word: u8,
    cs_change: u8,
    tx_nbits: u8,
    rx_nbits: u8,
    word_delay_usecs: u8,
    pad: u8,
}

/// The most stretches of one exchange.
pub(super) const MOST: usize = 96;
const GROUP: u8 = b'k';
const WRITE_MODE: Opcode = opcode::write::<u8>(GROUP, 1);
const WRITE_BITS_PER_WORD: Opcode = opcode::write::<u8>(GROUP, 3);
const WRITE_SPEED: Opcode = opcode::write::<u32>(GROUP, 4);

/// An open SPI device.
#[derive(Debug)]
pub struct Device {
    file: File,
    speed_hz: u32,
    transfers: Box<[Transfer; MOST]>,
}

impl Device {
    /// Opens it for a converter that wants this mode and speed.
    pub fn open(path: &str, mode: u8, speed_hz: u32) -> Result<Self, Error> {
        let file = OpenOptions::new().read(true).write(true).open(path);
        let file = file.map_err(|error| refusal(path, &error).unwrap_or_else(|| system(path, error)))?;
        set_up(&file, mode, speed_hz).map_err(|errno| match errno {
            Errno::NOTTY => asked(path, "is no SPI device (those are /dev/spidevBUS.SELECT)"),
            Errno::INVAL => asked(path, &format!("its controller does not do SPI mode {mode}")),
            errno => system(path, errno.into()),
        })?;
        Ok(Self { file, speed_hz, transfers: Box::new([Transfer::default(); MOST]) })
    }
}

fn set_up(file: &File, mode: u8, speed_hz: u32) -> Result<(), Errno> {
    // SAFETY: each reads one value of the type that is part of its number.
    unsafe {
        ioctl(file, Setter::<WRITE_MODE, u8>::new(mode))?;
        ioctl(file, Setter::<WRITE_BITS_PER_WORD, u8>::new(8))?;
        ioctl(file, Setter::<WRITE_SPEED, u32>::new(speed_hz))
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
        let (mut from, mut to) = (frames.sent.as_ptr() as u64, frames.received.as_mut_ptr() as u64);
        for (n, (transfer, cut)) in self.transfers.iter_mut().zip(&frames.cuts).enumerate() {
            *transfer = Transfer {
                tx_buf: from,
                rx_buf: to,
                len: cut.bytes as u32,
                speed_hz: self.speed_hz,
                delay_usecs: cut.pause_us,
                bits_per_word: 8,
                // The last transfer of a message deselects by itself; there the flag means the opposite.
                cs_change: u8::from(cut.ends && n + 1 < count),
                ..Transfer::default()
            };
            (from, to) = (from + cut.bytes as u64, to + cut.bytes as u64);
        }
        // SAFETY: the transfers' buffers are stretches of `sent` and `received`, whose lengths were compared above;
        // both outlive the call, and the kernel keeps neither.
        unsafe { ioctl(&self.file, Message { transfers: &mut self.transfers[..count] }) }
    }
}

/// `SPI_IOC_MESSAGE(N)`.
struct Message<'a> {
    transfers: &'a mut [Transfer],
}

// SAFETY: the number says how long the memory behind the pointer is, and the kernel only reads that.
unsafe impl Ioctl for Message<'_> {
    type Output = ();
    const IS_MUTATING: bool = false;

    fn opcode(&self) -> Opcode {
        opcode::from_components(Direction::Write, GROUP, 0, size_of_val(self.transfers))
    }

    fn as_ptr(&mut self) -> *mut c_void {
        self.transfers.as_mut_ptr().cast()
    }

    unsafe fn output_from_ptr(_: IoctlOutput, _: *mut c_void) -> rustix::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_spidev_h() {
        assert_eq!(size_of::<Transfer>(), 32);
        let mut transfers = [Transfer::default(); 3];
        let message = Message { transfers: &mut transfers };
        // As asm-generic/ioctl.h composes them; a few architectures do it another way.
        if cfg!(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "arm")) {
            assert_eq!(WRITE_MODE, 0x4001_6b01);
            assert_eq!(WRITE_SPEED, 0x4004_6b04);
            assert_eq!(message.opcode(), 0x4060_6b00);
        }
    }

    #[test]
    fn permission_is_the_group_spi() {
        let refused = refusal("/dev/spidev0.0", &io::ErrorKind::PermissionDenied.into()).unwrap().to_string();
        assert!(refused.contains("/dev/spidev0.0") && refused.contains("group spi"), "{refused}");
    }

    #[test]
    fn an_exchange_with_something_else_fails_and_says_so() {
        let file = OpenOptions::new().read(true).write(true).open("/dev/null").unwrap();
        let mut device = Device { file, speed_hz: 1_000_000, transfers: Box::new([Transfer::default(); MOST]) };
        assert_eq!(device.exchange(&mut Frames::default().frame(&[1, 2, 3])), Err(Errno::NOTTY));
        let many = (0..=MOST).fold(Frames::default(), |frames, _| frames.frame(&[0]));
        assert_eq!(device.exchange(&mut { many }), Err(Errno::INVAL));
    }
}
