//! What the kernel tells, as far as attribution needs it.

use std::fmt;

/// Name of a task, as the kernel keeps it.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Comm([u8; 16]);

impl Comm {
    /// From a record's bytes.
    pub fn new(bytes: &[u8]) -> Self {
        let mut comm = [0; 16];
        let length = bytes.len().min(16);
        comm[..length].copy_from_slice(&bytes[..length]);
        Self(comm)
    }
}

impl fmt::Display for Comm {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let end = self.0.iter().position(|byte| *byte == 0).unwrap_or(16);
        f.write_str(&String::from_utf8_lossy(&self.0[..end]))
    }
}

impl fmt::Debug for Comm {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// A task as the scheduler's events name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Task {
    /// Thread id; 0 is the idle task.
    pub pid: i32,
    /// Priority as the kernel counts: below 0 deadline, below 100 real-time (99 minus its priority).
    pub priority: i32,
    /// Name.
    pub comm: Comm,
}

/// The kernel's number for the priority of a normal task.
const NORMAL: i32 = 120;

impl Task {
    /// One of which nothing else is known; most tasks are normal.
    pub fn unnamed(pid: i32) -> Self {
        Self { pid, priority: NORMAL, ..Self::default() }
    }

    /// Whether it is scheduled by SCHED_OTHER, BATCH or IDLE.
    pub fn is_normal(&self) -> bool {
        self.priority >= 100
    }

    /// Whether it has a name: a program may take its own away.
    pub fn is_named(&self) -> bool {
        self.comm.0[0] != 0
    }

    /// Its policy: `fifo:98`, `deadline`, `other`.
    pub fn policy(&self) -> String {
        match self.priority {
            ..0 => "deadline".into(),
            0..100 => format!("fifo:{}", 99 - self.priority),
            _ => "other".into(),
        }
    }
}

/// Its name and policy; of one without a name neither is sure, and its number tells which it was.
impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self.is_named() {
            true => write!(f, "{} ({})", self.comm, self.policy()),
            false => write!(f, "pid {}", self.pid),
        }
    }
}

/// Interrupts that are not a device's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Vector {
    /// The CPU's own timer: the tick, or a high-resolution timer.
    Timer,
    /// Another CPU has a function called here (membarrier, TLB flush, …).
    Call,
    /// Another CPU wants this one to reschedule.
    Reschedule,
    /// Work that was put off to an interrupt.
    Work,
    /// Thermal, spurious, error.
    Other,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// A device's handler begins.
    IrqEntry {
        /// Number.
        irq: i32,
        /// The device, as the driver named it.
        name: Box<str>,
    },
    /// A device's handler ends.
    IrqExit,
    /// A software interrupt begins.
    SoftirqEntry(u32),
    /// A software interrupt ends.
    SoftirqExit,
    /// An interrupt of the CPU's own begins.
    VectorEntry(Vector),
    /// An interrupt of the CPU's own ends.
    VectorExit(Vector),
    /// The scheduler switches tasks.
    Switch {
        /// Who ran.
        prev: Task,
        /// Its state: 0 if it could go on.
        state: i64,
        /// Who runs now.
        next: Task,
    },
    /// The CPU left idle for this task, at this time or a little later. Not recorded: what follows shows it.
    LeftIdle(Task),
    /// Events of this CPU before this one were lost.
    Lost,
    /// A task is made runnable; recorded on the CPU of the waker.
    Wakeup(i32),
    /// A task is moved to another CPU.
    Migrate {
        /// The task.
        pid: i32,
        /// From this CPU.
        from: u32,
        /// To this one.
        to: u32,
    },
    /// CPU time of the running task since the last such event, without what the hypervisor took.
    Ran {
        /// The task.
        pid: i32,
        /// In ns.
        ns: u64,
    },
    /// A high-resolution timer is armed.
    TimerStart {
        /// The timer.
        timer: u64,
        /// May fire from here on, in ns.
        soft_ns: u64,
        /// Must fire by here, in ns.
        hard_ns: u64,
    },
    /// A high-resolution timer's function begins.
    TimerFires {
        /// The timer.
        timer: u64,
        /// Address of the function.
        function: u64,
    },
    /// The running task touched a page that was not there.
    PageFault,
    /// The CPU goes idle (a state) or comes back (`None`).
    Idle(Option<u32>),
    /// The CPU's frequency changes, to this many kHz.
    Frequency(u64),
    /// Where the kernel is: returns to its functions, innermost first.
    Stack(Box<[u64]>),
}

/// An event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// On the monotonic clock, in ns.
    pub at_ns: u64,
    /// Where.
    pub cpu: u32,
    /// The task that was current.
    pub pid: i32,
    /// What.
    pub kind: Kind,
}

/// Names of the software interrupts, by number; stable since Linux 2.6.
pub const SOFTIRQS: [&str; 10] =
    ["HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"];

/// The name of a software interrupt.
pub fn softirq(number: u32) -> String {
    SOFTIRQS.get(number as usize).map_or_else(|| number.to_string(), ToString::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_ends_with_its_first_zero_or_after_16_bytes() {
        let shown = |bytes: &[u8]| (Comm::new(bytes).to_string(), format!("{:?}", Comm::new(bytes)));
        let both = |name: &str| (name.to_owned(), name.to_owned());
        assert_eq!(shown(b"a task\0xyz"), both("a task"));
        assert_eq!(shown(b"sixteen letters and more"), both("sixteen letters "));
        assert_eq!(shown(b""), both(""));
        assert_eq!(shown(b"\xff"), both("\u{fffd}"), "not of a text");
    }

    #[test]
    fn a_policy_is_reported_by_the_kernels_priority() {
        let policy = |priority| Task { priority, ..Task::unnamed(1) }.policy();
        assert_eq!([-1, 0, 98, 100].map(policy), ["deadline", "fifo:99", "fifo:1", "other"]);
        let normal = |priority| Task { priority, ..Task::unnamed(1) }.is_normal();
        assert_eq!([-1, 99, 100, 139].map(normal), [false, false, true, true]);
        assert!(Task::unnamed(1).is_normal(), "as most are");
    }

    #[test]
    fn a_task_without_a_name_is_reported_by_its_number() {
        let task = |name: &[u8]| Task { priority: 39, comm: Comm::new(name), ..Task::unnamed(4711) };
        assert_eq!([task(b"irq/9").to_string(), task(b"").to_string()], ["irq/9 (fifo:60)", "pid 4711"]);
        assert_eq!(task(b"\0gone").to_string(), "pid 4711", "a program that took its own name away");
    }

    #[test]
    fn a_software_interrupt_without_a_name_is_its_number() {
        assert_eq!([0, 3, 9, 10].map(softirq), ["HI", "NET_RX", "RCU", "10"]);
    }
}
