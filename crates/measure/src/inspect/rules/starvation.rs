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

/// Of the time in which it could run, in percent. Throttling leaves a real-time thread 95 (`sched_rt_runtime_us` of
/// `sched_rt_period_us`), and so does the fair server.
const MOST: u64 = 90;
/// Who runs for less of the time, in percent, is kept from its CPU rather than keeps it.
const LEAST: u64 = 25;
/// Shorter observations say nothing: a burst may fill them.
const LEAST_NS: u64 = 200_000_000;

/// A thread's use of its CPU over some time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Use {
    /// How long it ran, in ns. What a hypervisor took meanwhile is in neither this nor the next.
    pub ran_ns: u64,
    /// How long it waited for its CPU, in ns.
    pub waited_ns: u64,
    /// How often it gave its CPU up, where that is known.
    pub sleeps: Option<u64>,
    /// In so long, in ns.
    pub of_ns: u64,
}

pub fn starvation(thread: &ThreadState, used: Use) -> Option<Breach> {
    let percent = |of_ns: u64| used.ran_ns.saturating_mul(100) / of_ns.max(1);
    let fixed = [libc::SCHED_FIFO as u32, libc::SCHED_RR as u32].contains(&thread.policy);
    let (ran, never_slept) = (percent(used.of_ns).min(100), used.sleeps == Some(0));
    let fills = never_slept || percent(used.of_ns.saturating_sub(used.waited_ns)) >= MOST;
    let starves = fixed && used.of_ns >= LEAST_NS && ran >= LEAST && fills;
    let sleeps = if never_slept { " and never slept" } else { "" };
    starves.then(|| Breach::new(&RULE, format!("{} ran {ran} % of the time{sleeps}", thread.policy_name())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_that_rests_starves_nobody() {
        let thread = ThreadState { policy: libc::SCHED_FIFO as u32, priority: 80, ..ThreadState::default() };
        let of = |[ran_ms, waited_ms, of_ms]: [u64; 3], sleeps: u64| {
            let [ran_ns, waited_ns, of_ns] = [ran_ms, waited_ms, of_ms].map(|ms| ms * 1_000_000);
            starvation(&thread, Use { ran_ns, waited_ns, sleeps: Some(sleeps), of_ns }).map(|breach| breach.detail)
        };
        assert_eq!(of([990, 0, 1_000], 1), Some("fifo:80 ran 99 % of the time".into()));
        assert_eq!((of([899, 0, 1_000], 1), of([99, 0, 100], 0)), (None, None));
        // Others kept it from its CPU, or a hypervisor did.
        assert_eq!(of([550, 400, 1_000], 1), Some("fifo:80 ran 55 % of the time".into()));
        assert_eq!(of([550, 0, 1_000], 0), Some("fifo:80 ran 55 % of the time and never slept".into()));
        assert_eq!(of([40, 960, 1_000], 0), None, "it starves itself");
        let normal = ThreadState::default();
        assert_eq!(starvation(&normal, Use { ran_ns: 1 << 40, of_ns: 1 << 40, ..Use::default() }), None);
    }
}
