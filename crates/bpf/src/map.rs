//! What programs and user space share.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::bpf_fd;
use crate::pages::{Pages, page_size};

const ARRAY: u32 = 2;
/// User space may have it in its memory.
const MAPPABLE: u32 = 1 << 10;

/// A new map; kind by the numbers of `linux/bpf.h`, sizes in octets.
pub fn create(kind: u32, key_size: u32, value_size: u32, max_entries: u32) -> io::Result<OwnedFd> {
    create_with(kind, key_size, value_size, max_entries, 0)
}

fn create_with(kind: u32, key_size: u32, value_size: u32, max_entries: u32, flags: u32) -> io::Result<OwnedFd> {
    #[repr(C)]
    struct MapCreate {
        kind: u32,
        key_size: u32,
        value_size: u32,
        max_entries: u32,
        flags: u32,
    }
    const BPF_MAP_CREATE: u32 = 0;
    let mut map = MapCreate { kind, key_size, value_size, max_entries, flags };
    // SAFETY: the attributes of this command, without pointers.
    unsafe { bpf_fd(BPF_MAP_CREATE, &mut map) }
}

/// Numbers that programs change, and that user space reads without a system call.
#[derive(Debug)]
pub struct Shared {
    map: OwnedFd,
    pages: Pages,
    words: usize,
}

impl Shared {
    /// So many of 64 bits, all zero.
    pub fn new(words: usize) -> io::Result<Self> {
        let map = create_with(ARRAY, 4, words as u32 * 8, 1, MAPPABLE)?;
        let length = (words * 8).next_multiple_of(page_size());
        let pages = Pages::map(&map, libc::PROT_READ | libc::PROT_WRITE, 0, length)?;
        Ok(Self { map, pages, words })
    }

    /// For programs, which take it as source [`crate::instruction::MAP_VALUE`].
    pub fn map(&self) -> &OwnedFd {
        &self.map
    }

    /// One of the numbers, from 0, as it is now.
    #[inline]
    pub fn read(&self, word: usize) -> u64 {
        self.word(word).load(Ordering::Relaxed)
    }

    /// Sets one of them.
    pub fn write(&self, word: usize, number: u64) {
        self.word(word).store(number, Ordering::Relaxed);
    }

    pub(crate) fn word(&self, word: usize) -> &AtomicU64 {
        assert!(word < self.words);
        // SAFETY: within the mapping, aligned, and programs change it by whole words.
        unsafe { AtomicU64::from_ptr(self.pages.base().add(word * 8).cast()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shared_number_is_read_as_it_was_written() {
        let shared = match Shared::new(3) {
            Ok(shared) => shared,
            Err(error) => return ontick_skip::skipped!("no maps of bpf(2): {error}"),
        };
        assert_eq!((shared.read(0), shared.read(2)), (0, 0));
        shared.write(2, u64::MAX);
        assert_eq!((shared.read(1), shared.read(2)), (0, u64::MAX));
        assert!(std::panic::catch_unwind(|| shared.read(3)).is_err());
    }
}
