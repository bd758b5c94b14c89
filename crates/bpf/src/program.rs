//! A program, and how it is loaded.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::OwnedFd;

use crate::{Instruction, bpf_fd};

/// What a program is loaded for, by the numbers of `linux/bpf.h`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Program {
    /// `BPF_PROG_TYPE_*`.
    pub kind: u32,
    /// `BPF_F_*`.
    pub flags: u32,
    /// The interface whose driver it is for; 0 for any.
    pub interface: u32,
    /// `enum bpf_attach_type`, where the kind wants to know before it is attached.
    pub attach_type: u32,
    /// To which of the kernel's types it will be attached, by [`crate::btf::Types`]; 0 for none.
    pub attach_to: u32,
}

impl Program {
    /// Loads these instructions.
    pub fn load(self, instructions: &[Instruction]) -> io::Result<OwnedFd> {
        #[repr(C)]
        struct ProgramLoad {
            kind: u32,
            instructions: u32,
            first: u64,
            license: u64,
            log_level: u32,
            log_size: u32,
            log: u64,
            kernel_version: u32,
            flags: u32,
            name: [u8; 16],
            interface: u32,
            attach_type: u32,
            debug: [u32; 9],
            attach_to: u32,
        }
        const BPF_PROG_LOAD: u32 = 5;
        let mut load = ProgramLoad {
            kind: self.kind,
            instructions: instructions.len() as u32,
            first: instructions.as_ptr() as u64,
            license: c"Dual MIT/GPL".as_ptr() as u64,
            log_level: 0,
            log_size: 0,
            log: 0,
            kernel_version: 0,
            flags: self.flags,
            name: [0; 16],
            interface: self.interface,
            attach_type: self.attach_type,
            debug: [0; 9],
            attach_to: self.attach_to,
        };
        // SAFETY: the attributes of this command; the instructions and the text live through the call.
        unsafe { bpf_fd(BPF_PROG_LOAD, &mut load) }
    }
}
