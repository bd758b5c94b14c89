//! Ctrl-C ends a run with what was measured so far; a second one ends the program at once.

use std::io::stderr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::{flag, low_level};

use crate::terminal;

/// A flag that is set by SIGINT, SIGTERM and SIGHUP.
pub fn on_signal() -> std::io::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // In this order: the second signal finds the flag set and ends the program.
        before_the_end(signal, stop.clone())?;
        flag::register_conditional_default(signal, stop.clone())?;
        flag::register(signal, stop.clone())?;
    }
    Ok(stop)
}

/// A program that is ended at once cannot put the terminal back itself any more.
fn before_the_end(signal: i32, stop: Arc<AtomicBool>) -> std::io::Result<()> {
    let terminal = stderr();
    let leave = move || {
        if stop.load(Relaxed) && terminal::ON_OTHER_SCREEN.load(Relaxed) {
            let _ = rustix::io::write(&terminal, terminal::LEAVE_OTHER_SCREEN);
        }
    };
    // SAFETY: within a signal handler it only reads two flags and makes one system call.
    #[allow(unsafe_code)]
    unsafe {
        low_level::register(signal, leave)?;
    }
    Ok(())
}
