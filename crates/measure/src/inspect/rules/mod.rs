//! What breaks a program's timing: one rule in a file. A rule is given what happened, or what holds, and nothing else.

mod clock;
mod file_access;
mod heap;
mod interrupt_thread;
mod lock;
mod memory_lock;
mod migration;
mod page_fault;
mod policy;
mod relative_wait;
mod remote_memory;
mod signal;
mod starvation;
mod system_call;
mod terminal;
mod timer_slack;

use ontick_record::findings::Severity;

use super::calls::Call;
use super::event::Waker;
use super::program::ThreadState;
use super::symbols::Location;
use super::thread::Happening;
pub use interrupt_thread::is_interrupt_thread;
pub use memory_lock::memory_lock;
pub use policy::policy;
pub use remote_memory::remote_memory;
pub use starvation::{Use, starvation};
pub use timer_slack::timer_slack;

/// A rule: what it is called, how bad it is, why it matters, what mends it, and who says so.
#[derive(Debug, PartialEq, Eq)]
pub struct Rule {
    /// Its name.
    pub id: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// What it found, before the details.
    pub what: &'static str,
    /// Why it matters.
    pub why: &'static str,
    /// What mends it.
    pub mend: &'static str,
    /// The documentation that says so.
    pub source: &'static str,
}

/// A rule that something broke, and what exactly it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Breach {
    /// The rule.
    pub rule: &'static Rule,
    /// What it was: `write to /var/log/loop.log`.
    pub detail: String,
    /// What it cost, in ns, where that was measured.
    pub cost_ns: Option<u64>,
}

impl Breach {
    fn new(rule: &'static Rule, detail: impl Into<String>) -> Self {
        Self { rule, detail: detail.into(), cost_ns: None }
    }
}

/// A system call that ended, with what the rules need to judge it.
#[derive(Debug, Clone, Copy)]
pub struct Ended<'a> {
    /// The call.
    pub call: &'a Call,
    /// Where in the program.
    pub location: Option<&'a Location>,
    /// Who ended the wait in it.
    pub woken_by: Option<&'a Waker>,
    /// The thread.
    pub thread: &'a ThreadState,
}

/// The rules about system calls. The first that a call breaks is its.
const OF_CALLS: [fn(&Ended) -> Option<Breach>; 7] = [
    lock::lock,
    heap::heap,
    terminal::terminal,
    file_access::file_access,
    clock::clock,
    relative_wait::relative_wait,
    system_call::system_call,
];

/// What a system call breaks.
pub fn of_call(ended: &Ended) -> Option<Breach> {
    let breach = OF_CALLS.iter().find_map(|rule| rule(ended))?;
    // How long a wait takes is what it is for.
    let cost_ns = (breach.rule.id == lock::RULE.id || !ended.call.is_wait()).then_some(ended.call.took_ns);
    Some(Breach { cost_ns, ..breach })
}

/// What anything else that happened breaks.
pub fn of_happening(happening: &Happening, thread: &ThreadState) -> Option<Breach> {
    match happening {
        Happening::Fault { major, .. } => Some(page_fault::page_fault(*major)),
        Happening::Moved { from, to } => Some(migration::migration(*from, *to)),
        Happening::Signal(number) => Some(signal::signal(*number)),
        Happening::Woken(waker) => interrupt_thread::interrupt_thread(waker, thread),
        _ => None,
    }
}

/// The rule that a cost measured later belongs to.
pub fn of_later_cost(happening: &Happening) -> Option<(&'static Rule, u64)> {
    match happening {
        Happening::FaultWaited { ns } => Some((&page_fault::RULE, *ns)),
        Happening::Handled { ns } => Some((&signal::RULE, *ns)),
        _ => None,
    }
}

/// A thread whose page faults and migrations were counted, not seen.
pub fn of_counters(faults: (u64, u64), migrations: Option<u64>) -> Vec<(Breach, u64)> {
    let mut found = Vec::new();
    for (major, count) in [(false, faults.0), (true, faults.1)] {
        if count > 0 {
            found.push((page_fault::page_fault(major), count));
        }
    }
    if let Some(count) = migrations.filter(|count| *count > 0) {
        found.push((Breach::new(&migration::RULE, "from CPU to CPU"), count));
    }
    found
}

/// Whether a page fault is what it is about: its cost may be estimated.
pub fn is_page_fault(rule: &Rule) -> bool {
    rule.id == page_fault::RULE.id
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inspect::calls::tests::call;

    /// A call of a real-time thread, without anything known besides.
    pub fn judged(call: &Call) -> Option<Breach> {
        of_call(&ended(call))
    }

    pub fn ended(call: &Call) -> Ended<'_> {
        const THREAD: &ThreadState = &ThreadState {
            tid: 7,
            name: String::new(),
            policy: libc::SCHED_FIFO as u32,
            priority: 80,
            started: 0,
            cpu: 0,
            faults: (0, 0),
            slack_ns: None,
            ran_ns: 0,
            waited_ns: 0,
            sleeps: None,
        };
        Ended { call, location: None, woken_by: None, thread: THREAD }
    }

    /// What a loop on time does: absolute waits on the monotonic clock, sockets, devices, priority inheritance.
    #[test]
    fn a_clean_loop_breaks_nothing() {
        let monotonic_absolute = [1, 1, 0x1000, 0, 0, 0];
        let clean = [
            call("clock_nanosleep", monotonic_absolute),
            call("futex", [0x1000, 6 | 128, 0, 0, 0, 0]),
            call("futex", [0x1000, 7 | 128, 0, 0, 0, 0]),
            call("futex", [0x1000, 1 | 128, 1, 0, 0, 0]),
            call("sendto", [3, 0, 64, 0, 0, 0]),
            call("recvfrom", [3, 0, 64, 0, 0, 0]),
            call("ioctl", [4, 0, 0, 0, 0, 0]),
            call("read", [5, 0, 8, 0, 0, 0]),
            call("epoll_wait", [5, 0, 8, u64::from(u32::MAX), 0, 0]),
            call("gettid", [0; 6]),
        ];
        for call in clean {
            assert_eq!(judged(&call), None, "{call:?}");
        }
    }

    #[test]
    fn a_wait_costs_nothing_but_that_for_a_lock() {
        let wait = Call { waited_ns: 400, ..call("futex", [0x1000, 128, 2, 0, 0, 0]) };
        assert_eq!(judged(&wait).unwrap().cost_ns, Some(500));
        assert_eq!(judged(&call("nanosleep", [0; 6])).unwrap().cost_ns, None);
        assert_eq!(judged(&call("brk", [0; 6])).unwrap().cost_ns, Some(500));
    }
}
