//! Ctrl-C ends a run with what was measured so far; a second one ends the program at once. A hang-up is never that second
//! one: a service manager may send it right behind SIGTERM (systemd.kill(5), `SendSIGHUP=`), and a terminal that closes, too.

use std::io::stderr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use ontick_rt::clock::ClockId;
use rustix::fd::AsFd;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level;

use crate::terminal;

/// The same signal again within this time is still the first: timeout(1) sends its signal to the program and then to
/// the program's group. In µs.
const SAME_US: u64 = 300_000;

/// The result is there, and a file beside it is waited for. The signal that else would end the program at once clears this
/// instead: the file is given up.
pub static WAITS_FOR_FILE: AtomicBool = AtomicBool::new(false);

const SIGNALS: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];

/// What was asked for first: when, in µs, and by which signal; 0 as long as nothing was. One word, so that of two threads
/// that get a signal each, one is first and the other sees all of it.
#[derive(Default)]
struct Asked(AtomicU64);

/// A flag that is set by SIGINT, SIGTERM and SIGHUP. Where nohup(1) has SIGHUP ignored, or a script SIGINT of what it started
/// with `&`, it stays so.
pub fn on_signal() -> std::io::Result<Arc<AtomicBool>> {
    let (stop, asked) = (Arc::new(AtomicBool::new(false)), Arc::new(Asked::default()));
    // One that came while its handler is being put in place would be lost.
    let _held = Held::back(&SIGNALS)?;
    for signal in SIGNALS.into_iter().filter(|signal| !is_left_ignored(*signal)) {
        let (stop, asked, terminal) = (stop.clone(), asked.clone(), stderr());
        let came = move || {
            let over = asked.is_over(signal, ClockId::Monotonic.now_ns());
            stop.store(true, Relaxed);
            if over && !WAITS_FOR_FILE.swap(false, Relaxed) {
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

/// Whether who started this program wants it to go on in spite of this signal. SIGTERM always ends it: what a line drives
/// must be left as was asked.
#[allow(unsafe_code)]
fn is_left_ignored(signal: i32) -> bool {
    // SAFETY: zero is a valid sigaction, which is only written to.
    let now = unsafe {
        let mut now: libc::sigaction = std::mem::zeroed();
        (libc::sigaction(signal, std::ptr::null(), &mut now) == 0).then_some(now.sa_sigaction)
    };
    signal != SIGTERM && now == Some(libc::SIG_IGN)
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
    /// Notes the first signal; whether this is another one than that.
    fn is_over(&self, signal: i32, now_ns: u64) -> bool {
        let this = (now_ns / 1_000) << 8 | signal as u64;
        let Err(first) = self.0.compare_exchange(0, this, Relaxed, Relaxed) else { return false };
        let (first, since_us) = ((first & 0xff) as i32, (this >> 8).saturating_sub(first >> 8));
        // Signals that come at once are not handled in the order in which they were sent: a hang-up may be first, too.
        signal != SIGHUP && ((signal != first && first != SIGHUP) || since_us > SAME_US)
    }
}

/// A program that is ended at once cannot put the terminal back itself any more.
fn leave(terminal: impl AsFd) {
    if terminal::ON_OTHER_SCREEN.load(Relaxed) {
        let _ = rustix::io::write(terminal, terminal::LEAVE_OTHER_SCREEN);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether each of these signals, which come at this time in ms, ends the program at once.
    fn over<const N: usize>(came: [(i32, u64); N]) -> [bool; N] {
        let asked = Asked::default();
        came.map(|(signal, ms)| asked.is_over(signal, (1_000 + ms) * 1_000_000))
    }

    #[test]
    fn a_second_interrupt_or_another_signal_ends_it_at_once() {
        assert_eq!(over([(SIGINT, 0), (SIGINT, 300), (SIGINT, 301)]), [false, false, true]);
        assert_eq!(over([(SIGINT, 0), (SIGTERM, 0)]), [false, true]);
    }

    #[test]
    fn a_hang_up_is_no_second_request() {
        assert_eq!(over([(SIGTERM, 0), (SIGHUP, 0), (SIGHUP, 900), (SIGTERM, 900)]), [false, false, false, true]);
        assert_eq!(over([(SIGHUP, 0), (SIGTERM, 200), (SIGINT, 900)]), [false, false, true]);
    }
}
