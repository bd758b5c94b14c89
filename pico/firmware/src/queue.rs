//! Frames that wait for the host.

use ontick_pico::{BANKS, LONGEST, Lost, Message, frame};

/// Some 25 000 edges at the usual 2.6 bytes each.
const SLOTS: usize = 1024;
/// Kept free for what is said of edges that are lost, and for answers.
const RESERVE: usize = 16;
/// Of those, kept free for the end: what is lost of each bank, the last status and the answer.
const ENDING: usize = BANKS as usize + ANSWER;
/// A status and what was done, or who it is and what was done.
const ANSWER: usize = 2;

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
    /// What is lost of each bank, and found no room yet.
    kept: [Option<Lost>; BANKS as usize],
}

impl Queue {
    /// # Safety
    /// Called once.
    pub unsafe fn new() -> Self {
        // SAFETY: the only reference, as this is called once.
        let frames = unsafe { &mut *FRAMES.0.get() };
        Self { frames, lengths: [0; SLOTS], first: 0, count: 0, sequence: 0, kept: [None; BANKS as usize] }
    }

    /// How many more frames with edges there is room for.
    #[inline]
    pub fn room(&self) -> usize {
        (SLOTS - RESERVE).saturating_sub(self.count)
    }

    /// Forgets what waits.
    pub fn clear(&mut self) {
        self.count = 0;
        self.kept = [None; BANKS as usize];
    }

    /// Adds a status or an answer, for which room is kept.
    pub fn say(&mut self, message: &Message) {
        self.say_kept(SLOTS - ENDING);
        self.write(message);
    }

    /// Adds what is lost of a bank. Where there is no room it waits, and what is lost until then becomes one with it.
    pub fn say_lost(&mut self, lost: Lost) {
        let kept = &mut self.kept[usize::from(lost.bank)];
        *kept = Some(kept.map_or(lost, |before| both(before, lost)));
        self.say_kept(SLOTS - ENDING);
    }

    /// Says what is lost and waits, as nothing comes after it but a status and an answer.
    pub fn say_all_lost(&mut self) {
        self.say_kept(SLOTS - ANSWER);
        self.kept = [None; BANKS as usize];
    }

    fn say_kept(&mut self, limit: usize) {
        for bank in 0..self.kept.len() {
            if self.count < limit {
                if let Some(lost) = self.kept[bank].take() {
                    self.write(&Message::Lost(lost));
                }
            }
        }
    }

    fn write(&mut self, message: &Message) {
        let mut frame = [0; LONGEST];
        let length = message.write(self.sequence, &mut frame);
        self.add(&frame, length);
    }

    /// Adds a frame whose payload is in its place.
    pub fn seal(&mut self, kind: u8, payload: usize, bytes: &mut [u8; LONGEST]) {
        self.say_kept(SLOTS - ENDING);
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

/// From the first of them to the last; how many there are is known only where it is of both.
fn both(before: Lost, after: Lost) -> Lost {
    let edges = before.edges.zip(after.edges).map(|(a, b)| a.saturating_add(b).min(u32::MAX - 1));
    Lost { bank: after.bank, from: before.from.min(after.from), to: before.to.max(after.to), edges }
}
