//! The system calls: each request with exactly the structure that it carries.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use super::abi;

/// A structure that the kernel reads, writes, or both; all of its bits may be anything.
///
/// # Safety
/// The request's number must carry the size of the structure, and the structure hold no pointer that the kernel follows
/// but as the function's own comment says.
unsafe fn request(file: &File, number: u32, data: *mut c_void) -> io::Result<()> {
    // SAFETY: the caller's.
    match unsafe { libc::ioctl(file.as_raw_fd(), number as _, data) } {
        0.. => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

pub fn version(file: &File) -> io::Result<abi::Version> {
    let mut version = abi::Version::default();
    // SAFETY: the kernel writes one such structure.
    unsafe { request(file, abi::GET_VERSION, (&raw mut version).cast()) }?;
    Ok(version)
}

pub fn set_train(file: &File, train: &mut abi::Train) -> io::Result<()> {
    // SAFETY: the kernel reads one such structure.
    unsafe { request(file, abi::SET_TRAIN, (&raw mut *train).cast()) }
}

pub fn set_response(file: &File, response: &mut abi::Response) -> io::Result<()> {
    // SAFETY: the kernel reads one such structure.
    unsafe { request(file, abi::SET_RESPONSE, (&raw mut *response).cast()) }
}

pub fn start(file: &File) -> io::Result<()> {
    // SAFETY: nothing is carried.
    unsafe { request(file, abi::START, std::ptr::null_mut()) }
}

pub fn stop(file: &File) -> io::Result<()> {
    // SAFETY: nothing is carried.
    unsafe { request(file, abi::STOP, std::ptr::null_mut()) }
}

pub fn result(file: &File, cells: &mut [u64; abi::CELLS]) -> io::Result<abi::Result> {
    let mut result = abi::Result { cells: cells.as_mut_ptr() as u64, ..abi::Result::default() };
    // SAFETY: the kernel writes one such structure, and as many counters as the array has, which outlives the call.
    unsafe { request(file, abi::GET_RESULT, (&raw mut result).cast()) }?;
    Ok(result)
}

/// The pulses that are there, waiting for one; none at the train's end.
pub fn pulses(file: &File, into: &mut [abi::Pulse]) -> io::Result<usize> {
    let size = size_of_val(into);
    // SAFETY: the kernel writes no more than the slice holds, and any bits make such a structure.
    match unsafe { libc::read(file.as_raw_fd(), into.as_mut_ptr().cast(), size) } {
        bytes @ 0.. => Ok(bytes as usize / size_of::<abi::Pulse>()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Loads a module from its file; the kernel unpacks one that is compressed.
pub fn load(module: &File, compressed: bool) -> io::Result<()> {
    const COMPRESSED: libc::c_int = 4;
    let flags = if compressed { COMPRESSED } else { 0 };
    // SAFETY: the kernel reads the file and an empty text of parameters.
    match unsafe { libc::syscall(libc::SYS_finit_module, module.as_raw_fd(), c"".as_ptr(), flags) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
