//! perf_event_open(2), its ioctls, and the ring that it fills.
#![allow(unsafe_code)]

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

use super::abi::{Attributes, OPEN_CLOEXEC};
use super::taking;

/// `_IO('$', n)` and its like, which are the same on the processors that this is built for.
const IOC_ENABLE: libc::c_ulong = 0x2400;
const IOC_SET_OUTPUT: libc::c_ulong = 0x2405;
const IOC_SET_FILTER: libc::c_ulong = 0x4000_2406 | (size_of::<usize>() as libc::c_ulong) << 16;
const IOC_ID: libc::c_ulong = 0x8000_2407 | (size_of::<usize>() as libc::c_ulong) << 16;

/// Where the ring's positions are in its first page (`struct perf_event_mmap_page`).
const DATA_HEAD: usize = 1024;
const DATA_TAIL: usize = 1032;

/// Of what an event is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Of a thread, on whichever CPU it runs.
    Thread(i32),
    /// Of all that runs on a CPU.
    Cpu(u32),
}

/// Opens an event.
pub fn open(attributes: &Attributes, scope: Scope) -> io::Result<OwnedFd> {
    let (tid, cpu) = match scope {
        Scope::Thread(tid) => (tid, -1),
        Scope::Cpu(cpu) => (-1, cpu as i32),
    };
    // SAFETY: the attributes are valid for reads, and say their size; the rest are numbers.
    let fd = unsafe { libc::syscall(libc::SYS_perf_event_open, attributes, tid, cpu, -1, OPEN_CLOEXEC) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call returned a new descriptor, which nobody else has.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

/// Begins to record.
pub fn enable(event: &OwnedFd) -> io::Result<()> {
    // SAFETY: takes a number.
    check(unsafe { libc::ioctl(event.as_raw_fd(), IOC_ENABLE as _, 0) })
}

/// Records into another event's ring.
pub fn redirect(event: &OwnedFd, ring: &OwnedFd) -> io::Result<()> {
    // SAFETY: takes a number, here that of an open descriptor.
    check(unsafe { libc::ioctl(event.as_raw_fd(), IOC_SET_OUTPUT as _, ring.as_raw_fd()) })
}

/// Records only what fits a filter of the kernel's (`pid == 202`).
pub fn filter(event: &OwnedFd, text: &CStr) -> io::Result<()> {
    // SAFETY: the text ends with a zero byte, and the kernel copies it.
    check(unsafe { libc::ioctl(event.as_raw_fd(), IOC_SET_FILTER as _, text.as_ptr()) })
}

/// The number that its records carry.
pub fn id(event: &OwnedFd) -> io::Result<u64> {
    let mut id = 0u64;
    // SAFETY: the number is valid for writes.
    check(unsafe { libc::ioctl(event.as_raw_fd(), IOC_ID as _, &raw mut id) })?;
    Ok(id)
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The ring of an event: the kernel writes, this process reads.
pub struct Ring {
    base: NonNull<u8>,
    page: usize,
    size: usize,
}

// SAFETY: the mapping is this value's alone, and whoever has the value may read it.
unsafe impl Send for Ring {}

impl Ring {
    /// Maps an event's ring of so many bytes, a power of two of pages.
    pub fn map(event: &OwnedFd, size: usize) -> io::Result<Self> {
        let page = rustix::param::page_size();
        let size = size.max(page).next_power_of_two();
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
        // SAFETY: a new mapping, at an address that the kernel chooses.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), page + size, protection, flags, event.as_raw_fd(), 0) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { base, page, size })
    }

    fn position(&self, at: usize) -> &AtomicU64 {
        // SAFETY: within the first page of the mapping, aligned to 8, and written by atomic stores only.
        unsafe { AtomicU64::from_ptr(self.base.as_ptr().add(at).cast()) }
    }

    /// Appends what was recorded since to `into`, and makes room for more.
    pub fn take(&mut self, into: &mut Vec<u8>) {
        let data = self.page;
        taking::take(self.position(DATA_HEAD), self.position(DATA_TAIL), self.size, |from, count| {
            // SAFETY: within the data pages, which follow the first page; the kernel does not write between tail and
            // head.
            let part = unsafe { std::slice::from_raw_parts(self.base.as_ptr().add(data + from), count) };
            into.extend_from_slice(part);
        });
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's, of this size.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.page + self.size) };
    }
}
