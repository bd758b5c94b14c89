//! Absolute sleep: clock_nanosleep(2) with `TIMER_ABSTIME`.

use super::Wait;
use crate::clock::Clock;

/// Sleeps until the deadline. Costs no CPU time and is late by the wake latency.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sleep;

impl Wait for Sleep {
    fn until(&mut self, clock: &mut Clock, deadline_ns: u64) -> u64 {
        clock.sleep_until(deadline_ns);
        clock.now_ns()
    }
}
