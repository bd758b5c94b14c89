//! A thread that goes from CPU to CPU.

use ontick_record::findings::Severity;

use super::{Breach, Rule};

pub const RULE: Rule = Rule {
    id: "migration",
    severity: Severity::Warn,
    what: "changes of CPU",
    why: "code and data are not in the new CPU's cache, and what was kept off the old CPU may be on the new one",
    mend: "bind the thread to one CPU: sched_setaffinity(2) or pthread_setaffinity_np(3) before the loop",
    source: "sched_setaffinity(2), cpuset(7)",
};

pub fn migration(from: u32, to: u32) -> Breach {
    Breach::new(&RULE, format!("from CPU {from} to CPU {to}"))
}
