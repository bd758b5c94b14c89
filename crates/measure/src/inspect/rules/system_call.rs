//! Calls that have no place in a loop on time.

use ontick_record::findings::Severity;

use super::{Breach, Ended, Rule};

const RULE: Rule = Rule {
    id: "system-call",
    severity: Severity::Warn,
    what: "system calls that belong before the loop",
    why: "they make or change processes, threads, descriptors or settings, under locks of the kernel, for a time without a bound",
    mend: "make and set up what the loop needs before it begins",
    source: "clone(2), socket(2), sched(7)",
};

/// What starts, ends or sets up, and may take long.
const CALLS: [&str; 37] = [
    "clone",
    "clone3",
    "fork",
    "vfork",
    "execve",
    "execveat",
    "wait4",
    "waitid",
    "mlock",
    "mlock2",
    "munlock",
    "mlockall",
    "munlockall",
    "memfd_create",
    "timerfd_create",
    "timer_create",
    "eventfd2",
    "pipe2",
    "socket",
    "bind",
    "connect",
    "accept4",
    "setsockopt",
    "sched_setaffinity",
    "sched_setscheduler",
    "sched_setparam",
    "sched_setattr",
    "setpriority",
    "syslog",
    "membarrier",
    "prctl",
    "rt_sigaction",
    "sigaltstack",
    "clock_settime",
    "close",
    "flock",
    "getrandom",
];

pub fn system_call(ended: &Ended) -> Option<Breach> {
    ended.call.is(&CALLS).then(|| Breach::new(&RULE, ended.call.name().unwrap_or_default()))
}
