//! Registers in the memory of this process.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::ptr::NonNull;

use rustix::mm::{MapFlags, ProtFlags};

use super::layout::{Registers, Words};

/// Registers that are mapped, as 32-bit words.
///
/// Each read and each write is one access of 32 bits, never left out, doubled, split or moved behind another. A write
/// may still be on its way when it returns: see [`super`].
#[derive(Debug)]
pub struct Window {
    memory: NonNull<u32>,
    bytes: usize,
}

// SAFETY: the mapping is the window's own, lasts until it is dropped, and is reached through `&mut` only.
unsafe impl Send for Window {}
// SAFETY: as above; a shared window offers nothing.
unsafe impl Sync for Window {}

impl Window {
    /// Maps so many bytes of `file` from `offset` on, both whole pages.
    pub fn map(file: &File, offset: u64, bytes: usize) -> io::Result<Self> {
        let kind = file.metadata()?;
        if kind.is_file() && kind.len() < offset + bytes as u64 {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the file ends before its registers do"));
        }
        let (read_write, shared) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
        // SAFETY: a new mapping at an address of the kernel's choice.
        let memory = unsafe { rustix::mm::mmap(std::ptr::null_mut(), bytes, read_write, shared, file, offset)? };
        Ok(Self { memory: NonNull::new(memory.cast()).ok_or(io::ErrorKind::OutOfMemory)?, bytes })
    }

    /// The word so many bytes from the start.
    fn word(&self, offset: usize) -> NonNull<u32> {
        assert!(offset % 4 == 0 && offset + 4 <= self.bytes, "there is no register at {offset:#x}");
        // SAFETY: within the mapping and aligned, as was just made sure of.
        unsafe { self.memory.byte_add(offset) }
    }
}

impl Registers for Window {
    fn read(&mut self, offset: usize) -> u32 {
        let word = self.word(offset);
        // SAFETY: a word of a mapping that is readable until `self` is dropped.
        unsafe { word.read_volatile() }
    }

    fn write(&mut self, offset: usize, value: u32) {
        let word = self.word(offset);
        // SAFETY: a word of a mapping that is writable until `self` is dropped.
        unsafe { word.write_volatile(value) }
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        // SAFETY: the mapping made in `map`, of this length; pointers into it are dropped with their window.
        let _ = unsafe { rustix::mm::munmap(self.memory.as_ptr().cast(), self.bytes) };
    }
}

/// One line of mapped registers, with everything worked out that a timed access needs.
#[derive(Debug)]
pub struct Access {
    window: Window,
    set: NonNull<u32>,
    clear: NonNull<u32>,
    level: NonNull<u32>,
    mask: u32,
}

// SAFETY: the pointers lead into the window, which comes along, and are used through `&mut` only.
unsafe impl Send for Access {}
// SAFETY: as above; a shared access offers nothing.
unsafe impl Sync for Access {}

impl Access {
    /// Of this line of these registers.
    pub fn new(window: Window, words: Words) -> Self {
        let [set, clear, level] = [words.set, words.clear, words.level].map(|offset| window.word(offset));
        Self { window, set, clear, level, mask: words.mask }
    }

    /// All of the registers.
    pub fn window(&mut self) -> &mut Window {
        &mut self.window
    }

    /// One store.
    #[inline]
    pub fn write(&mut self, level: bool) {
        let word = if level { self.set } else { self.clear };
        // SAFETY: a word of `self.window`, which is mapped writable until `self` is dropped.
        unsafe { word.write_volatile(self.mask) }
    }

    /// The same of several lines of the word: those of `high`, then those of `low`.
    #[inline]
    pub fn write_several(&mut self, high: u32, low: u32) {
        for (word, mask) in [(self.set, high), (self.clear, low)] {
            if mask != 0 {
                // SAFETY: as for `write`.
                unsafe { word.write_volatile(mask) }
            }
        }
    }

    /// One load.
    #[inline]
    pub fn read(&mut self) -> bool {
        self.bank() & self.mask != 0
    }

    /// One load: the line's level and those beside it.
    #[inline]
    pub fn bank(&mut self) -> u32 {
        // SAFETY: a word of `self.window`, which is mapped readable until `self` is dropped.
        unsafe { self.level.read_volatile() }
    }
}
