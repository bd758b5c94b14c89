//! Memory that the kernel shares, and the frames in it.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::AsFd;
use std::ptr::NonNull;

use rustix::mm::{MapFlags, ProtFlags};

/// A mapping of its own.
#[derive(Debug)]
pub struct Mapping {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the mapping is its own, lasts until it is dropped, and what reaches into it says how.
unsafe impl Send for Mapping {}

impl Mapping {
    /// So many octets of zeros, in memory.
    pub fn anonymous(bytes: usize) -> io::Result<Self> {
        let (read_write, present) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE | MapFlags::POPULATE);
        // SAFETY: a new mapping at an address of the kernel's choice.
        let start = unsafe { rustix::mm::mmap_anonymous(std::ptr::null_mut(), bytes, read_write, present)? };
        Ok(Self { start: NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?, bytes })
    }

    /// What a socket shares at this offset.
    pub fn shared(socket: impl AsFd, offset: u64, bytes: usize) -> io::Result<Self> {
        let (read_write, shared) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED | MapFlags::POPULATE);
        // SAFETY: a new mapping at an address of the kernel's choice.
        let start = unsafe { rustix::mm::mmap(std::ptr::null_mut(), bytes, read_write, shared, socket, offset)? };
        Ok(Self { start: NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?, bytes })
    }

    /// Where a `T` is, or so many of them, that begin at this offset.
    pub fn at<T>(&self, offset: u64, count: usize) -> io::Result<NonNull<T>> {
        let end = size_of::<T>().checked_mul(count).and_then(|bytes| bytes.checked_add(offset as usize));
        if end.is_none_or(|end| end > self.bytes) || offset as usize % align_of::<T>() != 0 {
            return Err(io::Error::other("the kernel names a place outside of what it shares"));
        }
        // SAFETY: within the mapping, as was just made sure of.
        Ok(unsafe { self.start.byte_add(offset as usize) }.cast())
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: made by mmap with this length; pointers into it are dropped with their mapping.
        let _ = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

/// Frames in pieces of [`Frames::PIECE`] octets, each of which belongs to the kernel or to us (who has its address).
#[derive(Debug)]
pub struct Frames(Mapping);

impl Frames {
    /// Octets of a piece; the kernel leaves the first 256 of each free when it puts a frame there.
    pub const PIECE: usize = 2048;

    pub fn new(count: u32) -> io::Result<Self> {
        Mapping::anonymous(count as usize * Self::PIECE).map(Self)
    }

    /// Where they begin, and how many octets they are.
    pub fn extent(&self) -> (u64, u64) {
        (self.0.start.as_ptr() as u64, self.0.bytes as u64)
    }

    /// A frame that the kernel has handed over; nothing if it is not within one piece.
    #[inline]
    pub fn get(&self, address: u64, octets: u32) -> Option<&[u8]> {
        let (from, octets) = (address as usize, octets as usize);
        if from >= self.0.bytes || octets > Self::PIECE - from % Self::PIECE {
            return None;
        }
        // SAFETY: within the mapping; the kernel does not touch it until its piece is given back, which takes `&mut`
        // of the rings beside this.
        Some(unsafe { std::slice::from_raw_parts(self.0.start.as_ptr().add(from), octets) })
    }

    /// Room for a frame in a piece that is ours.
    #[inline]
    pub fn piece(&mut self, number: u32) -> (u64, &mut [u8]) {
        let from = number as usize * Self::PIECE;
        assert!(from < self.0.bytes, "there is no piece {number}");
        // SAFETY: within the mapping, a whole number of pieces long; exclusive by `&mut`.
        (from as u64, unsafe { std::slice::from_raw_parts_mut(self.0.start.as_ptr().add(from), Self::PIECE) })
    }
}
