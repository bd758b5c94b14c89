//! The system call.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

/// A command of bpf(2) that makes something.
///
/// # Safety
/// As for [`bpf`].
pub unsafe fn bpf_fd<T>(command: u32, attributes: &mut T) -> io::Result<OwnedFd> {
    // SAFETY: as the caller promises.
    let fd = unsafe { bpf(command, attributes) }?;
    // SAFETY: such commands return a new descriptor that is nobody else's.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

/// bpf(2).
///
/// # Safety
/// The attributes are those of the command, and their pointers are valid through the call.
pub unsafe fn bpf<T>(command: u32, attributes: &mut T) -> io::Result<libc::c_long> {
    // SAFETY: as the caller promises; the kernel takes attributes that are missing at the end as zero.
    let result = unsafe { libc::syscall(libc::SYS_bpf, command, std::ptr::from_mut(attributes), size_of::<T>()) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
