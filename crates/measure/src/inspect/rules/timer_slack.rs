//! Timers that the kernel may delay.

use ontick_record::findings::Severity;

use super::{Breach, Rule};
use crate::inspect::program::ThreadState;

const RULE: Rule = Rule {
    id: "timer-slack",
    severity: Severity::Warn,
    what: "timers that may be late on purpose",
    why: "the kernel puts the timers of a thread without a real-time policy together, and each wait ends that much later",
    mend: "give the thread a real-time policy, or call prctl(PR_SET_TIMERSLACK, 1)",
    source: "PR_SET_TIMERSLACK(2const), time(7)",
};

/// The least that can be set is 1 ns.
const NONE_NS: u64 = 1;

/// A real-time thread's timers are never delayed; some kernels still say that they are.
pub fn timer_slack(thread: &ThreadState) -> Option<Breach> {
    let slack_ns = thread.slack_ns.filter(|ns| *ns > NONE_NS && !thread.is_real_time())?;
    Some(Breach { cost_ns: Some(slack_ns), ..Breach::new(&RULE, format!("by up to {} us", slack_ns.div_ceil(1_000))) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slack_matters_to_normal_threads() {
        let normal = ThreadState { slack_ns: Some(50_000), ..ThreadState::default() };
        assert_eq!(timer_slack(&normal).unwrap().detail, "by up to 50 us");
        let real_time = ThreadState { policy: libc::SCHED_FIFO as u32, ..normal.clone() };
        assert_eq!(timer_slack(&real_time), None);
        assert_eq!(timer_slack(&ThreadState { slack_ns: Some(1), ..normal.clone() }), None);
        assert_eq!(timer_slack(&ThreadState { slack_ns: None, ..normal }), None);
    }
}
