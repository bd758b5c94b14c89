//! The program that redirects frames to sockets, loaded and attached by bpf(2).
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Redirects what an interface receives to the sockets of its queues, until it is dropped.
#[derive(Debug)]
pub struct Redirection {
    _link: OwnedFd,
}

/// The sockets of the queues, for the program to look up.
#[derive(Debug)]
pub struct Sockets(OwnedFd);

/// Where the program runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In the driver.
    Driver,
    /// Where the network stack begins.
    Stack,
}

impl Sockets {
    /// For so many queues.
    pub fn new(queues: u32) -> io::Result<Self> {
        #[repr(C)]
        struct MapCreate {
            kind: u32,
            key_size: u32,
            value_size: u32,
            max_entries: u32,
        }
        const BPF_MAP_CREATE: u32 = 0;
        const BPF_MAP_TYPE_XSKMAP: u32 = 17;
        let mut map = MapCreate { kind: BPF_MAP_TYPE_XSKMAP, key_size: 4, value_size: 4, max_entries: queues };
        // SAFETY: the attributes of this command, without pointers.
        unsafe { bpf_fd(BPF_MAP_CREATE, &mut map) }.map(Self)
    }

    /// Frames of this queue go to this socket.
    pub fn set(&self, queue: u32, socket: BorrowedFd<'_>) -> io::Result<()> {
        #[repr(C)]
        struct MapUpdate {
            map: u32,
            _pad: u32,
            key: u64,
            value: u64,
            flags: u64,
        }
        const BPF_MAP_UPDATE_ELEM: u32 = 2;
        let socket = socket.as_raw_fd();
        let (key, value) = (&raw const queue as u64, &raw const socket as u64);
        let mut update = MapUpdate { map: self.0.as_raw_fd() as u32, _pad: 0, key, value, flags: 0 };
        // SAFETY: the attributes of this command; key and value are four octets each and live through the call.
        unsafe { bpf(BPF_MAP_UPDATE_ELEM, &mut update) }.map(drop)
    }
}

impl Redirection {
    /// Attaches the program to an interface.
    pub fn attach(sockets: &Sockets, index: u32, place: Place) -> io::Result<Self> {
        #[repr(C)]
        struct LinkCreate {
            program: u32,
            interface: u32,
            attach_type: u32,
            flags: u32,
        }
        const BPF_LINK_CREATE: u32 = 28;
        const BPF_XDP: u32 = 37;
        const XDP_FLAGS_SKB_MODE: u32 = 1 << 1;
        const XDP_FLAGS_DRV_MODE: u32 = 1 << 2;
        let program = load(&program(sockets.0.as_fd()))?;
        let flags = match place {
            Place::Driver => XDP_FLAGS_DRV_MODE,
            Place::Stack => XDP_FLAGS_SKB_MODE,
        };
        let program = program.as_raw_fd() as u32;
        let mut link = LinkCreate { program, interface: index, attach_type: BPF_XDP, flags };
        // SAFETY: the attributes of this command, without pointers.
        let link = unsafe { bpf_fd(BPF_LINK_CREATE, &mut link) }?;
        Ok(Self { _link: link })
    }
}

/// `struct bpf_insn`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct Instruction {
    code: u8,
    registers: u8,
    offset: i16,
    value: i32,
}

const fn instruction(code: u8, to: u8, from: u8, offset: i16, value: i32) -> Instruction {
    let registers = if cfg!(target_endian = "little") { from << 4 | to } else { to << 4 | from };
    Instruction { code, registers, offset, value }
}

/// The program, in the terms of Documentation/bpf/standardization/instruction-set.rst.
fn program(sockets: BorrowedFd<'_>) -> [Instruction; 19] {
    const LOAD_32: u8 = 0x61;
    const LOAD_16: u8 = 0x69;
    const LOAD_IMMEDIATE_64: u8 = 0x18;
    const MOVE: u8 = 0xbf;
    const SET: u8 = 0xb7;
    const ADD: u8 = 0x07;
    const AND: u8 = 0x57;
    const JUMP_IF_GREATER: u8 = 0x2d;
    const JUMP_UNLESS_EQUAL: u8 = 0x55;
    const CALL: u8 = 0x85;
    const EXIT: u8 = 0x95;
    /// That the value is a map's descriptor.
    const MAP: u8 = 1;
    const REDIRECT_MAP: i32 = 51;
    const PASS: i32 = 2;
    // struct xdp_md
    const DATA: i16 = 0;
    const DATA_END: i16 = 4;
    const QUEUE: i16 = 16;
    /// 01-80-C2-00-00-0x
    const RESERVED: i32 = i32::from_ne_bytes([0x01, 0x80, 0xc2, 0x00]);
    const RESERVED_REST: i32 = u16::from_ne_bytes([0xff, 0xf0]) as i32;
    [
        instruction(MOVE, 6, 1, 0, 0),
        instruction(LOAD_32, 2, 6, DATA, 0),
        instruction(LOAD_32, 3, 6, DATA_END, 0),
        // A frame without a whole address goes on to the redirection.
        instruction(MOVE, 4, 2, 0, 0),
        instruction(ADD, 4, 0, 0, 6),
        instruction(JUMP_IF_GREATER, 4, 3, 7, 0),
        instruction(LOAD_32, 4, 2, 0, 0),
        instruction(JUMP_UNLESS_EQUAL, 4, 0, 5, RESERVED),
        instruction(LOAD_16, 4, 2, 4, 0),
        instruction(AND, 4, 0, 0, RESERVED_REST),
        instruction(JUMP_UNLESS_EQUAL, 4, 0, 2, 0),
        instruction(SET, 0, 0, 0, PASS),
        instruction(EXIT, 0, 0, 0, 0),
        // The queue's socket; without one, the kernel keeps the frame.
        instruction(LOAD_IMMEDIATE_64, 1, MAP, 0, sockets.as_raw_fd()),
        instruction(0, 0, 0, 0, 0),
        instruction(LOAD_32, 2, 6, QUEUE, 0),
        instruction(SET, 3, 0, 0, PASS),
        instruction(CALL, 0, 0, 0, REDIRECT_MAP),
        instruction(EXIT, 0, 0, 0, 0),
    ]
}

fn load(program: &[Instruction]) -> io::Result<OwnedFd> {
    #[repr(C)]
    struct ProgramLoad {
        kind: u32,
        instructions: u32,
        first: u64,
        license: u64,
    }
    const BPF_PROG_LOAD: u32 = 5;
    const BPF_PROG_TYPE_XDP: u32 = 6;
    let mut load = ProgramLoad {
        kind: BPF_PROG_TYPE_XDP,
        instructions: program.len() as u32,
        first: program.as_ptr() as u64,
        license: c"Dual MIT/GPL".as_ptr() as u64,
    };
    // SAFETY: the attributes of this command; the instructions and the text live through the call.
    unsafe { bpf_fd(BPF_PROG_LOAD, &mut load) }
}

/// A command of bpf(2) that makes something.
///
/// # Safety
/// As for [`bpf`].
unsafe fn bpf_fd<T>(command: u32, attributes: &mut T) -> io::Result<OwnedFd> {
    // SAFETY: as the caller promises.
    let fd = unsafe { bpf(command, attributes) }?;
    // SAFETY: such commands return a new descriptor that is nobody else's.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

/// bpf(2).
///
/// # Safety
/// The attributes are those of the command, and their pointers are valid through the call.
unsafe fn bpf<T>(command: u32, attributes: &mut T) -> io::Result<libc::c_long> {
    // SAFETY: as the caller promises; the kernel takes attributes that are missing at the end as zero.
    let result = unsafe { libc::syscall(libc::SYS_bpf, command, std::ptr::from_mut(attributes), size_of::<T>()) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
