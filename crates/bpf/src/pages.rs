//! Memory of a map, in this process too.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::NonNull;

/// Mapped until this is dropped.
#[derive(Debug)]
pub struct Pages {
    base: NonNull<u8>,
    length: usize,
}

// SAFETY: the mapping is this value's alone, whichever thread has it.
unsafe impl Send for Pages {}
// SAFETY: of itself it hands out an address and nothing more; who reads and writes there does so by atomic accesses, or to
// what nobody else changes.
unsafe impl Sync for Pages {}

impl Pages {
    pub fn map(map: &OwnedFd, protection: i32, offset: usize, length: usize) -> io::Result<Self> {
        let (fd, offset) = (map.as_raw_fd(), offset as libc::off_t);
        // SAFETY: a new mapping, at an address that the kernel chooses.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), length, protection, libc::MAP_SHARED, fd, offset) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { base, length })
    }

    /// Where they begin.
    pub fn base(&self) -> *mut u8 {
        self.base.as_ptr()
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's, of this length.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.length) };
    }
}

/// Octets to a page.
pub fn page_size() -> usize {
    // SAFETY: takes a number.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) as usize }
}
