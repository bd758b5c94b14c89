//! Memory that is not there when it is touched.

use ontick_record::findings::Severity;

use super::{Breach, Rule};

pub const RULE: Rule = Rule {
    id: "page-fault",
    severity: Severity::Bad,
    what: "page faults",
    why: "the kernel finds a page, and clears or reads it, while the loop waits: some microseconds, or as long as a disk takes",
    mend: "call mlockall(MCL_CURRENT | MCL_FUTURE) before the loop, and touch stack and buffers once after it",
    source: "mlockall(2), NOTES; Documentation/trace/rv/monitor_rtapp.rst (monitor pagefault)",
};

pub fn page_fault(major: bool) -> Breach {
    Breach::new(&RULE, if major { "read from a disk" } else { "mapped or cleared" })
}
