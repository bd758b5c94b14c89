//! A core that never sleeps starves the other threads of its CPU. Where real-time throttling is on, it is stopped for 50 ms
//! of every second for that; since Linux 6.12 the fair server does the same for any busy normal thread; on a PREEMPT_RT
//! kernel the whole machine waits for such threads (RCU, timers, softirqs). So it sleeps a little now and then, where no
//! gate moves, unless its CPU is isolated.

use std::fs;

use ontick_rt::cpus;
use ontick_rt::thread::Policy;

use super::CorePlacement;

/// The core works for so long between two rests, in ns.
const WORK_NS: u64 = 1_000_000;
/// It asks to sleep for so long: of a millisecond more than the twentieth that throttling takes.
pub const REST_NS: u64 = 70_000;
/// It may be late out of its sleep by so much, in ns; what goes beyond is a stall.
pub const LATE_NS: u64 = 100_000;
/// A rest that finds no place between gates is taken anyway when it is overdue by this, in ns.
const OVERDUE_NS: u64 = 5_000_000;

/// When the core rests next.
#[derive(Debug)]
pub struct Rests {
    due_ns: u64,
}

/// What decides whether a core rests.
#[derive(Debug, Clone, Copy)]
struct Need {
    real_time: bool,
    /// Real-time throttling is on.
    throttled: bool,
    preempt_rt: bool,
    /// No normal thread is put on its CPU.
    isolated: bool,
    /// It was asked not to rest for the sake of normal threads.
    never_rest: bool,
}

impl Need {
    fn is_given(self) -> bool {
        let shared = !self.isolated && !self.never_rest;
        self.real_time && (self.throttled || self.preempt_rt || shared)
    }
}

impl Rests {
    /// Rests for a core at `place` that obtained this policy, where it needs any.
    pub fn needed(place: CorePlacement, policy: Option<Policy>) -> Option<Self> {
        let limit = |path: &str| fs::read_to_string(path).ok()?.trim().parse::<i64>().ok();
        let limits = [
            "/proc/sys/kernel/sched_rt_runtime_us",
            // With RT_GROUP_SCHED the root group has a limit of its own.
            "/sys/fs/cgroup/cpu/cpu.rt_runtime_us",
            "/sys/fs/cgroup/cpu,cpuacct/cpu.rt_runtime_us",
        ];
        let need = Need {
            real_time: policy.is_some_and(Policy::is_real_time),
            throttled: limits.into_iter().filter_map(limit).any(|limit| limit >= 0),
            preempt_rt: is_preempt_rt(),
            isolated: place.cpu.is_some_and(|cpu| cpus::isolated().contains(&cpu)),
            never_rest: place.never_rest,
        };
        need.is_given().then_some(Self { due_ns: 0 })
    }

    /// Whether it is time to sleep for [`REST_NS`], and no gate moves meanwhile. Times are those of the switch's clock.
    #[inline]
    pub fn is_due(&self, now_ns: u64, quiet_until_ns: impl FnOnce() -> u64) -> bool {
        now_ns >= self.due_ns && self.fits(now_ns, quiet_until_ns())
    }

    #[cold]
    fn fits(&self, now_ns: u64, quiet_until_ns: u64) -> bool {
        let fits = quiet_until_ns.saturating_sub(now_ns) > REST_NS + LATE_NS;
        self.due_ns == 0 || fits || now_ns >= self.due_ns + OVERDUE_NS
    }

    /// The core has slept until now.
    pub fn ended(&mut self, now_ns: u64) {
        self.due_ns = now_ns + WORK_NS;
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
        assert!(!rests.is_due(999, || unreachable!("it is not time")));
        assert!(!rests.is_due(1_000, || 50_000));
        assert!(rests.is_due(2_000, || 900_000));
        rests.ended(75_000);
        let due_ns = rests.due_ns;
        assert_eq!(due_ns, 75_000 + WORK_NS);
        assert!(!rests.is_due(due_ns, || due_ns));
        assert!(rests.is_due(due_ns + OVERDUE_NS, || due_ns));
    }

    /// A normal thread on its CPU would otherwise get 50 ms at a time from the fair server.
    #[test]
    fn a_core_on_a_cpu_that_is_not_isolated_rests_by_default() {
        let alone = Need { real_time: true, throttled: false, preempt_rt: false, isolated: true, never_rest: false };
        let shared = Need { isolated: false, ..alone };
        assert!(!alone.is_given() && shared.is_given());
        assert!(!Need { never_rest: true, ..shared }.is_given());
        assert!(!Need { real_time: false, ..shared }.is_given());
        // What the whole machine waits for is not at anybody's choice.
        assert!(Need { throttled: true, never_rest: true, ..shared }.is_given());
        assert!(Need { preempt_rt: true, never_rest: true, ..alone }.is_given());
    }
}
