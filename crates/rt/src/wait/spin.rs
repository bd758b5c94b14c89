//! Spinning: reading the clock until it is time.

use super::Wait;
use crate::clock::Clock;

/// Spins all the time. The core is fully used: real-time throttling or the fair server will interrupt a
/// loop that does nothing else for longer than a second; [`Hybrid`](super::Hybrid) avoids that.
#[derive(Debug, Clone, Copy, Default)]
pub struct Spin {
    spun_ns: u64,
}

impl Wait for Spin {
    fn until(&mut self, clock: &mut Clock, deadline_ns: u64) -> u64 {
        let began = clock.now_ns();
        let now = spin(clock, deadline_ns);
        self.spun_ns += now - began.min(now);
        now
    }

    fn spun_ns(&self) -> Option<u64> {
        Some(self.spun_ns)
    }
}

/// Reads the clock until `deadline_ns` has come; the value is the time then.
///
/// There is no pause hint in the loop: on recent x86 processors it takes up to 140 cycles, which is the
/// very precision that spinning buys.
#[inline]
pub(super) fn spin(clock: &mut Clock, deadline_ns: u64) -> u64 {
    loop {
        let now = clock.now_ns();
        if now >= deadline_ns {
            return now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::script::Script;

    #[test]
    fn all_the_time_of_each_wait_is_spun() {
        let mut clock = Clock::scripted(Script::new(0).reading_takes(10));
        let mut wait = Spin::default();
        assert_eq!(wait.spun_ns(), Some(0));
        assert_eq!(wait.until(&mut clock, 1_000), 1_000);
        assert_eq!(wait.spun_ns(), Some(990), "from the first reading on");
        clock.pass(5_000);
        assert_eq!(wait.until(&mut clock, 7_005), 7_010);
        assert_eq!(wait.spun_ns(), Some(990 + 1_000));
    }
}
