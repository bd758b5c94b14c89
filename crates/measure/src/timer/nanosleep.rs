//! nanosleep(2): for the rest of the period, as most programs do.

use ontick_rt::clock::{Clock, sleep_for};
use ontick_rt::wait::Wait;

/// Relative sleep. Whatever delays the thread between reading the clock and sleeping is added to the wait.
pub struct Nanosleep;

impl Wait for Nanosleep {
    fn until(&mut self, clock: &mut Clock, deadline_ns: u64) -> u64 {
        let rest_ns = deadline_ns.saturating_sub(clock.now_ns());
        if rest_ns > 0 {
            sleep_for(rest_ns);
        }
        clock.now_ns()
    }
}
