//! Timing the edges of all lines.

use ontick_pico::{LINES_OF_BANK, Lost, Message};

use crate::bank::{Bank, Turn};
use crate::clocks::now_us;
use crate::pio::{self, Loaded};
use crate::programs;
use crate::queue::Queue;
use crate::registers::{PIO0, SIO, read};

const SAMPLERS: u32 = 0b0101;
const COMPRESSORS: u32 = 0b1010;
/// In ticks.
const MICROSECOND: u64 = 125;
/// Between two messages of status.
const STATUS_US: u64 = 10_000;
/// From a pin to a report in a ring takes less than this, in ticks.
const ON_THE_WAY: u64 = 4 * MICROSECOND;

pub struct Capture {
    banks: [Bank; 2],
    sampler: Loaded,
    compressor: Loaded,
    begun_us: u64,
    said_us: u64,
    gaps: u32,
    pub is_running: bool,
}

impl Capture {
    pub fn new() -> Self {
        let sampler = pio::load(PIO0, 0, &programs::sampler());
        let compressor = pio::load(PIO0, 1, &programs::compressor());
        let banks = [Bank::new(0), Bank::new(1)];
        Self { banks, sampler, compressor, begun_us: 0, said_us: 0, gaps: 0, is_running: false }
    }

    /// Times from tick 0.
    pub fn start(&mut self) {
        self.banks = [Bank::new(0), Bank::new(1)];
        self.gaps = 0;
        self.set_up();
        pio::start(PIO0, SAMPLERS | COMPRESSORS);
        self.begun_us = now_us();
        self.said_us = self.begun_us;
        self.is_running = true;
    }

    /// All state machines wait to be started at the same tick.
    fn set_up(&mut self) {
        pio::stop(PIO0, SAMPLERS | COMPRESSORS);
        let levels = read(SIO + 0x04);
        for (number, bank) in (0_u8..).zip(&mut self.banks) {
            let levels = (levels >> (number * LINES_OF_BANK)) as u8 & 0xf;
            bank.set_up(self.sampler, self.compressor, levels);
        }
        pio::overflowed(PIO0, SAMPLERS, COMPRESSORS);
    }

    /// Ends; what was timed until then is in the queue.
    pub fn stop(&mut self, queue: &mut Queue) {
        if !self.is_running {
            return;
        }
        let until = self.halt(queue);
        queue.say_all_lost();
        self.say_status(until, queue);
        self.is_running = false;
    }

    /// Samples no more, and takes what was sampled; until when that is.
    fn halt(&mut self, queue: &mut Queue) -> u64 {
        pio::stop(PIO0, SAMPLERS);
        wait_us(2);
        pio::stop(PIO0, COMPRESSORS);
        self.banks.iter_mut().for_each(Bank::close);
        wait_us(2);
        let (us, tick) = self.now();
        let until = self.banks.iter_mut().map(|bank| bank.finish(tick, us, queue)).min();
        self.banks.iter_mut().for_each(Bank::quit);
        until.unwrap_or(tick)
    }

    fn now(&self) -> (u64, u64) {
        let us = now_us();
        (us, us.wrapping_sub(self.begun_us) * MICROSECOND)
    }

    pub fn service(&mut self, queue: &mut Queue) {
        if !self.is_running {
            return;
        }
        let (us, tick) = self.now();
        let mut overrun = pio::overflowed(PIO0, SAMPLERS, COMPRESSORS);
        let mut is_empty = true;
        for bank in &mut self.banks {
            let turn = bank.turn(tick, us, queue);
            overrun |= turn == Turn::Overrun;
            is_empty &= turn == Turn::Empty;
        }
        if overrun {
            self.begin_again(queue);
        } else if us.wrapping_sub(self.said_us) >= STATUS_US && queue.room() > 0 {
            self.said_us = us;
            self.banks.iter_mut().for_each(|bank| bank.flush(queue));
            // Where something waits, the status before still holds.
            if is_empty && self.banks.iter().all(Bank::is_at_rest) {
                self.say_status(tick.saturating_sub(ON_THE_WAY), queue);
            }
        }
    }

    /// Edges come faster than they are taken. From the stop until the new start nobody sees them, and the time goes on by
    /// the timer, to a microsecond.
    #[cold]
    fn begin_again(&mut self, queue: &mut Queue) {
        let from = self.halt(queue);
        self.gaps = self.gaps.wrapping_add(1);
        self.set_up();
        let (_, to) = self.now();
        pio::start(PIO0, SAMPLERS | COMPRESSORS);
        for (number, bank) in (0_u8..).zip(&mut self.banks) {
            bank.begin(to);
            queue.say_lost(Lost { bank: number, from, to, edges: None });
        }
    }

    fn say_status(&self, until: u64, queue: &mut Queue) {
        let sum = |of: fn(&Bank) -> u32| self.banks.iter().fold(0_u32, |sum, bank| sum.wrapping_add(of(bank)));
        let (sent, lost) = (sum(|bank| bank.sent_edges), sum(|bank| bank.lost_edges));
        queue.say(&Message::Status { until, sent, lost, gaps: self.gaps });
    }
}

fn wait_us(us: u64) {
    let end = now_us() + us + 1;
    while now_us() < end {}
}
