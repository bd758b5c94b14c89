//! A process that ends a process group, and removes its folder, when this process ends, however it ends.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::pipe::PipeFlags;

/// Watches over a process group. Dropping it kills what is left of the group.
#[derive(Debug)]
pub struct Guard {
    group: i32,
    guard: libc::pid_t,
    /// The guard reads from the other end and wakes when this one is closed, as the kernel does for a
    /// process that ends.
    alive: Option<OwnedFd>,
}

impl Guard {
    /// Starts a guard for the process group `group`, whose files lie in `folder`.
    pub fn of_group(group: i32, folder: &Path) -> io::Result<Self> {
        // Made before the fork: the child must not allocate.
        let folder = CString::new(folder.as_os_str().as_bytes())?;
        let (read, write) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
        let (read_fd, write_fd) = (read.as_raw_fd(), write.as_raw_fd());
        // SAFETY: the child makes only async-signal-safe system calls on values copied before, and never
        // returns.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            // SAFETY: this is the child of the fork.
            0 => unsafe { stand_guard(group, &folder, read_fd, write_fd) },
            guard => Ok(Self { group, guard, alive: Some(write) }),
        }
    }

    /// Sends a signal to the group.
    pub fn signal(&self, signal: libc::c_int) {
        // SAFETY: kill has no memory effects; the group was made by this process for the load alone.
        unsafe { libc::kill(-self.group, signal) };
    }
}

/// The guard's whole life, in the child of a fork.
///
/// # Safety
/// Only to be called in a forked child: it closes descriptors and ends the process.
unsafe fn stand_guard(group: i32, folder: &CStr, read: i32, write: i32) -> ! {
    // SAFETY: each of these is async-signal-safe, and the buffer is valid for writes.
    unsafe {
        // Signals from the terminal are for the process it guards.
        libc::setpgid(0, 0);
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT] {
            libc::signal(signal, libc::SIG_IGN);
        }
        // Holding other files open would keep their readers from seeing that the process ended.
        libc::close(write);
        for fd in 0..1024 {
            if fd != read {
                libc::close(fd);
            }
        }
        let mut byte = 0u8;
        while libc::read(read, (&raw mut byte).cast(), 1) < 0 {}
        libc::kill(-group, libc::SIGKILL);
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
