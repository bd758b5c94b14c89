//! What happened to a thread, in a form that does not depend on how it was recorded.

use super::calls::OpenFile;
use super::symbols::PlaceId;

/// Something that happened to a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// When, by the monotonic clock, in ns.
    pub at_ns: u64,
    /// To which thread.
    pub tid: i32,
    /// On which CPU.
    pub cpu: u32,
    /// What.
    pub kind: Kind,
}

/// What can happen to a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// It makes a system call.
    Enter {
        /// Which.
        number: i64,
        /// The arguments.
        arguments: [u64; 6],
        /// What the first of them stands for.
        file: Option<OpenFile>,
        /// Where in the program.
        place: Option<PlaceId>,
    },
    /// The system call ends.
    Exit {
        /// What it returns.
        result: i64,
    },
    /// It touches memory that is not there.
    Fault {
        /// The page has to come from a disk.
        major: bool,
        /// Where in the program.
        place: Option<PlaceId>,
    },
    /// It gets a CPU.
    In,
    /// It loses its CPU.
    Out {
        /// Another thread came first; otherwise it waits.
        preempted: bool,
    },
    /// It is woken up.
    Woken(Waker),
    /// It gets a signal.
    Signal(i32),
    /// It becomes another program.
    Exec,
    /// It ends.
    Ended,
}

/// Who woke a thread up.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Waker {
    /// Its thread number.
    pub tid: i32,
    /// Its name.
    pub name: String,
    /// Its policy and priority: `fifo:50`.
    pub policy: String,
    /// Which comes first of it and another thread ([`rank`](super::program::threads::rank)), where that may be known.
    pub rank: Option<u32>,
    /// It was interrupted, and the interrupt did it.
    pub interrupt: bool,
}
