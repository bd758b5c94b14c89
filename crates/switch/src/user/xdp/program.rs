//! The program that redirects frames to sockets.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use ontick_bpf::btf::Types;
use ontick_bpf::instruction::{
    ADD, AND, CALL, EXIT, FUNCTION, JUMP, JUMP_IF_GREATER, JUMP_UNLESS_EQUAL, LOAD_16, LOAD_32, LOAD_IMMEDIATE_64, MAP,
    MOVE, SET, STACK, STORE_16, STORE_32, STORE_VALUE_32, TO_BIG_ENDIAN,
};
use ontick_bpf::{Instruction, bpf, instruction, map};

use crate::user::bpf::{Attached, Purpose, XdpMode, load};

/// The sockets of the queues, for the program to look up.
#[derive(Debug)]
pub struct Sockets(OwnedFd);

impl Sockets {
    /// For so many queues.
    pub fn new(queues: u32) -> io::Result<Self> {
        const BPF_MAP_TYPE_XSKMAP: u32 = 17;
        map::create(BPF_MAP_TYPE_XSKMAP, 4, 4, queues).map(Self)
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

/// Redirects what an interface receives to the sockets of its queues, until it is dropped.
pub fn redirect(sockets: &Sockets, index: u32, mode: XdpMode) -> io::Result<Attached> {
    Attached::attach(&load(&program(sockets.0.as_fd(), None), Purpose::default())?, index, mode)
}

/// The same in the driver, and puts each frame's VLAN tag back that the kernel keeps beside it (Linux 6.8).
pub fn redirect_with_tags(sockets: &Sockets, index: u32) -> io::Result<Attached> {
    let Some(tag) = Types::of_the_kernel()?.function("bpf_xdp_metadata_rx_vlan_tag") else {
        return Err(io::ErrorKind::Unsupported.into());
    };
    let purpose = Purpose { interface: Some(index), ..Purpose::default() };
    Attached::attach(&load(&program(sockets.0.as_fd(), Some(tag)), purpose)?, index, XdpMode::Driver)
}

const ADJUST_HEAD: i32 = 44;
const REDIRECT_MAP: i32 = 51;
const DROP: i32 = 1;
const PASS: i32 = 2;
// struct xdp_md
const DATA: i16 = 0;
const DATA_END: i16 = 4;
const QUEUE: i16 = 16;

/// The program; `tag` is the number of the function that tells a frame's VLAN tag.
fn program(sockets: BorrowedFd<'_>, tag: Option<u32>) -> Vec<Instruction> {
    let mut program = reserved_ones_pass().to_vec();
    program.extend(tag.into_iter().flat_map(put_tag_back));
    program.extend(to_socket(sockets));
    program
}

/// Keeps the context in register 6, and lets frames to reserved addresses go on to the kernel.
fn reserved_ones_pass() -> [Instruction; 13] {
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
    ]
}

/// Asks for the frame's tag and puts it behind both addresses; a frame without one stays as it is.
fn put_tag_back(function: u32) -> [Instruction; 31] {
    const KIND: i16 = -4;
    const CONTROL: i16 = -2;
    [
        instruction(STORE_VALUE_32, STACK, 0, KIND, 0),
        instruction(MOVE, 1, 6, 0, 0),
        instruction(MOVE, 2, STACK, 0, 0),
        instruction(ADD, 2, 0, 0, KIND as i32),
        instruction(MOVE, 3, STACK, 0, 0),
        instruction(ADD, 3, 0, 0, CONTROL as i32),
        instruction(CALL, 0, FUNCTION, 0, function as i32),
        instruction(JUMP_UNLESS_EQUAL, 0, 0, 23, 0),
        instruction(MOVE, 1, 6, 0, 0),
        instruction(SET, 2, 0, 0, -4),
        instruction(CALL, 0, 0, 0, ADJUST_HEAD),
        // The kernel leaves room before each frame; rather no frame than one in the wrong class.
        instruction(JUMP_UNLESS_EQUAL, 0, 0, 6, 0),
        instruction(LOAD_32, 2, 6, DATA, 0),
        instruction(LOAD_32, 3, 6, DATA_END, 0),
        instruction(MOVE, 4, 2, 0, 0),
        instruction(ADD, 4, 0, 0, 18),
        instruction(JUMP_IF_GREATER, 4, 3, 1, 0),
        instruction(JUMP, 0, 0, 2, 0),
        instruction(SET, 0, 0, 0, DROP),
        instruction(EXIT, 0, 0, 0, 0),
        // Both addresses move to the front.
        instruction(LOAD_32, 4, 2, 4, 0),
        instruction(STORE_32, 2, 4, 0, 0),
        instruction(LOAD_32, 4, 2, 8, 0),
        instruction(STORE_32, 2, 4, 4, 0),
        instruction(LOAD_32, 4, 2, 12, 0),
        instruction(STORE_32, 2, 4, 8, 0),
        instruction(LOAD_16, 4, STACK, KIND, 0),
        instruction(STORE_16, 2, 4, 12, 0),
        instruction(LOAD_16, 4, STACK, CONTROL, 0),
        instruction(TO_BIG_ENDIAN, 4, 0, 0, 16),
        instruction(STORE_16, 2, 4, 14, 0),
    ]
}

/// To the queue's socket; without one, the kernel keeps the frame.
fn to_socket(sockets: BorrowedFd<'_>) -> [Instruction; 6] {
    [
        instruction(LOAD_IMMEDIATE_64, 1, MAP, 0, sockets.as_raw_fd()),
        instruction(0, 0, 0, 0, 0),
        instruction(LOAD_32, 2, 6, QUEUE, 0),
        instruction(SET, 3, 0, 0, PASS),
        instruction(CALL, 0, 0, 0, REDIRECT_MAP),
        instruction(EXIT, 0, 0, 0, 0),
    ]
}
