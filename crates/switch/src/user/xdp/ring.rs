//! The four rings that an AF_XDP socket shares with the kernel: one side puts descriptors in, the other takes them out.

use std::sync::atomic::Ordering;

use super::descriptors::Descriptors;

/// A ring that we put descriptors into: of room for frames, or of frames to be sent.
#[derive(Debug)]
pub struct Outgoing<D> {
    ring: Descriptors<D>,
    /// How many were put in so far.
    put: u32,
}

impl<D: Copy> Outgoing<D> {
    pub fn over(ring: Descriptors<D>) -> Self {
        Self { ring, put: 0 }
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
        debug_assert!(self.untaken() < self.ring.size());
        // The kernel does not read it before the index says so.
        self.ring.write(self.put, descriptor);
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
        self.ring.write(self.put.wrapping_sub(1 + behind), descriptor);
    }
}

/// A ring that we take descriptors out of: of frames that came, or of frames that were sent.
#[derive(Debug)]
pub struct Incoming<D> {
    ring: Descriptors<D>,
    /// How many were taken out so far.
    taken: u32,
}

impl<D: Copy> Incoming<D> {
    pub fn over(ring: Descriptors<D>) -> Self {
        Self { ring, taken: 0 }
    }

    /// Takes the next one, if there is one.
    #[inline]
    pub fn take(&mut self) -> Option<D> {
        // Acquire: the descriptor, and the frame it speaks of, are read after the index.
        if self.ring.producer().load(Ordering::Acquire) == self.taken {
            return None;
        }
        // The kernel has written it, and leaves it alone until the index says so.
        let descriptor = self.ring.read(self.taken);
        self.taken = self.taken.wrapping_add(1);
        // Release: the descriptor has been read before the kernel may write there again.
        self.ring.consumer().store(self.taken, Ordering::Release);
        Some(descriptor)
    }
}
