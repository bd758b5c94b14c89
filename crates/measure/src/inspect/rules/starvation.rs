//! A real-time thread that leaves nothing for others.

use ontick_record::findings::Severity;

use super::{Breach, Rule};
use crate::inspect::program::ThreadState;

const RULE: Rule = Rule {
    id: "starvation",
    severity: Severity::Bad,
    what: "a real-time thread that hardly ever sleeps",
    why: "threads of lower priority starve on its CPU, or the kernel takes the CPU from it: 50 ms each second, as throttling or by the fair server",
    mend: "wait in every round, for a tenth of the time at least; or keep the CPU free of others (isolcpus=, cpusets) and say so to the kernel",
    source: "sched(7), Limiting the CPU usage of real-time and deadline processes; Documentation/scheduler/sched-rt-group.rst",
};

/// Of its CPU, in percent. Throttling leaves a real-time thread 95 (`sched_rt_runtime_us` of `sched_rt_period_us`), and so
/// does the fair server; what a hypervisor takes is missing besides.
const MOST: u64 = 90;
/// Shorter observations say nothing: a burst may fill them.
const LEAST_NS: u64 = 200_000_000;

/// A thread's use of its CPU over some time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Use {
    /// How long it ran, in ns.
    pub ran_ns: u64,
    /// In so long, in ns.
    pub of_ns: u64,
}

pub fn starvation(thread: &ThreadState, used: Use) -> Option<Breach> {
    let share = used.ran_ns.saturating_mul(100) / used.of_ns.max(1);
    let fixed = [libc::SCHED_FIFO as u32, libc::SCHED_RR as u32].contains(&thread.policy);
    let starves = fixed && used.of_ns >= LEAST_NS && share >= MOST;
    starves.then(|| Breach::new(&RULE, format!("{} ran {} % of the time", thread.policy_name(), share.min(100))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_that_rests_starves_nobody() {
        let thread = ThreadState { policy: libc::SCHED_FIFO as u32, priority: 80, ..ThreadState::default() };
        let of = |ran_ms: u64, of_ms: u64| {
            let used = Use { ran_ns: ran_ms * 1_000_000, of_ns: of_ms * 1_000_000 };
            starvation(&thread, used).map(|breach| breach.detail)
        };
        assert_eq!(of(990, 1_000), Some("fifo:80 ran 99 % of the time".into()));
        assert_eq!((of(899, 1_000), of(99, 100)), (None, None));
        let normal = ThreadState::default();
        assert_eq!(starvation(&normal, Use { ran_ns: 1 << 40, of_ns: 1 << 40 }), None);
    }
}
