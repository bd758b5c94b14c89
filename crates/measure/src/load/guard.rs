//! A process that ends a process group, and removes its folder, when this process ends, however it ends.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command};

use rustix::pipe::PipeFlags;

use crate::aside::step_aside;

/// Stands before the load does, so that there is no moment at which the load has no guard. Dropping it kills what is
/// left of the load's process group.
#[derive(Debug)]
pub struct Guard {
    guard: libc::pid_t,
    /// The guard reads ids of process groups from the other end, and acts on the last one when this end is closed, as
    /// the kernel does for a process that ends.
    alive: Option<OwnedFd>,
}

impl Guard {
    /// Starts a guard for a load whose files lie in `folder`.
    pub fn start(folder: &Path) -> io::Result<Self> {
        // Made before the fork: the child must not allocate.
        let folder = CString::new(folder.as_os_str().as_bytes())?;
        let (read, write) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
        let (read_fd, write_fd) = (read.as_raw_fd(), write.as_raw_fd());
        // SAFETY: the child makes only async-signal-safe system calls on values copied before, and never
        // returns.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            // SAFETY: this is the child of the fork.
            0 => unsafe { stand_guard(&folder, read_fd, write_fd) },
            guard => Ok(Self { guard, alive: Some(write) }),
        }
    }

    /// Starts the load as the leader of a process group of its own, which the guard knows of before the program's first
    /// instruction.
    pub fn spawn(&self, load: &mut Command) -> io::Result<Child> {
        let Some(pipe) = self.alive.as_ref().map(AsRawFd::as_raw_fd) else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
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

/// The guard's whole life, in the child of a fork.
///
/// # Safety
/// Only to be called in a forked child: it closes descriptors and ends the process.
unsafe fn stand_guard(folder: &CStr, read: i32, write: i32) -> ! {
    // SAFETY: each of these is async-signal-safe, and the buffer is valid for writes.
    unsafe {
        step_aside(read, write);
        let (mut group, mut told): (libc::pid_t, libc::pid_t) = (0, 0);
        loop {
            match libc::read(read, (&raw mut told).cast(), size_of::<libc::pid_t>()) {
                0 => break,
                1.. => group = told,
                // Interrupted.
                _ => {}
            }
        }
        // Group 0 would be the guard's own, and 1 everybody's.
        if group > 1 {
            libc::kill(-group, libc::SIGKILL);
        }
        let words = [c"rm".as_ptr(), c"-rf".as_ptr(), c"--".as_ptr(), folder.as_ptr(), std::ptr::null()];
        libc::execv(c"/bin/rm".as_ptr(), words.as_ptr());
        libc::_exit(0)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.alive.take();
        // SAFETY: the guard is a child of this process that is waited for once.
        unsafe { libc::waitpid(self.guard, std::ptr::null_mut(), 0) };
    }
}
