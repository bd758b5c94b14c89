//! Frames of one class that wait on one port.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

use super::pool::Slot;
use super::ptp::Event;

/// A frame that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waiting {
    /// Where it is.
    pub slot: Slot,
    /// How long it is.
    pub octets: u16,
    /// The message of PTP in it that is to be corrected by the time that it waits.
    pub event: Option<Event>,
    /// When it came.
    pub arrival_ns: u64,
}

/// First in, first out, up to a limit.
#[derive(Debug)]
pub struct Queue {
    ring: Vec<Option<Waiting>>,
    head: usize,
    length: usize,
}

impl Queue {
    /// For so many frames, one at least.
    pub fn new(limit: u32) -> Self {
        Self { ring: vec![None; limit.max(1) as usize], head: 0, length: 0 }
    }

    /// How many wait.
    #[inline]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether none waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Whether no further one may.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.length == self.ring.len()
    }

    /// Adds one at the end. A full queue does not take it.
    #[inline]
    pub fn push(&mut self, waiting: Waiting) -> Result<(), Waiting> {
        if self.is_full() {
            return Err(waiting);
        }
        let mut end = self.head + self.length;
        if end >= self.ring.len() {
            end -= self.ring.len();
        }
        self.ring[end] = Some(waiting);
        self.length += 1;
        Ok(())
    }

    /// The one that has waited longest.
    #[inline]
    pub fn first(&self) -> Option<Waiting> {
        if self.length == 0 { None } else { self.ring[self.head] }
    }

    /// The one that came as the first after so many others that wait.
    #[inline]
    pub fn get(&self, before: usize) -> Option<Waiting> {
        if before >= self.length {
            return None;
        }
        let mut at = self.head + before;
        if at >= self.ring.len() {
            at -= self.ring.len();
        }
        self.ring[at]
    }

    /// Takes the one that has waited longest.
    #[inline]
    pub fn pop(&mut self) -> Option<Waiting> {
        let first = self.first()?;
        self.head += 1;
        if self.head == self.ring.len() {
            self.head = 0;
        }
        self.length -= 1;
        Some(first)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::super::pool::Pool;
    use super::*;

    proptest! {
        #[test]
        fn it_is_a_queue(limit in 1u32..5, pushes in prop::collection::vec(any::<bool>(), 0..40)) {
            let (mut pool, mut queue, mut model) = (Pool::new(40), Queue::new(limit), VecDeque::new());
            for push in pushes {
                if push {
                    let waiting = Waiting { slot: pool.take().unwrap(), octets: 60, event: None, arrival_ns: 0 };
                    match queue.push(waiting) {
                        Ok(()) => model.push_back(waiting),
                        Err(back) => { prop_assert_eq!((back, model.len()), (waiting, limit as usize)); pool.give(back.slot) }
                    }
                } else {
                    prop_assert_eq!(queue.first(), model.front().copied());
                    prop_assert_eq!(queue.pop(), model.pop_front());
                }
                prop_assert_eq!((queue.len(), queue.is_empty()), (model.len(), model.is_empty()));
                prop_assert!((0..6).all(|before| queue.get(before) == model.get(before).copied()));
            }
        }
    }
}
