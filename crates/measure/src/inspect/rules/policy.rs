//! The scheduling policy.

use ontick_record::findings::Severity;

use super::{Breach, Rule};
use crate::inspect::program::ThreadState;

const NONE: Rule = Rule {
    id: "policy",
    severity: Severity::Bad,
    what: "no real-time policy",
    why: "the thread shares its CPU with all others: it waits for its turn, which takes as many milliseconds as there are others",
    mend: "give the thread SCHED_FIFO or SCHED_DEADLINE: pthread_setschedparam(3), sched_setattr(2) or chrt(1)",
    source: "sched(7), Scheduling policies",
};

const HIGHEST: Rule = Rule {
    id: "highest-priority",
    severity: Severity::Warn,
    what: "the highest priority",
    why: "the kernel's own threads that every CPU needs (migration, watchdogs) have it too, and cannot interrupt this one",
    mend: "use a priority below 99, such as 80",
    source: "sched(7); Documentation/admin-guide/lockup-watchdogs.rst",
};

const MAXIMUM: u32 = 99;

pub fn policy(thread: &ThreadState) -> Option<Breach> {
    if !thread.is_real_time() {
        return Some(Breach::new(&NONE, format!("the policy is {}", thread.policy_name())));
    }
    let fixed = [libc::SCHED_FIFO as u32, libc::SCHED_RR as u32].contains(&thread.policy);
    (fixed && thread.priority >= MAXIMUM).then(|| Breach::new(&HIGHEST, thread.policy_name()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_are_judged() {
        let of = |policy: i32, priority| {
            let thread = ThreadState { policy: policy as u32, priority, ..ThreadState::default() };
            policy_id(&thread)
        };
        fn policy_id(thread: &ThreadState) -> Option<&'static str> {
            super::policy(thread).map(|breach| breach.rule.id)
        }
        assert_eq!(of(libc::SCHED_OTHER, 0), Some("policy"));
        assert_eq!(of(libc::SCHED_BATCH, 0), Some("policy"));
        assert_eq!(of(libc::SCHED_FIFO, 99), Some("highest-priority"));
        assert_eq!([of(libc::SCHED_FIFO, 98), of(libc::SCHED_RR, 1), of(libc::SCHED_DEADLINE, 0)], [None; 3]);
    }
}
