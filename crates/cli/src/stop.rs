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

/// What was asked for first.
#[derive(Default)]
struct Asked {
    signal: AtomicI32,
    at_ns: AtomicU64,
}

/// A flag that is set by SIGINT, SIGTERM and SIGHUP.
pub fn on_signal() -> std::io::Result<Arc<AtomicBool>> {
    let (stop, asked) = (Arc::new(AtomicBool::new(false)), Arc::new(Asked::default()));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
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
