//! A ring that programs on all CPUs write, and this process reads (Documentation/bpf/ringbuf.rst).
#![allow(unsafe_code)]

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU32, AtomicUsize};

use crate::map;
use crate::pages::{Pages, page_size};
use crate::records;

const RINGBUF: u32 = 27;

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
        let page = page_size();
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
        let (page, base) = (self.page, self.written.base());
        let header = |at: usize| {
            // SAFETY: records begin at multiples of 8 within the pages, and their first word is written atomically.
            unsafe { AtomicU32::from_ptr(base.add(page + at).cast()) }
        };
        let record = |at: usize, length: usize| {
            // SAFETY: within the pages, as these have the records twice; the kernel does not write what was not read.
            found(unsafe { std::slice::from_raw_parts(base.add(page + at), length) });
        };
        records::take(position(&self.read), position(&self.written), self.size, header, record);
    }
}

/// The number that they begin with.
fn position(pages: &Pages) -> &AtomicUsize {
    // SAFETY: within the mapping, aligned, and written by atomic stores only.
    unsafe { AtomicUsize::from_ptr(pages.base().cast()) }
}
