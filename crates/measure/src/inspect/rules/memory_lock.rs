//! Memory that the kernel may take away.

use ontick_record::findings::Severity;

use super::{Breach, Rule};
use crate::inspect::program::memory::Unlocked;

const RULE: Rule = Rule {
    id: "memory-lock",
    severity: Severity::Bad,
    what: "memory that is not locked",
    why: "the kernel may write such pages out or move them at any time, and the loop waits until they are back",
    mend: "call mlockall(MCL_CURRENT | MCL_FUTURE) before the loop; it needs CAP_IPC_LOCK or a larger RLIMIT_MEMLOCK",
    source: "mlockall(2), NOTES",
};

/// Names of parts that are shown.
const SHOWN: usize = 3;

pub fn memory_lock(unlocked: &Unlocked) -> Option<Breach> {
    if unlocked.bytes == 0 {
        return None;
    }
    let parts: Vec<&str> = unlocked.parts.iter().take(SHOWN).map(|(name, _)| name.as_str()).collect();
    let detail = format!("{} of {} KiB ({})", unlocked.bytes >> 10, unlocked.of >> 10, parts.join(", "));
    Some(Breach::new(&RULE, detail))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_part_is_enough() {
        let parts = vec![("[heap]".into(), 132 << 10), ("[stack]".into(), 4 << 10)];
        let unlocked = Unlocked { bytes: 136 << 10, of: 2_000 << 10, parts };
        assert_eq!(memory_lock(&unlocked).unwrap().detail, "136 of 2000 KiB ([heap], [stack])");
        assert_eq!(memory_lock(&Unlocked { bytes: 0, ..unlocked }), None);
    }
}
