//! In place of the crate rtrb: a ring from one thread to another that keeps what the crate promises (each entry once, whole
//! and in order) and no more, so that what is built on it is explored.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use loom::cell::UnsafeCell;

struct Shared<T> {
    cells: Vec<UnsafeCell<Option<T>>>,
    put: AtomicUsize,
    taken: AtomicUsize,
}

// SAFETY: loom sees every access to a cell, and ends the model where two threads have one at once.
unsafe impl<T: Send> Sync for Shared<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for Shared<T> {}

pub struct RingBuffer<T>(Arc<Shared<T>>);

impl<T> RingBuffer<T> {
    #[allow(clippy::new_ret_no_self)]
    pub fn new(capacity: usize) -> (Producer<T>, Consumer<T>) {
        // Models put in a few; one with room for thousands is never full in them.
        let cells = (0..capacity.min(16)).map(|_| UnsafeCell::new(None)).collect();
        let shared = Arc::new(Shared { cells, put: AtomicUsize::new(0), taken: AtomicUsize::new(0) });
        (Producer(Self(shared.clone())), Consumer(Self(shared)))
    }

    pub fn capacity(&self) -> usize {
        self.0.cells.len()
    }

    fn cell(&self, number: usize) -> &UnsafeCell<Option<T>> {
        &self.0.cells[number % self.0.cells.len()]
    }
}

pub struct Producer<T>(RingBuffer<T>);
pub struct Consumer<T>(RingBuffer<T>);

impl<T> core::fmt::Debug for Producer<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter) -> core::fmt::Result {
        f.write_str("Producer")
    }
}

impl<T> core::fmt::Debug for Consumer<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter) -> core::fmt::Result {
        f.write_str("Consumer")
    }
}

impl<T> Producer<T> {
    pub fn push(&mut self, value: T) -> Result<(), T> {
        match self.write_chunk_uninit(1) {
            Ok(chunk) => {
                chunk.fill_from_iter([value]);
                Ok(())
            }
            Err(()) => Err(value),
        }
    }

    pub fn write_chunk_uninit(&mut self, count: usize) -> Result<Chunk<'_, T>, ()> {
        let ring = &self.0;
        let put = ring.0.put.load(Ordering::Relaxed);
        let taken = ring.0.taken.load(Ordering::Acquire);
        if ring.capacity() - (put - taken) < count { Err(()) } else { Ok(Chunk { ring, from: put, count }) }
    }
}

pub struct Chunk<'a, T> {
    ring: &'a RingBuffer<T>,
    from: usize,
    count: usize,
}

impl<T> Chunk<'_, T> {
    pub fn fill_from_iter(self, values: impl IntoIterator<Item = T>) {
        for (number, value) in (self.from..self.from + self.count).zip(values) {
            // SAFETY: the consumer does not look there before `put` says so.
            self.ring.cell(number).with_mut(|cell| unsafe { *cell = Some(value) });
        }
        self.ring.0.put.store(self.from + self.count, Ordering::Release);
    }
}

impl<T> Consumer<T> {
    pub fn pop(&mut self) -> Result<T, ()> {
        Ok(self.read_chunk(1)?.into_iter().next().ok_or(())?)
    }

    pub fn read_chunk(&mut self, count: usize) -> Result<Chunk<'_, T>, ()> {
        let ring = &self.0;
        let taken = ring.0.taken.load(Ordering::Relaxed);
        let put = ring.0.put.load(Ordering::Acquire);
        if put - taken < count { Err(()) } else { Ok(Chunk { ring, from: taken, count }) }
    }

    pub fn slots(&self) -> usize {
        self.0.0.put.load(Ordering::Acquire) - self.0.0.taken.load(Ordering::Relaxed)
    }

    pub fn buffer(&self) -> &RingBuffer<T> {
        &self.0
    }
}

impl<T> Chunk<'_, T> {
    #[allow(clippy::should_implement_trait)]
    pub fn into_iter(self) -> std::vec::IntoIter<T> {
        let numbers = self.from..self.from + self.count;
        // SAFETY: the producer does not write there before `taken` says so.
        let take = |number| self.ring.cell(number).with_mut(|cell| unsafe { (*cell).take() });
        let values: Vec<T> = numbers.filter_map(take).collect();
        self.ring.0.taken.store(self.from + self.count, Ordering::Release);
        values.into_iter()
    }
}
