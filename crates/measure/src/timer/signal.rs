//! Taking a signal by waiting for it, without a handler (sigtimedwait(2)).
#![allow(unsafe_code)]

use std::mem::{MaybeUninit, zeroed};

/// Blocks `signal` in the calling thread, so that it waits there to be taken.
pub fn block(signal: libc::c_int) {
    // SAFETY: the set is initialised by sigemptyset before it is used.
    unsafe {
        let mut set = zeroed();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, signal);
        libc::pthread_sigmask(libc::SIG_BLOCK, &set, std::ptr::null_mut());
    }
}

/// Waits until `signal`, which must be blocked, comes, and tells whether it did; at most a second, in case
/// another thread got it.
pub fn take(signal: libc::c_int) -> bool {
    let mut set = MaybeUninit::uninit();
    // SAFETY: the set is initialised by sigemptyset; no information about the signal is asked for.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), signal);
        let second = libc::timespec { tv_sec: 1, tv_nsec: 0 };
        libc::sigtimedwait(set.as_ptr(), std::ptr::null_mut(), &second) == signal
    }
}

/// Gives `signal` a handler that does nothing, so that it ends no thread that does not block it.
pub fn disarm(signal: libc::c_int) {
    extern "C" fn nothing(_: libc::c_int) {}
    // SAFETY: zero is a valid sigaction, and the handler touches nothing.
    unsafe {
        let mut action: libc::sigaction = zeroed();
        action.sa_sigaction = nothing as extern "C" fn(libc::c_int) as usize;
        action.sa_flags = libc::SA_RESTART;
        libc::sigaction(signal, &action, std::ptr::null_mut());
    }
}
