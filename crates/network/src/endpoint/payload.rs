//! What a program has a stream carry: the newest payload goes from the program's thread to the one that keeps time, which
//! neither waits for it nor allocates.
//!
//! There are three slots. The program fills its own and puts it in the middle; the talker takes the middle one when it is
//! new. Who has which slot is in one atomic number, so the locks are never contended: they are there for the compiler.

use std::sync::atomic::{AtomicU8, Ordering::AcqRel, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

/// The slot in the middle is newer than the talker's.
const NEW: u8 = 4;
const SLOT: u8 = 3;

#[derive(Debug)]
struct Slots {
    slots: [Mutex<Vec<u8>>; 3],
    middle: AtomicU8,
}

/// The program's end.
#[derive(Debug)]
pub struct PayloadWriter {
    shared: Arc<Slots>,
    own: u8,
    room: usize,
}

/// The talker's end.
#[derive(Debug)]
pub struct PayloadReader {
    shared: Arc<Slots>,
    own: u8,
}

/// For payloads of at most so many octets.
pub fn payloads(room: usize) -> (PayloadWriter, PayloadReader) {
    let slots = std::array::from_fn(|_| Mutex::new(Vec::with_capacity(room)));
    let shared = Arc::new(Slots { slots, middle: AtomicU8::new(1) });
    (PayloadWriter { shared: shared.clone(), own: 0, room }, PayloadReader { shared, own: 2 })
}

impl PayloadWriter {
    /// How many octets it takes.
    pub fn room(&self) -> usize {
        self.room
    }

    /// Puts a payload in place of whatever was there and not taken yet; one that is longer than the room is cut.
    pub fn put(&mut self, payload: &[u8]) {
        let mut slot = self.shared.slots[usize::from(self.own)].lock().unwrap_or_else(PoisonError::into_inner);
        slot.clear();
        slot.extend_from_slice(&payload[..payload.len().min(self.room)]);
        drop(slot);
        self.own = self.shared.middle.swap(self.own | NEW, AcqRel) & SLOT;
    }
}

impl PayloadReader {
    /// Shows the newest payload, if there is one since the last time.
    #[inline]
    pub fn take(&mut self, show: impl FnOnce(&[u8])) -> bool {
        if self.shared.middle.load(Relaxed) & NEW == 0 {
            return false;
        }
        self.own = self.shared.middle.swap(self.own, AcqRel) & SLOT;
        match self.shared.slots[usize::from(self.own)].try_lock() {
            Ok(slot) => show(&slot),
            Err(_) => return false,
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(reader: &mut PayloadReader) -> Option<Vec<u8>> {
        let mut payload = None;
        reader.take(|octets| payload = Some(octets.to_vec()));
        payload
    }

    #[test]
    fn the_newest_is_taken_once() {
        let (mut writer, mut reader) = payloads(4);
        assert_eq!(taken(&mut reader), None);
        writer.put(b"a");
        writer.put(b"bc");
        assert_eq!((taken(&mut reader).as_deref(), taken(&mut reader)), (Some(&b"bc"[..]), None));
        for turn in 0..20u8 {
            writer.put(&[turn; 4]);
            assert_eq!(taken(&mut reader), Some(vec![turn; 4]));
        }
        writer.put(b"");
        assert_eq!((taken(&mut reader).as_deref(), writer.room()), (Some(&b""[..]), 4));
    }

    /// Each payload is whole, and none is older than the one before.
    #[test]
    fn two_threads_do_not_disturb_each_other() {
        const LAST: u64 = 20_000;
        let (mut writer, mut reader) = payloads(64);
        std::thread::scope(|scope| {
            scope.spawn(move || (1..=LAST).for_each(|turn| writer.put(&turn.to_be_bytes().repeat(8))));
            let mut last = 0;
            while last < LAST {
                reader.take(|octets| {
                    let first = u64::from_be_bytes(*octets.first_chunk().unwrap());
                    assert!(first > last && octets == first.to_be_bytes().repeat(8), "{first} after {last}");
                    last = first;
                });
            }
        });
    }
}
