//! Whether a signal was meant for the whole process group, so that the program has it already.
//!
//! The kernel does not tell. So a process of the same group waits beside the program with every signal blocked:
//! what is pending there was sent to everybody. The kernel goes through a group from its youngest process to its
//! oldest, so it is pending there before the program's supervisor can wake up.
#![allow(unsafe_code)]

use std::io;
use std::time::Duration;

/// A service manager goes from process to process by itself, and may come to this one later.
const TRIES: u32 = 5;
const PAUSE: Duration = Duration::from_millis(1);

/// The process that waits. It ends with this.
pub(super) struct Witness(libc::pid_t);

impl Witness {
    /// Starts it. The signals in question must be blocked already, and this process must have one thread.
    pub fn start() -> io::Result<Self> {
        // SAFETY: the new process makes system calls only, and never returns from `wait`.
        unsafe {
            let parent = libc::getpid();
            match libc::fork() {
                -1 => Err(io::Error::last_os_error()),
                0 => wait(parent),
                process => Ok(Self(process)),
            }
        }
    }

    /// Whether it was sent this signal, too. After that it is of no use for the next one: nothing takes the
    /// signal from it.
    pub fn saw(&self, number: libc::c_int) -> bool {
        (0..TRIES).any(|attempt| {
            if attempt > 0 {
                std::thread::sleep(PAUSE);
            }
            self.pending() >> (number - 1) & 1 == 1
        })
    }

    fn pending(&self) -> u64 {
        let status = ontick_rt::kernel_text::read(format!("/proc/{}/status", self.0)).unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("ShdPnd:"));
        mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        // SAFETY: the process is our child and not waited for yet, so its number is still its own.
        unsafe {
            libc::kill(self.0, libc::SIGKILL);
            while libc::waitpid(self.0, std::ptr::null_mut(), 0) < 0
                && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
            {}
        }
    }
}

/// What the new process does until it is killed.
///
/// # Safety
/// Only in a process that was just forked from one with a single thread.
unsafe fn wait(parent: libc::pid_t) -> ! {
    // SAFETY: system calls with plain numbers and a constant.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        libc::prctl(libc::PR_SET_NAME, c"ontick-signals".as_ptr());
        if libc::getppid() != parent {
            libc::_exit(0);
        }
        // What the program's supervisor has open is not for this one; older kernels leave it until the end.
        libc::syscall(libc::SYS_close_range, 0, libc::c_uint::MAX, 0);
        loop {
            libc::pause();
        }
    }
}
