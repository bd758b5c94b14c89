//! Programs for bpf(2), loaded and attached where an interface receives.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

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

/// `struct bpf_insn`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Instruction {
    code: u8,
    registers: u8,
    offset: i16,
    value: i32,
}

/// One instruction, in the terms of Documentation/bpf/standardization/instruction-set.rst.
pub const fn instruction(code: u8, to: u8, from: u8, offset: i16, value: i32) -> Instruction {
    let registers = if cfg!(target_endian = "little") { from << 4 | to } else { to << 4 | from };
    Instruction { code, registers, offset, value }
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
    load_as(BPF_PROG_TYPE_XDP, program, purpose)
}

fn load_as(kind: u32, program: &[Instruction], purpose: Purpose) -> io::Result<OwnedFd> {
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
    }
    const BPF_PROG_LOAD: u32 = 5;
    const BPF_F_XDP_HAS_FRAGS: u32 = 1 << 5;
    const BPF_F_XDP_DEV_BOUND_ONLY: u32 = 1 << 6;
    let long = if purpose.long_frames { BPF_F_XDP_HAS_FRAGS } else { 0 };
    let bound = if purpose.interface.is_some() { BPF_F_XDP_DEV_BOUND_ONLY } else { 0 };
    let mut load = ProgramLoad {
        kind,
        instructions: program.len() as u32,
        first: program.as_ptr() as u64,
        license: c"Dual MIT/GPL".as_ptr() as u64,
        log_level: 0,
        log_size: 0,
        log: 0,
        kernel_version: 0,
        flags: long | bound,
        name: [0; 16],
        interface: purpose.interface.unwrap_or(0),
        attach_type: if purpose.interface.is_some() { BPF_XDP } else { 0 },
    };
    // SAFETY: the attributes of this command; the instructions and the text live through the call.
    unsafe { bpf_fd(BPF_PROG_LOAD, &mut load) }
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

/// A command of bpf(2) that makes something.
///
/// # Safety
/// As for [`bpf`].
pub unsafe fn bpf_fd<T>(command: u32, attributes: &mut T) -> io::Result<OwnedFd> {
    // SAFETY: as the caller promises.
    let fd = unsafe { bpf(command, attributes) }?;
    // SAFETY: such commands return a new descriptor that is nobody else's.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

/// bpf(2).
///
/// # Safety
/// The attributes are those of the command, and their pointers are valid through the call.
pub unsafe fn bpf<T>(command: u32, attributes: &mut T) -> io::Result<libc::c_long> {
    // SAFETY: as the caller promises; the kernel takes attributes that are missing at the end as zero.
    let result = unsafe { libc::syscall(libc::SYS_bpf, command, std::ptr::from_mut(attributes), size_of::<T>()) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Tags what the kernel sends by an interface, as its VLAN interfaces do: beside the frame, for the driver to put in.
#[cfg(test)]
pub fn tag_what_leaves(index: u32, control: u16) -> io::Result<Attached> {
    const BPF_PROG_TYPE_SCHED_CLS: u32 = 3;
    const BPF_TCX_EGRESS: u32 = 47;
    const SET: u8 = 0xb7;
    const CALL: u8 = 0x85;
    const EXIT: u8 = 0x95;
    const VLAN_PUSH: i32 = 18;
    let program = [
        instruction(SET, 2, 0, 0, i32::from(0x8100_u16.to_be())),
        instruction(SET, 3, 0, 0, i32::from(control)),
        instruction(CALL, 0, 0, 0, VLAN_PUSH),
        // On to the driver.
        instruction(SET, 0, 0, 0, -1),
        instruction(EXIT, 0, 0, 0, 0),
    ];
    let program = load_as(BPF_PROG_TYPE_SCHED_CLS, &program, Purpose::default())?;
    Attached::attach_as(BPF_TCX_EGRESS, &program, index, 0)
}
