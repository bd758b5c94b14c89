//! The memory of a simulated chip, as laid out in its file.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64};

use rustix::mm::{MapFlags, ProtFlags};

use super::setup::Setup;
use super::track::Track;

/// Lines of a chip: as many as a Raspberry Pi's.
pub const LINES: u32 = 54;
/// First word of every chip's file.
pub const MAGIC: u64 = u64::from_le_bytes(*b"ontickSM");
/// Version of the layout; another one is refused.
pub const VERSION: u32 = 2;

/// The whole of a chip. All zeros but the first words is a new one.
#[repr(C, align(64))]
pub struct Chip {
    pub magic: AtomicU64,
    pub version: AtomicU32,
    pub lines: AtomicU32,
    _reserved: [u64; 6],
    pub setup: [Setup; LINES as usize],
    pub tracks: [Track; LINES as usize],
}

/// A chip's file in memory.
#[derive(Debug)]
pub struct Page {
    chip: NonNull<Chip>,
    /// Held open for the lock on it, which says that the chip is in use.
    _file: File,
}

// SAFETY: the chip is atomics only, and the mapping lasts as long as the page.
unsafe impl Send for Page {}
// SAFETY: as above.
unsafe impl Sync for Page {}

impl Page {
    /// How long the file is.
    pub const BYTES: u64 = size_of::<Chip>() as u64;

    /// Maps a file that is [`Page::BYTES`] long.
    pub fn map(file: File) -> io::Result<Self> {
        let (read_write, shared) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
        // SAFETY: a new mapping at an address of the kernel's choice.
        let memory =
            unsafe { rustix::mm::mmap(std::ptr::null_mut(), size_of::<Chip>(), read_write, shared, &file, 0)? };
        Ok(Self { chip: NonNull::new(memory.cast()).ok_or(io::ErrorKind::OutOfMemory)?, _file: file })
    }

    pub fn chip(&self) -> &Chip {
        // SAFETY: mapped readable, writable, page-aligned and this long until drop; any bytes are valid atomics.
        unsafe { self.chip.as_ref() }
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        // SAFETY: the mapping made in `map`; references into it end with `self`.
        let _ = unsafe { rustix::mm::munmap(self.chip.as_ptr().cast(), size_of::<Chip>()) };
    }
}
