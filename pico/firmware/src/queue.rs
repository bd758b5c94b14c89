//! Frames that wait for the host.

use ontick_pico::{LONGEST, Message, frame};

/// Some 25 000 edges at the usual 2.6 bytes each.
const SLOTS: usize = 1024;
/// Kept free for what is said of edges that are lost, and for answers.
const RESERVE: usize = 16;

/// A frame, with room to move it word by word.
type Slot = [u32; 16];

static FRAMES: Memory = Memory(core::cell::UnsafeCell::new([[0; 16]; SLOTS]));

struct Memory(core::cell::UnsafeCell<[Slot; SLOTS]>);

// SAFETY: there is one processor at work, no interrupt, and one queue.
unsafe impl Sync for Memory {}

/// The queue. There is one.
pub struct Queue {
    frames: &'static mut [Slot; SLOTS],
    lengths: [u8; SLOTS],
    first: usize,
    count: usize,
    sequence: u8,
}

impl Queue {
    /// # Safety
    /// Called once.
    pub unsafe fn new() -> Self {
        // SAFETY: the only reference, as this is called once.
        let frames = unsafe { &mut *FRAMES.0.get() };
        Self { frames, lengths: [0; SLOTS], first: 0, count: 0, sequence: 0 }
    }

    /// How many more frames with edges there is room for.
    #[inline]
    pub fn room(&self) -> usize {
        (SLOTS - RESERVE).saturating_sub(self.count)
    }

    /// Forgets what waits.
    pub fn clear(&mut self) {
        self.count = 0;
    }

    /// Adds a message; where there is no room at all, nobody has listened for long.
    pub fn say(&mut self, message: &Message) {
        let mut frame = [0; LONGEST];
        let length = message.write(self.sequence, &mut frame);
        self.add(&frame, length);
    }

    /// Adds a frame whose payload is in its place.
    pub fn seal(&mut self, kind: u8, payload: usize, bytes: &mut [u8; LONGEST]) {
        let length = frame::seal(kind, self.sequence, payload, bytes);
        self.add(bytes, length);
    }

    fn add(&mut self, frame: &[u8; LONGEST], length: usize) {
        if self.count == SLOTS {
            return;
        }
        let slot = (self.first + self.count) % SLOTS;
        for (word, bytes) in self.frames[slot].iter_mut().zip(frame.chunks(4)) {
            let mut four = [0; 4];
            four[..bytes.len()].copy_from_slice(bytes);
            *word = u32::from_le_bytes(four);
        }
        self.lengths[slot] = length as u8;
        self.count += 1;
        self.sequence = self.sequence.wrapping_add(1);
    }

    /// The frame that waits longest, and its length.
    pub fn first(&self) -> Option<(&Slot, usize)> {
        (self.count > 0).then(|| (&self.frames[self.first], usize::from(self.lengths[self.first])))
    }

    /// It is on its way.
    pub fn drop_first(&mut self) {
        self.first = (self.first + 1) % SLOTS;
        self.count -= 1;
    }
}
