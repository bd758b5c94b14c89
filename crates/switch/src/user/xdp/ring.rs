//! The four rings that an AF_XDP socket shares with the kernel: one side puts descriptors in, the other takes them out.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::AsFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::net::xdp::XdpRingOffset;

use super::memory::Mapping;

/// Where the parts of a ring are. `D` is a plain value, any octets of which are valid.
#[derive(Debug)]
struct Ring<D> {
    producer: NonNull<AtomicU32>,
    consumer: NonNull<AtomicU32>,
    descriptors: NonNull<D>,
    size: u32,
    _mapping: Mapping,
}

// SAFETY: the pointers lead into the mapping, which comes along; the descriptors are plain values.
unsafe impl<D> Send for Ring<D> {}

impl<D> Ring<D> {
    /// Maps a ring of so many descriptors, a power of two, which a socket has at `page`.
    fn map(socket: impl AsFd, page: u64, offsets: &XdpRingOffset, size: u32) -> io::Result<Self> {
        assert!(size.is_power_of_two());
        let bytes = offsets.desc as usize + size as usize * size_of::<D>();
        let mapping = Mapping::shared(socket, page, bytes)?;
        Ok(Self {
            producer: mapping.at(offsets.producer, 1)?,
            consumer: mapping.at(offsets.consumer, 1)?,
            descriptors: mapping.at(offsets.desc, size as usize)?,
            size,
            _mapping: mapping,
        })
    }

    fn producer(&self) -> &AtomicU32 {
        // SAFETY: an aligned word of the mapping, which is there as long as `self`; both sides access it whole.
        unsafe { self.producer.as_ref() }
    }

    fn consumer(&self) -> &AtomicU32 {
        // SAFETY: as above.
        unsafe { self.consumer.as_ref() }
    }

    fn descriptor(&self, index: u32) -> NonNull<D> {
        // SAFETY: the mask keeps it within the `size` descriptors.
        unsafe { self.descriptors.add((index & (self.size - 1)) as usize) }
    }
}

/// A ring that we put descriptors into: of room for frames, or of frames to be sent.
#[derive(Debug)]
pub struct Outgoing<D> {
    ring: Ring<D>,
    /// How many were put in so far.
    put: u32,
}

impl<D: Copy> Outgoing<D> {
    pub fn map(socket: impl AsFd, page: u64, offsets: &XdpRingOffset, size: u32) -> io::Result<Self> {
        Ok(Self { ring: Ring::map(socket, page, offsets, size)?, put: 0 })
    }

    /// How many the kernel has not taken yet.
    #[inline]
    pub fn untaken(&self) -> u32 {
        // Acquire: what the kernel read of them was read before we write there again.
        self.put.wrapping_sub(self.ring.consumer().load(Ordering::Acquire))
    }

    /// Puts one in; the caller knows that there is room.
    #[inline]
    pub fn put(&mut self, descriptor: D) {
        debug_assert!(self.untaken() < self.ring.size);
        // SAFETY: a descriptor within the ring, which the kernel does not read before the index says so.
        unsafe { self.ring.descriptor(self.put).write(descriptor) };
        self.put = self.put.wrapping_add(1);
        // Release: the descriptor, and the frame it speaks of, are written before the kernel sees the index.
        self.ring.producer().store(self.put, Ordering::Release);
    }

    /// Puts another one in the place of the last.
    #[inline]
    pub fn put_in_place_of_last(&mut self, descriptor: D) {
        self.replace(0, descriptor);
    }

    /// Puts another one in the place of one that has so many behind it. The kernel does not read either unless it is called.
    #[inline]
    pub fn replace(&mut self, behind: u32, descriptor: D) {
        // SAFETY: a descriptor within the ring, which the kernel reads in a later system call of this thread only.
        unsafe { self.ring.descriptor(self.put.wrapping_sub(1 + behind)).write(descriptor) };
    }
}

/// A ring that we take descriptors out of: of frames that came, or of frames that were sent.
#[derive(Debug)]
pub struct Incoming<D> {
    ring: Ring<D>,
    /// How many were taken out so far.
    taken: u32,
}

impl<D: Copy> Incoming<D> {
    pub fn map(socket: impl AsFd, page: u64, offsets: &XdpRingOffset, size: u32) -> io::Result<Self> {
        Ok(Self { ring: Ring::map(socket, page, offsets, size)?, taken: 0 })
    }

    /// Takes the next one, if there is one.
    #[inline]
    pub fn take(&mut self) -> Option<D> {
        // Acquire: the descriptor, and the frame it speaks of, are read after the index.
        if self.ring.producer().load(Ordering::Acquire) == self.taken {
            return None;
        }
        // SAFETY: a descriptor within the ring that the kernel has written, and leaves alone until the index says so.
        let descriptor = unsafe { self.ring.descriptor(self.taken).read() };
        self.taken = self.taken.wrapping_add(1);
        // Release: the descriptor has been read before the kernel may write there again.
        self.ring.consumer().store(self.taken, Ordering::Release);
        Some(descriptor)
    }
}
