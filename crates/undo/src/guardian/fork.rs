//! A fork of this process that acts when this process ends.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use rustix::pipe::PipeFlags;

/// A forked child that guards this process. It acts when this is dropped, too.
#[derive(Debug)]
pub struct Fork {
    process: libc::pid_t,
    /// The child reads messages from the other end, and acts when this end is closed, as the kernel does for a process
    /// that ends.
    pipe: Option<OwnedFd>,
}

impl Fork {
    /// Starts it. The child does its duty: it reads messages to their end, then acts; what it returns is its exit status.
    ///
    /// # Safety
    /// The duty runs in a forked child of a process that may have several threads: it makes async-signal-safe system
    /// calls only, does not allocate, and uses no files but those that it opens itself.
    pub unsafe fn start(duty: impl FnOnce(Messages) -> u8) -> io::Result<Self> {
        let (read, write) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
        let (read_fd, write_fd) = (read.as_raw_fd(), write.as_raw_fd());
        // SAFETY: the child makes only async-signal-safe system calls on values made before, and never returns.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            // SAFETY: this is the child of the fork.
            0 => unsafe {
                detach(read_fd, write_fd);
                libc::_exit(duty(Messages(read_fd)).into())
            },
            process => Ok(Self { process, pipe: Some(write) }),
        }
    }

    /// Sends a message, whole or not at all.
    pub fn send(&self, message: &[u8]) -> io::Result<()> {
        match &self.pipe {
            Some(pipe) => rustix::io::write(pipe, message).map(drop).map_err(Into::into),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// Where messages are written, for a process between fork and exec.
    pub fn pipe(&self) -> Option<RawFd> {
        self.pipe.as_ref().map(AsRawFd::as_raw_fd)
    }

    /// Has it act, and waits for it; its exit status, `None` where it had none (it was killed).
    pub fn end(mut self) -> Option<u8> {
        self.finish()
    }

    fn finish(&mut self) -> Option<u8> {
        self.pipe.take()?;
        let mut status = 0;
        // SAFETY: the guardian is a child of this process that is waited for once; the status is valid for writes.
        unsafe { libc::waitpid(self.process, &raw mut status, 0) };
        libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status) as u8)
    }
}

impl Drop for Fork {
    fn drop(&mut self) {
        self.finish();
    }
}

/// The messages to a guardian, as its duty reads them.
pub struct Messages(RawFd);

impl Messages {
    /// Waits for the next message, all of which are as long as this; `false` once the guarded process has ended.
    pub fn read(&mut self, message: &mut [u8]) -> bool {
        loop {
            // SAFETY: the bytes are valid for writes.
            match unsafe { libc::read(self.0, message.as_mut_ptr().cast(), message.len()) } {
                0 => return false,
                1.. => return true,
                // Interrupted.
                _ => {}
            }
        }
    }
}

/// Signals from the terminal are for the parent, and of the open files only the reading end of the pipe stays, which ends
/// when the parent does.
///
/// # Safety
/// Only to be called in a forked child: it closes all other descriptors. It makes async-signal-safe system calls only.
unsafe fn detach(read: RawFd, write: RawFd) {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The sum of all messages.
    fn adding() -> Fork {
        let sum = |mut messages: Messages| {
            let (mut message, mut sum) = ([0u8; 2], 0);
            while messages.read(&mut message) {
                sum += message[0] + message[1];
            }
            sum
        };
        // SAFETY: it adds numbers.
        unsafe { Fork::start(sum) }.unwrap()
    }

    #[test]
    fn it_acts_on_all_messages_once_there_are_no_more() {
        let fork = adding();
        for message in [[1, 2], [3, 4], [5, 6]] {
            fork.send(&message).unwrap();
        }
        assert_eq!(fork.end(), Some(21));
        assert_eq!(adding().end(), Some(0));
    }

    #[test]
    fn signals_of_a_terminal_are_not_for_it_and_a_kill_is_no_status() {
        let fork = adding();
        fork.send(&[40, 2]).unwrap();
        // SAFETY: plain numbers; it is a child that nobody has waited for.
        unsafe { libc::kill(fork.process, libc::SIGKILL) };
        assert_eq!(fork.end(), None);
    }
}
