//! Waiting for a lock whose holder does not get the waiter's priority.

use ontick_record::findings::Severity;

use super::{Breach, Ended, Rule};

pub const RULE: Rule = Rule {
    id: "lock",
    severity: Severity::Bad,
    what: "waits for a lock without priority inheritance",
    why: "any thread of a priority in between keeps the holder from its CPU, and so the waiter too, without limit",
    mend: "make the mutex with PTHREAD_PRIO_INHERIT (pthread_mutexattr_setprotocol(3p)), or share data without a lock",
    source: "futex(2), Priority-inheritance futexes; Documentation/locking/rt-mutex.rst, pi-futex.rst",
};

const WAIT: u64 = 0;
const WAIT_BITSET: u64 = 9;
/// What a futex holds while a lock is held and waited for: in glibc and in Rust's library, and in musl.
const CONTENDED: u64 = 2;
const CONTENDED_MUSL: u64 = 0x8000_0000;

pub fn lock(ended: &Ended) -> Option<Breach> {
    let (operation, _) = ended.call.futex()?;
    let value = ended.call.arguments[2] & 0xffff_ffff;
    let contended = value == CONTENDED || value & CONTENDED_MUSL != 0 && value != u64::from(u32::MAX);
    // A condition variable waits in the same way for a number that may be the same.
    let named = || ended.location.is_some_and(|l| ["mutex", "Mutex", "lll_lock"].iter().any(|word| l.mentions(word)));
    let is_lock = match operation {
        WAIT => contended,
        WAIT_BITSET => contended && named(),
        _ => false,
    };
    is_lock.then(|| Breach::new(&RULE, holder(ended)))
}

/// Who let the waiter go on is who held the lock, unless a signal or a timer ended the wait.
fn holder(ended: &Ended) -> String {
    let let_go = ended.call.result == 0;
    let Some(holder) = ended.woken_by.filter(|waker| let_go && !waker.interrupt && waker.tid > 0) else {
        return "held by a thread that was not seen".into();
    };
    let inverted = holder.rank.is_some_and(|rank| rank < ended.thread.rank());
    let inversion = if inverted { ", of a lower priority: priority inversion" } else { "" };
    format!("held by {} ({}, {}{inversion})", holder.name, holder.tid, holder.policy)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inspect::calls::Call;
    use crate::inspect::calls::tests::call;
    use crate::inspect::event::Waker;
    use crate::inspect::program::ThreadState;
    use crate::inspect::rules::tests::ended;
    use crate::inspect::symbols::{Caller, Location};

    fn wait(operation: u64, value: u64) -> Call {
        Call { waited_ns: 100, ..call("futex", [0x1000, operation | 128, value, 0, 0, 0]) }
    }

    #[test]
    fn locks_are_told_from_conditions() {
        assert!(lock(&ended(&wait(WAIT, 2))).is_some(), "glibc");
        assert!(lock(&ended(&wait(WAIT, 0x8000_0010))).is_some(), "musl");
        assert!(lock(&ended(&wait(WAIT, 0))).is_none(), "a condition");
        assert!(lock(&ended(&wait(WAIT, 0xffff_ffff))).is_none(), "a parked thread of Rust");
        assert!(lock(&ended(&wait(6, 2))).is_none(), "a lock with priority inheritance");
        let bitset = wait(WAIT_BITSET, 2);
        assert!(lock(&ended(&bitset)).is_none(), "a condition whose number is 2");
        let callers =
            vec![Caller { function: "std::sys::sync::mutex::futex::Mutex::lock_contended".into(), own: true }];
        let location = Location { function: "syscall".into(), callers, ..Location::default() };
        assert!(lock(&Ended { location: Some(&location), ..ended(&bitset) }).is_some(), "Rust");
    }

    #[test]
    fn the_holder_is_named() {
        let call = wait(WAIT, 2);
        let waker = Waker { tid: 9, name: "logger".into(), policy: "other".into(), rank: Some(0), interrupt: false };
        let detail = |waker: &Waker| lock(&Ended { woken_by: Some(waker), ..ended(&call) }).unwrap().detail;
        assert_eq!(detail(&waker), "held by logger (9, other, of a lower priority: priority inversion)");
        let higher = Waker { policy: "fifo:90".into(), rank: Some(90), ..waker.clone() };
        assert_eq!(detail(&higher), "held by logger (9, fifo:90)");
        assert_eq!(detail(&Waker { interrupt: true, ..waker.clone() }), "held by a thread that was not seen");
        let interrupted = Call { result: -4, ..call.clone() };
        let sender = lock(&Ended { woken_by: Some(&waker), ..ended(&interrupted) }).unwrap();
        assert_eq!(sender.detail, "held by a thread that was not seen", "a signal ended the wait");
    }

    /// Deadline threads have no priority, and come before all that have one.
    #[test]
    fn a_deadline_thread_is_above_every_priority() {
        let call = wait(WAIT, 2);
        let state = |policy: i32, priority| ThreadState { policy: policy as u32, priority, ..ThreadState::default() };
        let (fifo, deadline) = (state(libc::SCHED_FIFO, 99), state(libc::SCHED_DEADLINE, 0));
        let inverted = |holder: Option<&ThreadState>, thread| {
            let waker = Waker { tid: 9, rank: holder.map(ThreadState::rank), ..Waker::default() };
            let ended = Ended { woken_by: Some(&waker), thread, ..ended(&call) };
            lock(&ended).unwrap().detail.contains("inversion")
        };
        assert!(!inverted(Some(&deadline), &fifo));
        assert!(inverted(Some(&fifo), &deadline));
        assert!(!inverted(Some(&deadline), &deadline), "their deadlines are not known");
        assert!(!inverted(None, &fifo), "it ended");
    }
}
