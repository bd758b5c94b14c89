//! A thread that comes before the interrupt threads that it waits for.

use ontick_record::findings::Severity;

use super::{Breach, Rule};
use crate::inspect::event::Waker;
use crate::inspect::program::ThreadState;
use crate::inspect::program::threads::DEADLINE;

const RULE: Rule = Rule {
    id: "above-interrupt",
    severity: Severity::Bad,
    what: "a priority above the thread that wakes it up",
    why: "while the loop runs, the interrupt thread that brings its data or its timer does not: data is late, or lost",
    mend: "give the interrupt thread a higher priority than the loop (chrt -f -p PRIORITY PID), or the loop a lower one",
    source: "sched(7); Documentation/core-api/real-time/differences.rst",
};

/// How the kernel names threads that do the work of interrupts.
const KERNEL: [&str; 4] = ["irq/", "napi/", "ksoftirqd/", "ktimers/"];

/// Whether a thread of this name does the work of interrupts.
pub fn is_interrupt_thread(name: &str) -> bool {
    KERNEL.iter().any(|start| name.starts_with(start))
}

pub fn interrupt_thread(waker: &Waker, thread: &ThreadState) -> Option<Breach> {
    let kernel = !waker.interrupt && is_interrupt_thread(&waker.name);
    let above = thread.is_real_time() && waker.rank.is_some_and(|rank| rank <= thread.rank() && rank < DEADLINE);
    // Of ktimers and ksoftirqd there is one for each CPU; the number says nothing.
    (kernel && above).then(|| {
        let detail = format!("{} is above {} ({})", thread.policy_name(), waker.name, waker.policy);
        Breach::new(&RULE, detail)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_wakes_it_up_and_is_below_it_counts() {
        let thread = ThreadState { policy: libc::SCHED_FIFO as u32, priority: 80, ..ThreadState::default() };
        let waker = |name: &str, priority| Waker {
            tid: 50,
            name: name.into(),
            policy: format!("fifo:{priority}"),
            rank: Some(priority),
            interrupt: false,
        };
        let detail = |waker: &Waker| interrupt_thread(waker, &thread).map(|breach| breach.detail);
        assert_eq!(detail(&waker("irq/131-eth1", 50)), Some("fifo:80 is above irq/131-eth1 (fifo:50)".into()));
        assert_eq!(detail(&waker("irq/131-eth1", 90)), None);
        assert_eq!(detail(&waker("other", 50)), None);
        // The timer's own interrupt came while such a thread ran.
        assert_eq!(detail(&Waker { interrupt: true, ..waker("irq/131-eth1", 50) }), None);
        let deadline = ThreadState { policy: libc::SCHED_DEADLINE as u32, ..ThreadState::default() };
        let above = interrupt_thread(&waker("irq/131-eth1", 50), &deadline).map(|breach| breach.detail);
        assert_eq!(above, Some("deadline is above irq/131-eth1 (fifo:50)".into()));
        assert_eq!(detail(&Waker { rank: Some(deadline.rank()), ..waker("irq/131-eth1", 0) }), None);
        let normal = ThreadState::default();
        assert_eq!(interrupt_thread(&waker("ksoftirqd/1", 0), &normal), None);
    }
}
