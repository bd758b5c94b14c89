//! Where the running kernel has its tracepoints, and a thread its number.

use std::io;

use ontick_bpf::btf::Types;

/// Numbers of the running kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kernel {
    /// `sched_waking`.
    pub waking: u32,
    /// `sched_switch`.
    pub switch: u32,
    /// `sys_exit`.
    pub exit: u32,
    /// Where a thread has its number, in octets.
    pub tid: i16,
}

impl Kernel {
    /// Those of the kernel that runs.
    pub fn find() -> io::Result<Self> {
        let types = Types::of_the_kernel()?;
        Self::of(&types).ok_or_else(|| io::Error::new(io::ErrorKind::Unsupported, "the kernel's types say too little"))
    }

    fn of(types: &Types) -> Option<Self> {
        let tracepoint = |name: &str| types.typedef(&format!("btf_trace_{name}"));
        Some(Self {
            waking: tracepoint("sched_waking")?,
            switch: tracepoint("sched_switch")?,
            exit: tracepoint("sys_exit")?,
            tid: types.member("task_struct", "pid").and_then(|offset| i16::try_from(offset).ok())?,
        })
    }
}
