//! A ring that programs on all CPUs write, and this process reads (Documentation/bpf/ringbuf.rst).
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use crate::map;

const RINGBUF: u32 = 27;
/// What a record begins with: its length, with two bits that say what became of it, and a word for the kernel.
const HEADER: usize = 8;
const BUSY: u32 = 1 << 31;
const DISCARDED: u32 = 1 << 30;

/// The kernel writes, this process reads.
#[derive(Debug)]
pub struct Ring {
    map: OwnedFd,
    /// How far this process has read.
    read: Pages,
    /// How far the kernel has written, and behind that page the records, twice: so none is in two parts.
    written: Pages,
    page: usize,
    size: usize,
}

impl Ring {
    /// One of so many octets, a power of two of pages.
    pub fn new(size: usize) -> io::Result<Self> {
        // SAFETY: takes a number.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
        let size = size.max(page).next_power_of_two();
        let map = map::create(RINGBUF, 0, 0, size as u32)?;
        let read = Pages::map(&map, libc::PROT_READ | libc::PROT_WRITE, 0, page)?;
        let written = Pages::map(&map, libc::PROT_READ, page, page + 2 * size)?;
        Ok(Self { map, read, written, page, size })
    }

    /// For programs, which take it as source [`crate::instruction::MAP`].
    pub fn map(&self) -> &OwnedFd {
        &self.map
    }

    /// What was written since, record by record, up to one that is being written.
    pub fn take(&mut self, mut found: impl FnMut(&[u8])) {
        let mut at = self.read.position().load(Ordering::Relaxed);
        let head = self.written.position().load(Ordering::Acquire);
        while at != head {
            let begin = self.page + (at & (self.size - 1));
            // SAFETY: records begin at multiples of 8 within the pages, and their first word is written atomically.
            let header = unsafe { AtomicU32::from_ptr(self.written.base.as_ptr().add(begin).cast()) };
            let header = header.load(Ordering::Acquire);
            if header & BUSY != 0 {
                return;
            }
            let length = ((header & !DISCARDED) as usize).min(self.size - HEADER);
            if header & DISCARDED == 0 {
                // SAFETY: within the pages, as these have the records twice; the kernel does not write what was not
                // read.
                found(unsafe { std::slice::from_raw_parts(self.written.base.as_ptr().add(begin + HEADER), length) });
            }
            at = at.wrapping_add((HEADER + length).next_multiple_of(8));
            self.read.position().store(at, Ordering::Release);
        }
    }
}

/// Pages of the ring's, mapped.
#[derive(Debug)]
struct Pages {
    base: NonNull<u8>,
    length: usize,
}

// SAFETY: the mapping is this value's alone, and whoever has the value may use it.
unsafe impl Send for Pages {}

impl Pages {
    fn map(map: &OwnedFd, protection: i32, offset: usize, length: usize) -> io::Result<Self> {
        let (fd, offset) = (map.as_raw_fd(), offset as libc::off_t);
        // SAFETY: a new mapping, at an address that the kernel chooses.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), length, protection, libc::MAP_SHARED, fd, offset) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { base, length })
    }

    /// The number that they begin with.
    fn position(&self) -> &AtomicUsize {
        // SAFETY: within the mapping, aligned, and written by atomic stores only.
        unsafe { AtomicUsize::from_ptr(self.base.as_ptr().cast()) }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's, of this length.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.length) };
    }
}
