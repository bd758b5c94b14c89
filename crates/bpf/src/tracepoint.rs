//! Attaching a program to a tracepoint of the kernel.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use crate::{Instruction, Program, bpf_fd};

/// Has a program run at a tracepoint, by its number among the kernel's types, until the descriptor is closed.
pub fn attach(tracepoint: u32, instructions: &[Instruction]) -> io::Result<OwnedFd> {
    const BPF_PROG_TYPE_TRACING: u32 = 26;
    const BPF_TRACE_RAW_TP: u32 = 23;
    const BPF_RAW_TRACEPOINT_OPEN: u32 = 17;
    #[repr(C)]
    struct TracepointOpen {
        name: u64,
        program: u32,
        _pad: u32,
    }
    let purpose = Program {
        kind: BPF_PROG_TYPE_TRACING,
        attach_type: BPF_TRACE_RAW_TP,
        attach_to: tracepoint,
        ..Program::default()
    };
    let program = purpose.load(instructions)?;
    let mut open = TracepointOpen { name: 0, program: program.as_raw_fd() as u32, _pad: 0 };
    // SAFETY: the attributes of this command, without pointers: the program knows its tracepoint.
    unsafe { bpf_fd(BPF_RAW_TRACEPOINT_OPEN, &mut open) }
}
