//! Memory for frames that wait, all of it taken at the beginning.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

/// Octets of one slot: the largest frame of an ordinary link, with two VLAN tags, and room to spare.
pub const SLOT: usize = 2048;

/// Slots of one size. The one that was given back last is handed out first: it is still in the cache.
#[derive(Debug)]
pub struct Pool {
    memory: Vec<u8>,
    free: Vec<u32>,
}

/// A slot that was taken from the pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot(u32);

impl Pool {
    /// Memory for so many frames, written once, so that no page of it is missing later.
    pub fn new(slots: u32) -> Self {
        let mut memory = vec![0; slots as usize * SLOT];
        memory.iter_mut().step_by(2048).for_each(|octet| *octet = std::hint::black_box(0));
        Self { memory, free: (0..slots).rev().collect() }
    }

    /// Takes a slot, if there is one.
    #[inline]
    pub fn take(&mut self) -> Option<Slot> {
        self.free.pop().map(Slot)
    }

    /// Gives a slot back.
    #[inline]
    pub fn give(&mut self, slot: Slot) {
        self.free.push(slot.0);
    }

    /// Slots that were taken.
    #[inline]
    pub fn taken(&self) -> usize {
        self.memory.len() / SLOT - self.free.len()
    }

    /// Slots that are free.
    pub fn free(&self) -> usize {
        self.free.len()
    }

    /// A slot's memory.
    #[inline]
    pub fn get(&self, slot: Slot) -> &[u8] {
        let begin = slot.0 as usize * SLOT;
        &self.memory[begin..begin + SLOT]
    }

    /// A slot's memory, to be written.
    #[inline]
    pub fn get_mut(&mut self, slot: Slot) -> &mut [u8] {
        let begin = slot.0 as usize * SLOT;
        &mut self.memory[begin..begin + SLOT]
    }

    /// Copies the first `octets` of one slot into another.
    pub fn copy(&mut self, from: Slot, to: Slot, octets: usize) {
        let begin = from.0 as usize * SLOT;
        self.memory.copy_within(begin..begin + octets, to.0 as usize * SLOT);
    }
}
