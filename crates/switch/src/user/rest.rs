//! Where real-time throttling is on, a core that never slept would be stopped for 50 ms of every second; on a PREEMPT_RT
//! kernel it would starve threads of its CPU that the whole kernel waits for (RCU, timers, softirqs). It sleeps a little
//! now and then instead, where no gate moves.

use std::fs;

use ontick_rt::clock::{ClockId, sleep_for};
use ontick_rt::thread::Policy;

/// The core works for so long between two rests, in ns.
const WORK_NS: u64 = 1_000_000;
/// It asks to sleep for so long: of a millisecond more than the twentieth that throttling takes.
const REST_NS: u64 = 70_000;
/// It may be late out of its sleep by so much without harm, in ns.
const LATE_NS: u64 = 100_000;
/// A rest that finds no place between gates is taken anyway when it is overdue by this, in ns.
const OVERDUE_NS: u64 = 5_000_000;

/// When the core last rested.
#[derive(Debug)]
pub struct Rests {
    due_ns: u64,
}

impl Rests {
    /// Rests for a thread of this policy, where it needs any.
    pub fn needed(policy: Option<Policy>) -> Option<Self> {
        let limit = |path: &str| fs::read_to_string(path).ok()?.trim().parse::<i64>().ok();
        let limits = [
            "/proc/sys/kernel/sched_rt_runtime_us",
            // With RT_GROUP_SCHED the root group has a limit of its own.
            "/sys/fs/cgroup/cpu/cpu.rt_runtime_us",
            "/sys/fs/cgroup/cpu,cpuacct/cpu.rt_runtime_us",
        ];
        let throttled = limits.into_iter().filter_map(limit).any(|limit| limit >= 0);
        let starves = throttled || is_preempt_rt();
        (starves && policy.is_some_and(Policy::is_real_time)).then_some(Self { due_ns: 0 })
    }

    /// Sleeps if it is time and no gate moves soon; whether it slept. Times are those of the switch's clock.
    #[inline]
    pub fn take(&mut self, now_ns: u64, quiet_until_ns: impl FnOnce() -> u64) -> bool {
        now_ns >= self.due_ns && self.take_now(now_ns, quiet_until_ns())
    }

    #[cold]
    fn take_now(&mut self, now_ns: u64, quiet_until_ns: u64) -> bool {
        let fits = quiet_until_ns.saturating_sub(now_ns) > REST_NS + LATE_NS;
        if self.due_ns != 0 && !fits && now_ns < self.due_ns + OVERDUE_NS {
            return false;
        }
        let began_ns = ClockId::Monotonic.now_ns();
        sleep_for(REST_NS);
        self.due_ns = now_ns + (ClockId::Monotonic.now_ns() - began_ns) + WORK_NS;
        true
    }
}

/// Whether the kernel does in threads what others do in interrupts.
pub fn is_preempt_rt() -> bool {
    fs::read_to_string("/sys/kernel/realtime").is_ok_and(|text| text.trim() == "1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_rests_between_gates_and_at_last_anywhere() {
        let mut rests = Rests { due_ns: 1_000 };
        assert!(!rests.take(999, || unreachable!("it is not time")));
        assert!(!rests.take(1_000, || 50_000));
        assert!(rests.take(2_000, || 900_000));
        let due_ns = rests.due_ns;
        assert!(due_ns >= 2_000 + REST_NS + WORK_NS);
        assert!(!rests.take(due_ns, || due_ns));
        assert!(rests.take(due_ns + OVERDUE_NS, || due_ns));
    }
}
