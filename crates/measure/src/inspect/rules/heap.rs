//! Memory that is asked of the kernel in the loop.

use ontick_record::findings::Severity;

use super::{Breach, Ended, Rule};

const RULE: Rule = Rule {
    id: "heap",
    severity: Severity::Bad,
    what: "changes of the address space",
    why: "the call takes the lock that page faults of all threads need, and new memory is cleared when it is touched",
    mend: "allocate before the loop; let glibc keep what it has by mallopt(M_TRIM_THRESHOLD, -1) and mallopt(M_MMAP_MAX, 0)",
    source: "mallopt(3), malloc(3) NOTES, mlockall(2) NOTES",
};

const CALLS: [&str; 6] = ["brk", "mmap", "munmap", "mremap", "mprotect", "madvise"];

pub fn heap(ended: &Ended) -> Option<Breach> {
    ended.call.is(&CALLS).then(|| Breach::new(&RULE, ended.call.name().unwrap_or_default()))
}
