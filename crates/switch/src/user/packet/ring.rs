//! The memory that the kernel puts frames into.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::AsFd;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU32;

use libc::tpacket2_hdr as Header;
use rustix::mm::{MapFlags, ProtFlags};

use super::turn;
use crate::user::sys;

/// Octets of a slot, of which the kernel takes up to 80 for what it says about the frame.
const SLOT: usize = 2048;
/// The kernel wants memory in pieces of whole pages; 64 KiB is the largest page of any machine here.
const BLOCK: usize = 64 << 10;

/// A ring of slots, each with a frame or with room for one.
///
/// A slot belongs to the kernel until it has set [`libc::TP_STATUS_USER`] there, and then to us until it is set back to
/// [`libc::TP_STATUS_KERNEL`]. The kernel fills them in their order.
#[derive(Debug)]
pub struct Ring {
    memory: NonNull<u8>,
    bytes: usize,
    /// Start of the slot that the next frame comes into.
    next: usize,
}

// SAFETY: the mapping is the ring's own, lasts until it is dropped, and is reached through `&mut` only.
unsafe impl Send for Ring {}

/// A frame in its slot, as the kernel puts it.
#[derive(Debug)]
pub struct Slot<'a> {
    /// The frame, without the VLAN tag that the kernel has taken out.
    pub frame: &'a [u8],
    /// The kernel had no room for all of it.
    pub cut: bool,
    /// See `TP_STATUS_…` in packet(7)'s header.
    pub status: u32,
    pub tag_type: u16,
    pub tag_control: u16,
    pub seconds: u32,
    pub nanoseconds: u32,
}

impl Ring {
    /// Gives the packet socket a ring with room for at least so many frames.
    pub fn new(socket: impl AsFd, frames: u32) -> io::Result<Self> {
        let blocks = (frames.max(1) as usize).div_ceil(BLOCK / SLOT);
        let bytes = blocks.checked_mul(BLOCK).filter(|bytes| *bytes <= i32::MAX as usize);
        let bytes = bytes.ok_or(io::Error::from_raw_os_error(libc::ENOMEM))?;
        let request = libc::tpacket_req {
            tp_block_size: BLOCK as u32,
            tp_block_nr: blocks as u32,
            tp_frame_size: SLOT as u32,
            tp_frame_nr: (bytes / SLOT) as u32,
        };
        sys::set_option(&socket, libc::SOL_PACKET, libc::PACKET_RX_RING, &request)?;
        let (read_write, shared) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
        // SAFETY: a new mapping at an address of the kernel's choice.
        let memory = unsafe { rustix::mm::mmap(std::ptr::null_mut(), bytes, read_write, shared, socket, 0)? };
        Ok(Self { memory: NonNull::new(memory.cast()).ok_or(io::ErrorKind::OutOfMemory)?, bytes, next: 0 })
    }

    /// Lends the next frame, if one is there, and gives its slot back.
    #[inline]
    pub fn next<R>(&mut self, take: impl FnOnce(Slot<'_>) -> R) -> Option<R> {
        // SAFETY: `next` is the start of a slot, a multiple of SLOT below `bytes`; slots are 16-byte aligned.
        let header = unsafe { self.memory.byte_add(self.next) }.cast::<Header>();
        // SAFETY: the mapping outlives this call; both sides access the word whole.
        let status = unsafe { AtomicU32::from_ptr(&raw mut (*header.as_ptr()).tp_status) };
        // SAFETY: the slot is ours as long as this lends it: nobody writes to it until its status is set back.
        let result = turn::lend(status, |seen| take(unsafe { slot(header, seen) }))?;
        self.next += SLOT;
        if self.next == self.bytes {
            self.next = 0;
        }
        Some(result)
    }
}

/// What is in a slot.
///
/// # Safety
/// The header begins a slot that is ours and stays so for `'a`.
unsafe fn slot<'a>(header: NonNull<Header>, status: u32) -> Slot<'a> {
    // SAFETY: as the caller promises; any bytes are a valid header.
    let reported = unsafe { header.read() };
    let from = usize::from(reported.tp_mac).min(SLOT);
    let octets = (reported.tp_snaplen as usize).min(SLOT - from);
    // SAFETY: within the slot, as was just made sure of.
    let frame = unsafe { std::slice::from_raw_parts(header.as_ptr().cast::<u8>().add(from), octets) };
    Slot {
        frame,
        cut: octets < reported.tp_len as usize,
        status,
        tag_type: reported.tp_vlan_tpid,
        tag_control: reported.tp_vlan_tci,
        seconds: reported.tp_sec,
        nanoseconds: reported.tp_nsec,
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping made in `new`, of this length; slices into it ended before.
        let _ = unsafe { rustix::mm::munmap(self.memory.as_ptr().cast(), self.bytes) };
    }
}
