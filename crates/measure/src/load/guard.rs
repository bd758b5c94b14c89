//! A process that ends a process group, and removes its folder, when this process ends, however it ends.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command};

use ontick_undo::guardian::{Fork, Messages};

/// Stands before the load does, so that there is no moment at which the load has no guard. Dropping it kills what is
/// left of the load's process group.
#[derive(Debug)]
pub struct Guard(Fork);

impl Guard {
    /// Starts a guard for a load whose files lie in `folder`.
    pub fn start(folder: &Path) -> io::Result<Self> {
        // Made before the fork: the child must not allocate.
        let folder = CString::new(folder.as_os_str().as_bytes())?;
        // SAFETY: the guard makes async-signal-safe system calls only.
        unsafe { Fork::start(|messages| stand_guard(&folder, messages)) }.map(Self)
    }

    /// Starts the load as the leader of a process group of its own, which the guard knows of before the program's first
    /// instruction.
    pub fn spawn(&self, load: &mut Command) -> io::Result<Child> {
        let Some(pipe) = self.0.pipe() else { return Err(io::ErrorKind::BrokenPipe.into()) };
        load.process_group(0);
        // SAFETY: between fork and exec it makes two async-signal-safe system calls. The pipe is open, and the new
        // program does not get it; until then it keeps the guard waiting, also if this process ends meanwhile.
        unsafe { load.pre_exec(move || announce(pipe, libc::getpid())) };
        let started = load.spawn();
        if started.is_err() {
            // Its id may soon be another's.
            announce(pipe, 0)?;
        }
        started
    }
}

/// Tells the guard the process group (0 for none).
fn announce(pipe: i32, group: libc::pid_t) -> io::Result<()> {
    let bytes = group.to_ne_bytes();
    // SAFETY: the bytes are valid for reads. So few are written to a pipe whole, or not at all.
    let written = unsafe { libc::write(pipe, bytes.as_ptr().cast(), bytes.len()) };
    if written < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The guard's whole life: it kills the process group whose number it got last, and removes the folder.
fn stand_guard(folder: &CStr, mut messages: Messages) -> u8 {
    let mut group = [0; size_of::<libc::pid_t>()];
    while messages.read(&mut group) {}
    let group = libc::pid_t::from_ne_bytes(group);
    let words = [c"rm".as_ptr(), c"-rf".as_ptr(), c"--".as_ptr(), folder.as_ptr(), std::ptr::null()];
    // SAFETY: both are async-signal-safe; the words are strings that end with a zero byte, and a null pointer.
    unsafe {
        // Group 0 would be the guard's own, and 1 everybody's.
        if group > 1 {
            libc::kill(-group, libc::SIGKILL);
        }
        libc::execv(c"/bin/rm".as_ptr(), words.as_ptr());
    }
    0
}
