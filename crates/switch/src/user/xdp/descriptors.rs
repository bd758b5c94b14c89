//! Where the parts of a ring are that an AF_XDP socket shares with the kernel.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::AsFd;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU32;

use rustix::net::xdp::XdpRingOffset;

use super::memory::Mapping;

/// Where the parts of a ring are. `D` is a plain value, any octets of which are valid.
#[derive(Debug)]
pub struct Descriptors<D> {
    producer: NonNull<AtomicU32>,
    consumer: NonNull<AtomicU32>,
    descriptors: NonNull<D>,
    size: u32,
    _mapping: Mapping,
}

// SAFETY: the pointers lead into the mapping, which comes along; the descriptors are plain values.
unsafe impl<D> Send for Descriptors<D> {}

impl<D: Copy> Descriptors<D> {
    /// Maps a ring of so many descriptors, a power of two, which a socket has at `page`.
    pub fn map(socket: impl AsFd, page: u64, offsets: &XdpRingOffset, size: u32) -> io::Result<Self> {
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

    /// How many were put in so far.
    #[inline]
    pub fn producer(&self) -> &AtomicU32 {
        // SAFETY: an aligned word of the mapping, which is there as long as `self`; both sides access it whole.
        unsafe { self.producer.as_ref() }
    }

    /// How many were taken out so far.
    #[inline]
    pub fn consumer(&self) -> &AtomicU32 {
        // SAFETY: as above.
        unsafe { self.consumer.as_ref() }
    }

    /// How many there is room for.
    #[inline]
    pub fn size(&self) -> u32 {
        self.size
    }

    /// Writes one into the place of this number, while it is this side's turn with it.
    #[inline]
    pub fn write(&mut self, number: u32, descriptor: D) {
        // SAFETY: within the ring; the kernel reads it in its own turn only.
        unsafe { self.place(number).write(descriptor) };
    }

    /// Reads the one in the place of this number, while it is this side's turn with it.
    #[inline]
    pub fn read(&self, number: u32) -> D {
        // SAFETY: within the ring, plain, and not written to by the kernel but in its own turn.
        unsafe { self.place(number).read() }
    }

    fn place(&self, number: u32) -> NonNull<D> {
        // SAFETY: the mask keeps it within the `size` descriptors.
        unsafe { self.descriptors.add((number & (self.size - 1)) as usize) }
    }
}
