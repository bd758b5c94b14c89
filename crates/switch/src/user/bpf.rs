//! Programs for bpf(2), loaded and attached where an interface receives.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use ontick_bpf::{Instruction, Program, bpf_fd};

/// Where a program runs, by the names of ip-link(8).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum XdpMode {
    /// In the driver.
    Driver,
    /// Where the network stack begins.
    Generic,
}

/// What virtual Ethernet answers to a program in its driver if it has fewer receive queues than its other end transmit
/// queues.
pub const NO_QUEUE: i32 = libc::ENOSPC;

/// A program at work on an interface, until this is dropped.
#[derive(Debug)]
pub struct Attached {
    _link: OwnedFd,
}

/// What a program is loaded for.
#[derive(Debug, Clone, Copy, Default)]
pub struct Purpose {
    /// Frames may be longer than a page.
    pub long_frames: bool,
    /// For the driver of this interface alone, whose metadata it asks for.
    pub interface: Option<u32>,
}

/// Loads a program for frames as they are received (XDP).
pub fn load(program: &[Instruction], purpose: Purpose) -> io::Result<OwnedFd> {
    const BPF_PROG_TYPE_XDP: u32 = 6;
    const BPF_F_XDP_HAS_FRAGS: u32 = 1 << 5;
    const BPF_F_XDP_DEV_BOUND_ONLY: u32 = 1 << 6;
    let long = if purpose.long_frames { BPF_F_XDP_HAS_FRAGS } else { 0 };
    let (bound, attach_type) = if purpose.interface.is_some() { (BPF_F_XDP_DEV_BOUND_ONLY, BPF_XDP) } else { (0, 0) };
    let interface = purpose.interface.unwrap_or(0);
    Program { kind: BPF_PROG_TYPE_XDP, flags: long | bound, interface, attach_type, attach_to: 0 }.load(program)
}

const BPF_XDP: u32 = 37;

impl Attached {
    /// Attaches a program to an interface.
    pub fn attach(program: &OwnedFd, index: u32, mode: XdpMode) -> io::Result<Self> {
        const XDP_FLAGS_SKB_MODE: u32 = 1 << 1;
        const XDP_FLAGS_DRV_MODE: u32 = 1 << 2;
        let flags = match mode {
            XdpMode::Driver => XDP_FLAGS_DRV_MODE,
            XdpMode::Generic => XDP_FLAGS_SKB_MODE,
        };
        Self::attach_as(BPF_XDP, program, index, flags)
    }

    fn attach_as(attach_type: u32, program: &OwnedFd, index: u32, flags: u32) -> io::Result<Self> {
        #[repr(C)]
        struct LinkCreate {
            program: u32,
            interface: u32,
            attach_type: u32,
            flags: u32,
        }
        const BPF_LINK_CREATE: u32 = 28;
        let program = program.as_raw_fd() as u32;
        let mut link = LinkCreate { program, interface: index, attach_type, flags };
        // SAFETY: the attributes of this command, without pointers.
        let link = unsafe { bpf_fd(BPF_LINK_CREATE, &mut link) }?;
        Ok(Self { _link: link })
    }
}

/// Tags what the kernel sends by an interface, as its VLAN interfaces do: beside the frame, for the driver to put in.
#[cfg(test)]
pub fn tag_what_leaves(index: u32, control: u16) -> io::Result<Attached> {
    use ontick_bpf::instruction;
    use ontick_bpf::instruction::{CALL, EXIT, SET};

    const BPF_PROG_TYPE_SCHED_CLS: u32 = 3;
    const BPF_TCX_EGRESS: u32 = 47;
    const VLAN_PUSH: i32 = 18;
    let program = [
        instruction(SET, 2, 0, 0, i32::from(0x8100_u16.to_be())),
        instruction(SET, 3, 0, 0, i32::from(control)),
        instruction(CALL, 0, 0, 0, VLAN_PUSH),
        // On to the driver.
        instruction(SET, 0, 0, 0, -1),
        instruction(EXIT, 0, 0, 0, 0),
    ];
    let program = Program { kind: BPF_PROG_TYPE_SCHED_CLS, ..Program::default() }.load(&program)?;
    Attached::attach_as(BPF_TCX_EGRESS, &program, index, 0)
}
