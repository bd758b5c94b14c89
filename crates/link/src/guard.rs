//! A timed thread that runs away with its CPU is brought back among ordinary ones.
//!
//! A sender rests after every frame, and a receiver that polls many times a second; one that does not for long would
//! take a CPU from the machine for good, where it is in real time.

use std::time::Duration;

use ontick_rt::thread::{Policy, ThreadSetup};
use ontick_rt::watchdog::Watchdog;

/// Many times as long as the longest frame that threads spin through.
const RUNAWAY_AFTER: Duration = Duration::from_secs(20);

/// Watches the calling thread as long as it is there.
pub struct Guard {
    _watchdog: Option<Watchdog>,
    /// What the thread asked for and did not get.
    pub refused: Vec<String>,
}

impl Guard {
    /// Over the calling thread, which asked for this.
    pub fn over(held: &ThreadSetup) -> Self {
        Self::within(held, RUNAWAY_AFTER)
    }

    fn within(held: &ThreadSetup, limit: Duration) -> Self {
        let mut refused: Vec<String> = held.refused().iter().map(ToString::to_string).collect();
        let watched = held.policy().is_some_and(Policy::is_real_time);
        let watchdog = watched.then(|| Watchdog::watch_this_thread(limit)).and_then(|started| {
            started.map_err(|e| refused.push(format!("no watchdog could be started over a real-time thread: {e}"))).ok()
        });
        if let Some(lowered) = watchdog.as_ref().and_then(Watchdog::lowered) {
            refused.push(format!("lowered to {lowered}, as its watchdog may run on no other CPU"));
        }
        Self { _watchdog: watchdog, refused }
    }

    /// Whether the thread was demoted.
    #[cfg(test)]
    fn demoted(&self) -> bool {
        self._watchdog.as_ref().is_some_and(Watchdog::demoted)
    }
}

#[cfg(test)]
mod tests {
    use ontick_rt::clock::ClockId;
    use ontick_rt::cpus;
    use ontick_rt::thread::Setup;

    use super::*;

    /// Spins on a thread of its own until it was demoted, or gives up after half a minute.
    fn spun(setup: Setup) -> Option<bool> {
        let spin = move || {
            let held = setup.best_effort();
            if let Some(refusal) = held.refused().first() {
                ontick_skip::skipped!("{refusal}");
                return None;
            }
            let guard = Guard::within(&held, Duration::from_millis(300));
            let end_ns = ClockId::Monotonic.now_ns() + 30_000_000_000;
            while guard._watchdog.is_some() && !guard.demoted() && ClockId::Monotonic.now_ns() < end_ns {
                std::hint::spin_loop();
            }
            Some(guard.demoted())
        };
        std::thread::spawn(spin).join().unwrap()
    }

    #[test]
    fn a_thread_that_never_rests_is_demoted() {
        let demoted = spun(Setup::new().cpu(cpus::preferred()).policy(Policy::Fifo(10)));
        assert!(demoted.is_none_or(|demoted| demoted));
    }

    #[test]
    fn an_ordinary_thread_needs_no_watchdog() {
        assert_eq!(spun(Setup::new()), Some(false));
    }
}
