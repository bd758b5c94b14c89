//! The loop's memory: in pages of the usual size, or in huge ones where the system has them.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::io;
use std::ptr::{NonNull, null_mut};

use rustix::mm::{Advice, MapFlags, MprotectFlags, ProtFlags, madvise, mmap_anonymous, mprotect, munmap};

/// The size of a huge page on x86, and on ARM with pages of 4 KiB.
const HUGE: usize = 2 << 20;

/// What pages the memory has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pages {
    /// As the kernel gives them.
    Usual,
    /// From the pool of reserved huge pages (`vm.nr_hugepages`).
    Reserved,
    /// Huge pages that the kernel made of free memory.
    Transparent,
}

/// Zeroed memory of its own.
pub(super) struct Memory {
    base: NonNull<c_void>,
    mapped: usize,
    /// Where in the mapping it begins, so that it is aligned.
    offset: usize,
    bytes: usize,
    /// What it is made of.
    pub pages: Pages,
}

impl Memory {
    /// In pages of the usual size: the kernel is asked for no huge ones, or there would be nothing to compare.
    pub fn small(bytes: usize) -> io::Result<Self> {
        Self::advised(bytes, bytes, Advice::LinuxNoHugepage)
    }

    /// In huge pages: reserved ones, else transparent ones; in usual ones where the system has neither.
    pub fn huge(bytes: usize) -> io::Result<Self> {
        let whole = bytes.next_multiple_of(HUGE);
        let usable = ProtFlags::READ | ProtFlags::WRITE;
        if let Ok(reserved) = Self::map(whole, bytes, usable, MapFlags::HUGETLB, Pages::Reserved) {
            return Ok(reserved);
        }
        // A huge page is aligned to its size.
        let mut memory = Self::advised(whole + HUGE, bytes, Advice::LinuxHugepage)?;
        let base = memory.base.as_ptr() as usize;
        memory.offset = base.next_multiple_of(HUGE) - base;
        memory.words().fill(0);
        if std::fs::read_to_string("/proc/self/smaps").is_ok_and(|smaps| is_huge(&smaps, base + memory.offset)) {
            memory.pages = Pages::Transparent;
        }
        Ok(memory)
    }

    /// With pages of the kernel's choice. Where the process locks its memory, a mapping has its pages as soon as it may be
    /// used: what they should be is said before.
    fn advised(mapped: usize, bytes: usize, advice: Advice) -> io::Result<Self> {
        let memory = Self::map(mapped, bytes, ProtFlags::empty(), MapFlags::empty(), Pages::Usual)?;
        // SAFETY: the whole of this mapping, which nobody uses yet; the advice discards nothing. What a kernel without
        // huge pages refuses changes nothing.
        unsafe {
            let _ = madvise(memory.base.as_ptr(), memory.mapped, advice);
            mprotect(memory.base.as_ptr(), memory.mapped, MprotectFlags::READ | MprotectFlags::WRITE)?;
        }
        Ok(memory)
    }

    fn map(mapped: usize, bytes: usize, usable: ProtFlags, flags: MapFlags, pages: Pages) -> io::Result<Self> {
        // SAFETY: a new anonymous mapping at an address of the kernel's choice.
        let base = unsafe { mmap_anonymous(null_mut(), mapped, usable, flags | MapFlags::PRIVATE)? };
        let base = NonNull::new(base).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { base, mapped, offset: 0, bytes, pages })
    }

    fn at(&self) -> *mut u64 {
        // SAFETY: the offset lies within the mapping.
        unsafe { self.base.as_ptr().byte_add(self.offset).cast() }
    }

    pub fn words(&mut self) -> &mut [u64] {
        // SAFETY: so many bytes are mapped from there on, aligned, zeroed or written as words, and borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.at(), self.bytes / size_of::<u64>()) }
    }

    pub fn read(&self) -> &[u64] {
        // SAFETY: as above, borrowed for reading.
        unsafe { std::slice::from_raw_parts(self.at(), self.bytes / size_of::<u64>()) }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: it was mapped as a whole, and nobody borrows from it any more.
        let _ = unsafe { munmap(self.base.as_ptr(), self.mapped) };
    }
}

/// Whether a huge page is in the mapping that holds this address, as /proc/PID/smaps tells.
fn is_huge(smaps: &str, address: usize) -> bool {
    let range = |line: &str| {
        let (from, to) = line.split_whitespace().next()?.split_once('-')?;
        Some(usize::from_str_radix(from, 16).ok()?..usize::from_str_radix(to, 16).ok()?)
    };
    let mut within = false;
    for line in smaps.lines() {
        if let Some(range) = range(line) {
            within = range.contains(&address);
        } else if let Some(size) = line.strip_prefix("AnonHugePages:").filter(|_| within) {
            return size.split_whitespace().next().is_some_and(|kib| kib != "0");
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn huge_memory_is_aligned_and_zeroed_whatever_its_pages() {
        for bytes in [4_096, HUGE, HUGE + 64] {
            let mut memory = Memory::huge(bytes).unwrap();
            assert_eq!(memory.at() as usize % HUGE, 0);
            assert_eq!((memory.read().len(), memory.read().iter().sum::<u64>()), (bytes / 8, 0));
            // All of it is there.
            memory.words().fill(7);
            assert_eq!(memory.read().last(), Some(&7));
        }
        assert_eq!(Memory::small(4_096).unwrap().pages, Pages::Usual);
    }

    #[test]
    fn a_transparent_huge_page_is_known_from_its_mapping() {
        let smaps = "\
7f0000000000-7f0000400000 rw-p 00000000 00:00 0
AnonHugePages:         0 kB
7f0000400000-7f0000800000 rw-p 00000000 00:00 0
Size:               4096 kB
AnonHugePages:      2048 kB
VmFlags: rd wr mr mw me ac sd hg
";
        let huge =
            [0x7f00_0000_0000, 0x7f00_0040_0000, 0x7f00_007f_ffff, 0x7f00_0080_0000].map(|at| is_huge(smaps, at));
        assert_eq!(huge, [false, true, true, false]);
        assert!(!is_huge("", 0));
    }
}
