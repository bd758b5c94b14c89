//! Signals that are meant for the program.
#![allow(unsafe_code)]

use std::io;

use super::keeper::Keeper;
use super::witness::Witness;

/// Those that are passed on.
const PASSED: [libc::c_int; 9] = [
    libc::SIGINT,
    libc::SIGTERM,
    libc::SIGHUP,
    libc::SIGQUIT,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGTSTP,
    libc::SIGCONT,
    libc::SIGWINCH,
];

/// Signals that wait to be read instead of being acted upon, as long as it lives.
pub(super) struct Signals {
    before: libc::sigset_t,
    held: libc::sigset_t,
}

/// A signal that came.
pub(super) struct Signal {
    number: libc::c_int,
    /// The kernel's own, as from the keys of a terminal: the program, in the same process group, has it already.
    from_kernel: bool,
    sender: libc::pid_t,
}

impl Signals {
    pub fn hold() -> io::Result<Self> {
        // SAFETY: both sets are initialised before they are used; zero is a valid sigset_t.
        unsafe {
            let mut held: libc::sigset_t = std::mem::zeroed();
            let mut before: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&mut held);
            PASSED.iter().chain([&libc::SIGCHLD]).for_each(|signal| {
                libc::sigaddset(&mut held, *signal);
            });
            match libc::pthread_sigmask(libc::SIG_BLOCK, &held, &mut before) {
                0 => Ok(Self { before, held }),
                error => Err(io::Error::from_raw_os_error(error)),
            }
        }
    }

    /// What was blocked before: the program is to start like that.
    pub fn before(&self) -> libc::sigset_t {
        self.before
    }

    /// Waits for the next one.
    pub fn wait(&self) -> io::Result<Signal> {
        loop {
            // SAFETY: zero is a valid siginfo_t and the kernel fills it; the set is initialised.
            let (number, info) = unsafe {
                let mut info: libc::siginfo_t = std::mem::zeroed();
                (libc::sigwaitinfo(&self.held, &mut info), info)
            };
            if number > 0 {
                let from_kernel = info.si_code > 0;
                // SAFETY: every signal that a process sent has a sender in its siginfo.
                let sender = if from_kernel { 0 } else { unsafe { info.si_pid() } };
                return Ok(Signal { number, from_kernel, sender });
            }
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        // SAFETY: the set is the one that was there before.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.before, std::ptr::null_mut()) };
    }
}

impl Signal {
    /// Whether it only says that some child ended or stopped.
    pub fn is_of_a_child(&self) -> bool {
        self.number == libc::SIGCHLD
    }

    /// Passes it on to the program.
    pub fn pass_on(&self, keeper: &Keeper, witness: Option<&Witness>) {
        let has_it =
            || self.from_kernel || self.sender == keeper.program() || witness.is_some_and(|w| w.saw(self.number));
        // Waking up is harmless twice, and a shell may send it to the one that it knows only.
        if self.number == libc::SIGCONT || !has_it() {
            keeper.signal(self.number);
        }
        if self.number == libc::SIGTSTP {
            // The shell is to see that the job stopped.
            // SAFETY: raise has no preconditions.
            unsafe { libc::raise(libc::SIGSTOP) };
        }
    }
}
