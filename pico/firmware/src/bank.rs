//! Four lines: a state machine that samples them, one that compresses, a ring of reports, and the edges in it.

use ontick_pico::samples::{Decoder, steady};
use ontick_pico::{EdgeWriter, LINES_OF_BANK, LONGEST, Lost, Message, frame};
use pio_core::{MovDestination, MovOperation, MovSource};

use crate::dma::{self, Pair, To};
use crate::pio::{Loaded, Machine};
use crate::programs::instruction;
use crate::queue::Queue;
use crate::registers::PIO0;

/// Words of a ring.
const RING: usize = 1 << 13;
/// Edges that are taken before others have their turn: some 12 000 ticks, in which DMA writes 3 000 words at most.
const TURN: u32 = 32;
/// Where more words wait, DMA could be at them within a turn.
const FULL: u32 = RING as u32 / 2;
/// Edges that wait for others in their frame no longer than this, in us.
const PATIENCE_US: u64 = 5_000;
/// Where edges were lost, there must be room for so many frames again.
const ROOM_AGAIN: usize = 64;

#[repr(C, align(32768))]
struct Ring(core::cell::UnsafeCell<[u32; RING]>);

// SAFETY: DMA writes to it, and it is read as volatile memory.
unsafe impl Sync for Ring {}

#[unsafe(link_section = ".rings")]
static RINGS: [Ring; 2] = [const { Ring(core::cell::UnsafeCell::new([0; RING])) }; 2];

/// What ended a turn.
#[derive(PartialEq, Eq)]
pub enum Turn {
    /// There is more.
    More,
    /// All that was reported is read.
    Empty,
    /// Reports came faster than they are read.
    Overrun,
}

pub struct Bank {
    number: u8,
    pump: Pair,
    reports: Pair,
    read: u32,
    decoder: Decoder,
    writer: EdgeWriter,
    bytes: [u8; LONGEST],
    /// When this turn began, in us.
    now_us: u64,
    /// When the first edge of the frame was taken, in us.
    begun_us: u64,
    lost: Option<Lost>,
    pub sent_edges: u32,
    pub lost_edges: u32,
}

impl Bank {
    pub fn new(number: u8) -> Self {
        let channel = 4 * usize::from(number);
        Self {
            number,
            pump: Pair(channel),
            reports: Pair(channel + 2),
            read: 0,
            decoder: Decoder::new(0, 0),
            writer: EdgeWriter::new(number, 0),
            bytes: [0; LONGEST],
            now_us: 0,
            begun_us: 0,
            lost: None,
            sent_edges: 0,
            lost_edges: 0,
        }
    }

    fn sampler(&self) -> Machine {
        Machine { pio: PIO0, index: 2 * usize::from(self.number) }
    }

    fn compressor(&self) -> Machine {
        Machine { pio: PIO0, index: 2 * usize::from(self.number) + 1 }
    }

    /// Ready to sample, from tick 0 on, lines of these levels.
    pub fn set_up(&mut self, sampler: Loaded, compressor: Loaded, levels: u8) {
        const SHIFT_RIGHT: u32 = 1 << 18;
        const AUTOPUSH: u32 = 1 << 16;
        self.quit();
        self.sampler().set_up(sampler, SHIFT_RIGHT | AUTOPUSH, u32::from(self.number * LINES_OF_BANK) << 15);
        self.compressor().set_up(compressor, SHIFT_RIGHT, 0);
        self.compressor().send(steady(levels));
        self.compressor().execute(instruction(|a| a.pull(false, true)));
        self.compressor().execute(instruction(|a| {
            a.mov(MovDestination::Y, MovOperation::None, MovSource::OSR);
        }));
        let (sampler, compressor) = (self.sampler(), self.compressor());
        let dreq = |machine: Machine| 4 + machine.index as u32;
        self.pump.start(sampler.received_address(), To::Register(compressor.sent_address()), dreq(sampler));
        let ring = RINGS[usize::from(self.number)].0.get();
        self.reports.start(compressor.received_address(), To::Ring(ring as usize), dreq(compressor));
        self.read = 0;
        self.decoder = Decoder::new(0, levels);
        self.writer = EdgeWriter::new(self.number, levels);
    }

    /// Sampling has begun at this tick.
    pub fn begin(&mut self, tick: u64) {
        self.decoder = Decoder::new(tick, self.decoder.levels());
    }

    /// The compressor has had all words: it says how many equal ones there were since its last report.
    pub fn close(&mut self) {
        self.compressor().execute(instruction(|a| a.push(false, false)));
    }

    /// DMA ends.
    pub fn quit(&mut self) {
        self.pump.stop();
        self.reports.stop();
    }

    fn waiting(&self) -> u32 {
        self.reports.moved().wrapping_sub(self.read) % dma::WORDS
    }

    #[inline]
    fn next_word(&mut self) -> u32 {
        let place = self.read as usize % RING;
        self.read = (self.read + 1) % dma::WORDS;
        // SAFETY: within the ring, which DMA writes to.
        unsafe { RINGS[usize::from(self.number)].0.get().cast::<u32>().add(place).read_volatile() }
    }

    /// Takes some edges. `now` is the tick, roughly.
    pub fn turn(&mut self, now: u64, now_us: u64, queue: &mut Queue) -> Turn {
        let waiting = self.waiting();
        if waiting > FULL {
            return Turn::Overrun;
        }
        self.now_us = now_us;
        let mut left = TURN;
        for _ in 0..waiting / 2 {
            left -= self.take_changes(left, queue);
            if left == 0 {
                return Turn::More;
            }
            self.take_report(now);
        }
        if self.take_changes(left, queue) == left {
            return Turn::More;
        }
        if !self.writer.is_empty() && now_us.wrapping_sub(self.begun_us) > PATIENCE_US {
            self.flush(queue);
        }
        Turn::Empty
    }

    #[inline]
    fn take_report(&mut self, now: u64) {
        let count = self.next_word();
        let word = self.next_word();
        if self.decoder.is_behind(now) {
            self.decoder.catch_up(count, now);
        }
        self.decoder.take(count, word);
    }

    /// Takes at most so many changes of what was reported; how many.
    #[inline]
    fn take_changes(&mut self, most: u32, queue: &mut Queue) -> u32 {
        let mut taken = 0;
        while taken < most {
            let Some((tick, line)) = self.decoder.change() else { break };
            self.add(tick, line, queue);
            taken += 1;
        }
        taken
    }

    /// All that was sampled, and [`close`](Self::close)d; until when that is.
    pub fn finish(&mut self, now: u64, now_us: u64, queue: &mut Queue) -> u64 {
        self.now_us = now_us;
        self.take_changes(u32::MAX, queue);
        if self.waiting() as usize <= RING {
            for _ in 0..self.waiting() / 2 {
                self.take_report(now);
                self.take_changes(u32::MAX, queue);
            }
            let count = self.next_word();
            if self.decoder.is_behind(now) {
                self.decoder.catch_up(count, now);
            }
            self.decoder.end(count);
            self.take_changes(u32::MAX, queue);
        }
        self.flush(queue);
        self.say_lost(queue);
        self.decoder.until()
    }

    #[inline]
    fn add(&mut self, tick: u64, line: u8, queue: &mut Queue) {
        if self.writer.is_empty() && !self.begin_frame(queue) {
            return self.lose(tick);
        }
        if self.writer.add(tick, line, frame::payload_of(&mut self.bytes)) {
            self.sent_edges = self.sent_edges.wrapping_add(1);
        } else {
            self.flush(queue);
            self.add_again(tick, line, queue);
        }
    }

    #[cold]
    fn add_again(&mut self, tick: u64, line: u8, queue: &mut Queue) {
        self.add(tick, line, queue);
    }

    /// Whether there is room for another frame.
    #[cold]
    fn begin_frame(&mut self, queue: &mut Queue) -> bool {
        let enough = if self.lost.is_some() { ROOM_AGAIN } else { 4 };
        if queue.room() < enough {
            return false;
        }
        self.say_lost(queue);
        self.begun_us = self.now_us;
        true
    }

    /// Nobody takes the frames as fast as they come: this edge and the rest of its report are only counted.
    #[cold]
    fn lose(&mut self, tick: u64) {
        let more = self.decoder.leave_out();
        self.writer = EdgeWriter::new(self.number, self.decoder.levels());
        let edges = u32::try_from(more).unwrap_or(u32::MAX).saturating_add(1);
        self.lost_edges = self.lost_edges.wrapping_add(edges);
        let lost = self.lost.get_or_insert(Lost { bank: self.number, from: tick, to: tick, edges: Some(0) });
        lost.edges = lost.edges.map(|before| before.saturating_add(edges).min(u32::MAX - 1));
        lost.to = self.decoder.until();
    }

    fn say_lost(&mut self, queue: &mut Queue) {
        if let Some(lost) = self.lost.take() {
            queue.say_lost(lost);
        }
    }

    /// Sends the frame that is begun.
    pub fn flush(&mut self, queue: &mut Queue) {
        let length = self.writer.finish();
        if length > 0 {
            queue.seal(Message::EDGES, length, &mut self.bytes);
        }
    }

    /// Whether nothing of it waits here.
    pub fn is_at_rest(&self) -> bool {
        self.writer.is_empty() && self.lost.is_none() && self.waiting() < 2
    }
}
