//! Taking a signal by waiting for it, without a handler (sigtimedwait(2)).
#![allow(unsafe_code)]

use std::io;
use std::mem::{MaybeUninit, zeroed};

/// Blocks `signal` in the calling thread, so that it waits there to be taken; whether it was blocked already.
pub fn block(signal: libc::c_int) -> bool {
    let set = only(signal);
    // SAFETY: zero is a valid set; one is valid for reads, and the other for writes.
    unsafe {
        let mut before = zeroed();
        libc::pthread_sigmask(libc::SIG_BLOCK, &set, &mut before);
        libc::sigismember(&before, signal) == 1
    }
}

/// Lets `signal` come to the calling thread again.
pub fn unblock(signal: libc::c_int) {
    // SAFETY: the set is valid for reads.
    unsafe { libc::pthread_sigmask(libc::SIG_UNBLOCK, &only(signal), std::ptr::null_mut()) };
}

fn only(signal: libc::c_int) -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: the set is initialised by sigemptyset.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), signal);
        set.assume_init()
    }
}

/// Waits until `signal`, which must be blocked, comes, and tells whether it did; at most a second, in case
/// another thread got it.
pub fn take(signal: libc::c_int) -> bool {
    take_within(signal, 1)
}

/// Takes a `signal` that waits already, if there is one.
pub fn take_pending(signal: libc::c_int) -> bool {
    take_within(signal, 0)
}

fn take_within(signal: libc::c_int, seconds: libc::time_t) -> bool {
    let time = libc::timespec { tv_sec: seconds, tv_nsec: 0 };
    // SAFETY: set and time are valid for reads; no information about the signal is asked for.
    unsafe { libc::sigtimedwait(&only(signal), std::ptr::null_mut(), &time) == signal }
}

/// Gives `signal` a handler that does nothing, so that it ends no thread that does not block it. What it had before.
pub fn disarm(signal: libc::c_int) -> io::Result<libc::sigaction> {
    extern "C" fn nothing(_: libc::c_int) {}
    // SAFETY: zero is a valid sigaction, and the handler touches nothing.
    let (result, before) = unsafe {
        let (mut action, mut before): (libc::sigaction, libc::sigaction) = (zeroed(), zeroed());
        action.sa_sigaction = nothing as extern "C" fn(libc::c_int) as usize;
        action.sa_flags = libc::SA_RESTART;
        (libc::sigaction(signal, &action, &mut before), before)
    };
    if result == 0 { Ok(before) } else { Err(io::Error::last_os_error()) }
}
