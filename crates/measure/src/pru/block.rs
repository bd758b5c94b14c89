//! The block of shared RAM through which one PRU gets its commands and reports what it did.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};

use ontick_gpio::registers::{Registers, Window};

use super::host::Host;
use super::layout::{BLOCK, CELLS_COUNT, IS_READY, SHARED_BYTES, SHARED_RAM, at, state};
use crate::Error;

/// One PRU's block, mapped.
#[derive(Debug)]
pub(super) struct Block {
    window: Window,
    from: usize,
}

impl Block {
    /// Maps it. Nothing is touched yet: that is for when the PRUs are powered.
    pub fn open(host: &Host, pru: u32) -> Result<Self, Error> {
        let path = host.at("dev/mem");
        let fails = |error: io::Error| {
            let what = format!("the PRU's shared RAM cannot be had through {}", path.display());
            Error::Impossible(match error.raw_os_error() {
                Some(libc::EACCES) => format!("{what}: only root may (sudo)"),
                Some(libc::EPERM) => {
                    format!("{what}: the kernel keeps programs from it (boot with iomem=relaxed, or without lockdown)")
                }
                _ => format!("{what}: {error}"),
            })
        };
        let mut open = OpenOptions::new();
        // O_SYNC has /dev/mem map it as a device's memory, not as memory to be cached.
        let file = open.read(true).write(true).custom_flags(libc::O_SYNC).open(&path).map_err(fails)?;
        // A file in the place of the device holds the RAM alone.
        let device = file.metadata().map_err(fails)?.file_type().is_char_device();
        let window = Window::map(&file, if device { SHARED_RAM } else { 0 }, SHARED_BYTES).map_err(fails)?;
        Ok(Self { window, from: pru as usize * BLOCK })
    }

    /// The word there.
    pub fn read(&mut self, offset: usize) -> u32 {
        self.window.read(self.from + offset)
    }

    /// Writes the word there.
    pub fn write(&mut self, offset: usize, value: u32) {
        self.window.write(self.from + offset, value);
    }

    /// Asks the firmware to end, and waits for so many ms at most until it has. Makes no system call but sleeping, so
    /// that it may be called in a forked child.
    pub fn end(&mut self, patience_ms: u64) -> bool {
        if self.read(at::MAGIC) != IS_READY {
            return true;
        }
        self.write(at::COMMAND, 0);
        for _ in 0..=patience_ms {
            // What does not run is at rest: it says so after it has set the line.
            if self.read(at::STATE) != state::RUNNING {
                return true;
            }
            ontick_rt::clock::sleep_for(1_000_000);
        }
        false
    }

    /// What it has found so far.
    pub fn found(&mut self) -> PruCounts {
        let cells = (0..CELLS_COUNT).map(|cell| self.read(at::CELLS + 4 * cell)).collect();
        PruCounts {
            cells,
            base: self.read(at::BASE),
            least: self.read(at::LEAST),
            most: self.read(at::MOST),
            below: self.read(at::BELOW),
            above: self.read(at::ABOVE),
            sum: u64::from(self.read(at::SUM_HIGH)) << 32 | u64::from(self.read(at::SUM_LOW)),
            done: self.read(at::DONE),
            late: self.read(at::LATE),
            read: self.read(at::READ),
        }
    }
}

/// What a PRU measured, in cycles.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct PruCounts {
    /// How often each count of cycles was, from `base` on.
    pub cells: Vec<u32>,
    pub base: u32,
    pub least: u32,
    pub most: u32,
    pub below: u32,
    pub above: u32,
    pub sum: u64,
    pub done: u32,
    pub late: u32,
    /// What reading the counter takes.
    pub read: u32,
}
