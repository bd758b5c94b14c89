//! What a forked child does first that stands guard until its parent ends.
#![allow(unsafe_code)]

/// Steps aside: signals from the terminal are for the parent, and of the open files only the reading end of a pipe
/// stays, which ends when the parent does.
///
/// # Safety
/// Only to be called in a forked child: it closes all other descriptors. It makes async-signal-safe system calls only.
pub unsafe fn step_aside(read: i32, write: i32) {
    // SAFETY: none of these touches memory.
    unsafe {
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
    }
}
