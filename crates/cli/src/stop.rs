//! Ctrl-C ends a run with what was measured so far; a second one ends the program at once.

use std::io::stderr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering::Relaxed};

use ontick_rt::clock::ClockId;
use rustix::fd::AsFd;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level;

use crate::terminal;

/// The same signal again within this time is still the first: timeout(1) sends its signal to the program and then to
/// the program's group. In ns.
const SAME_NS: u64 = 300_000_000;

const SIGNALS: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];

/// What was asked for first.
#[derive(Default)]
struct Asked {
    signal: AtomicI32,
    at_ns: AtomicU64,
}

/// A flag that is set by SIGINT, SIGTERM and SIGHUP.
pub fn on_signal() -> std::io::Result<Arc<AtomicBool>> {
    let (stop, asked) = (Arc::new(AtomicBool::new(false)), Arc::new(Asked::default()));
    // One that came while its handler is being put in place would be lost.
    let _held = Held::back(&SIGNALS)?;
    for signal in SIGNALS {
        let (stop, asked, terminal) = (stop.clone(), asked.clone(), stderr());
        let came = move || {
            if !stop.swap(true, Relaxed) {
                asked.signal.store(signal, Relaxed);
                asked.at_ns.store(ClockId::Monotonic.now_ns(), Relaxed);
            } else if asked.is_over(signal) {
                leave(&terminal);
                let _ = low_level::emulate_default_handler(signal);
            }
        };
        // SAFETY: within a signal handler it only touches atomics, reads a clock, and makes system calls.
        #[allow(unsafe_code)]
        unsafe {
            low_level::register(signal, came)?;
        }
    }
    Ok(stop)
}

/// Signals that wait, for this thread, until it is dropped.
struct Held {
    before: libc::sigset_t,
}

impl Held {
    #[allow(unsafe_code)]
    fn back(signals: &[i32]) -> std::io::Result<Self> {
        // SAFETY: zero is a valid set, and both sets live through the calls.
        let (error, before) = unsafe {
            let (mut held, mut before): (libc::sigset_t, libc::sigset_t) = (std::mem::zeroed(), std::mem::zeroed());
            libc::sigemptyset(&mut held);
            signals.iter().for_each(|signal| {
                libc::sigaddset(&mut held, *signal);
            });
            (libc::pthread_sigmask(libc::SIG_BLOCK, &held, &mut before), before)
        };
        if error == 0 { Ok(Self { before }) } else { Err(std::io::Error::from_raw_os_error(error)) }
    }
}

impl Drop for Held {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        // SAFETY: the set is one that the kernel gave.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.before, std::ptr::null_mut()) };
    }
}

impl Asked {
    /// Whether this is another signal than the first.
    fn is_over(&self, signal: i32) -> bool {
        let since_ns = ClockId::Monotonic.now_ns().saturating_sub(self.at_ns.load(Relaxed));
        signal != self.signal.load(Relaxed) || since_ns > SAME_NS
    }
}

/// A program that is ended at once cannot put the terminal back itself any more.
fn leave(terminal: impl AsFd) {
    if terminal::ON_OTHER_SCREEN.load(Relaxed) {
        let _ = rustix::io::write(terminal, terminal::LEAVE_OTHER_SCREEN);
    }
}
