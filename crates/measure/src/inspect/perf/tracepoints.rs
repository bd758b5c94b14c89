//! What can be recorded of a thread, and which tracepoints this kernel has for it.

use super::abi::{self, Attributes};
use super::records::Holds;
use crate::explain::format::Format;
use crate::explain::tracefs::Tracefs;

/// Of the user's stack so much is copied with an event. A multiple of 8; more callers, and more time for each event.
const STACK_BYTES: u32 = 1024;
/// The monotonic clock.
const MONOTONIC: i32 = 1;

/// An event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trace {
    /// A system call begins.
    Enter,
    /// A system call ends.
    Exit,
    /// A page fault of the program, and one of the kernel on its behalf.
    Fault,
    /// See above.
    KernelFault,
    /// A page fault that found its page in memory.
    MinorFault,
    /// A page fault that had to wait for a disk.
    MajorFault,
    /// A signal is delivered.
    Signal,
    /// Somebody wakes the thread up.
    Waking,
    /// One thread takes a CPU from another.
    Switch,
    /// Context switches of one thread alone.
    Switches,
}

impl Trace {
    /// Those that are tracepoints.
    pub const OF_CPUS: [Trace; 7] =
        [Trace::Enter, Trace::Exit, Trace::Fault, Trace::KernelFault, Trace::Signal, Trace::Waking, Trace::Switch];

    /// The tracepoint's name, for those that are one.
    fn tracepoint(self) -> Option<&'static str> {
        match self {
            Trace::Enter => Some("raw_syscalls/sys_enter"),
            Trace::Exit => Some("raw_syscalls/sys_exit"),
            Trace::Fault => Some("exceptions/page_fault_user"),
            Trace::KernelFault => Some("exceptions/page_fault_kernel"),
            Trace::Signal => Some("signal/signal_deliver"),
            Trace::Waking => Some("sched/sched_waking"),
            Trace::Switch => Some("sched/sched_switch"),
            Trace::MinorFault | Trace::MajorFault | Trace::Switches => None,
        }
    }

    fn has_stack(self) -> bool {
        !matches!(self, Trace::Exit | Trace::Signal | Trace::Waking | Trace::Switch | Trace::Switches)
    }

    /// What its samples hold.
    pub fn holds(self) -> Holds {
        Holds { raw: self.tracepoint().is_some(), stack: self.has_stack() && abi::REGISTERS.is_some() }
    }

    /// How it is asked for.
    pub fn attributes(self, tracepoints: &Tracepoints) -> Attributes {
        let (kind, config) = match self {
            Trace::MinorFault => (abi::TYPE_SOFTWARE, abi::SOFTWARE_FAULTS_MINOR),
            Trace::MajorFault => (abi::TYPE_SOFTWARE, abi::SOFTWARE_FAULTS_MAJOR),
            Trace::Switches => (abi::TYPE_SOFTWARE, abi::SOFTWARE_DUMMY),
            _ => (abi::TYPE_TRACEPOINT, tracepoints.format(self).map_or(0, |format| format.id.into())),
        };
        let mut attributes = Attributes {
            kind,
            size: abi::SIZE,
            config,
            sample_period: 1,
            sample_type: abi::SAMPLE_IDENTIFIER | abi::SAMPLE_TID | abi::SAMPLE_TIME | abi::SAMPLE_CPU,
            flags: abi::FLAG_DISABLED | abi::FLAG_SAMPLE_ID_ALL | abi::FLAG_USE_CLOCKID,
            clockid: MONOTONIC,
            ..Attributes::default()
        };
        let holds = self.holds();
        if holds.raw {
            attributes.sample_type |= abi::SAMPLE_RAW;
        }
        if holds.stack {
            attributes.sample_type |= abi::SAMPLE_REGS_USER | abi::SAMPLE_STACK_USER;
            attributes.sample_regs_user = abi::registers_wanted();
            attributes.sample_stack_user = STACK_BYTES;
        }
        attributes
    }
}

/// Which tracepoints there are.
#[derive(Debug, Clone, Default)]
pub struct Tracepoints {
    found: Vec<(Trace, Format)>,
    /// Why some are not there.
    pub missing: Option<String>,
}

impl Tracepoints {
    /// Looks them up in the kernel's trace file system.
    pub fn find() -> Self {
        let tracefs = match Tracefs::find() {
            Ok(tracefs) => tracefs,
            Err(error) => {
                let missing = Some(format!("the kernel's trace file system cannot be used ({error}; it needs root)"));
                return Self { missing, ..Self::default() };
            }
        };
        let mut found = Vec::new();
        let mut missing = Vec::new();
        for (trace, name) in Trace::OF_CPUS.into_iter().filter_map(|trace| Some((trace, trace.tracepoint()?))) {
            match tracefs.event_format(name).ok().and_then(|text| Format::parse(&text)) {
                Some(format) => found.push((trace, format)),
                // Some processors have none; there is another way.
                None if matches!(trace, Trace::Fault | Trace::KernelFault) => {}
                None => missing.push(name),
            }
        }
        let missing = (!missing.is_empty()).then(|| format!("this kernel does not trace {}", missing.join(", ")));
        Self { found, missing }
    }

    /// The fields of a tracepoint.
    pub fn format(&self, trace: Trace) -> Option<&Format> {
        self.found.iter().find(|(of, _)| *of == trace).map(|(_, format)| format)
    }

    /// Whether system calls can be followed.
    pub fn has_calls(&self) -> bool {
        [Trace::Enter, Trace::Exit, Trace::Switch].into_iter().all(|trace| self.format(trace).is_some())
    }

    /// Whether page faults are among them.
    pub fn has_faults(&self) -> bool {
        self.format(Trace::Fault).is_some()
    }
}
