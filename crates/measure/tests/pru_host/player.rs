//! A thread that plays the firmware: the same words in the same order, with widths of its own choice.

use std::fs::OpenOptions;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::sleep;
use std::time::Duration;

use ontick_gpio::registers::{Registers, Window};
use ontick_measure::pru::layout::{BLOCK, CELLS_COUNT, IS_READY, Kind, SHARED_BYTES, at, flag, state};

/// A word beyond the layout, where the player leaves what the output is at.
pub const PLAYED_OUTPUT: usize = 0x1000;

/// Plays pulses that are a cycle too wide every tenth time, and 300 too wide every hundredth; answers within 7 cycles.
pub fn play(root: &Path, pru: u32, firmware: &str, alive: &AtomicBool) {
    let kind = match firmware {
        name if name == Kind::Pulse.file(pru) => Kind::Pulse,
        name if name == Kind::Response.file(pru) => Kind::Response,
        _ => return,
    };
    let block = Block::open(root, pru);
    block.set(at::COMMAND, 0);
    block.set(at::KIND, kind.word());
    block.set(at::STATE, state::IDLE);
    block.set(at::MAGIC, IS_READY);
    while alive.load(Relaxed) {
        if block.get(at::COMMAND) == 1 {
            work(&block, kind, alive);
        }
        sleep(Duration::from_micros(200));
    }
}

/// Another version of the firmware.
pub fn play_another_version(root: &Path, pru: u32, _: &str, alive: &AtomicBool) {
    let block = Block::open(root, pru);
    block.set(at::KIND, Kind::Pulse.word() + (1 << 16));
    block.set(at::MAGIC, IS_READY);
    while alive.load(Relaxed) {
        sleep(Duration::from_millis(1));
    }
}

/// A program that knows nothing of the layout.
pub fn play_dead(_: &Path, _: u32, _: &str, alive: &AtomicBool) {
    while alive.load(Relaxed) {
        sleep(Duration::from_millis(1));
    }
}

fn work(block: &Block, kind: Kind, alive: &AtomicBool) {
    let (width, base, count) = (block.get(at::WIDTH), block.get(at::BASE), block.get(at::COUNT));
    if kind == Kind::Pulse && width < 4 {
        block.set(at::REFUSED, at::WIDTH as u32);
        return end(block, state::REFUSING, alive);
    }
    let words = [at::DONE, at::MOST, at::BELOW, at::ABOVE, at::SUM_LOW, at::SUM_HIGH, at::LATE];
    words.into_iter().for_each(|word| block.set(word, 0));
    block.set(at::LEAST, u32::MAX);
    (0..CELLS_COUNT).for_each(|cell| block.set(at::CELLS + 4 * cell, 0));
    block.set(PLAYED_OUTPUT, 7);
    block.set(at::STATE, state::RUNNING);
    let mut sum = 0u64;
    for done in 1u32.. {
        let cycles = match (kind, done % 100, done % 10) {
            (Kind::Response, ..) => 6 + done % 2,
            (_, 0, _) => width + 300,
            (_, _, 0) => width + 1,
            _ => width,
        };
        match cycles.checked_sub(base) {
            None => block.add(at::BELOW),
            Some(cell) if cell as usize >= CELLS_COUNT => block.add(at::ABOVE),
            Some(cell) => block.add(at::CELLS + 4 * cell as usize),
        }
        sum += u64::from(cycles);
        block.set(at::SUM_LOW, sum as u32);
        block.set(at::SUM_HIGH, (sum >> 32) as u32);
        block.set(at::LEAST, block.get(at::LEAST).min(cycles));
        block.set(at::MOST, block.get(at::MOST).max(cycles));
        block.set(at::DONE, done);
        if done == count {
            return end(block, state::FINISHED, alive);
        }
        if block.get(at::COMMAND) != 1 {
            return end(block, state::STOPPED, alive);
        }
        if !alive.load(Relaxed) {
            return;
        }
        if done % 16 == 0 {
            sleep(Duration::from_micros(100));
        }
    }
}

fn end(block: &Block, state: u32, alive: &AtomicBool) {
    block.set(PLAYED_OUTPUT, block.get(at::FLAGS) >> flag::REST_HIGH & 1);
    block.set(at::STATE, state);
    while block.get(at::COMMAND) == 1 && alive.load(Relaxed) {
        sleep(Duration::from_micros(200));
    }
    block.set(at::STATE, ontick_measure::pru::layout::state::IDLE);
}

/// A PRU's block, from whichever side.
pub struct Block(std::cell::RefCell<Window>, usize);

impl Block {
    pub fn open(root: &Path, pru: u32) -> Self {
        let file = OpenOptions::new().read(true).write(true).open(root.join("dev/mem")).unwrap();
        Self(Window::map(&file, 0, SHARED_BYTES).unwrap().into(), pru as usize * BLOCK)
    }

    pub fn get(&self, offset: usize) -> u32 {
        self.0.borrow_mut().read(self.1 + offset)
    }

    pub fn set(&self, offset: usize, value: u32) {
        self.0.borrow_mut().write(self.1 + offset, value);
    }

    fn add(&self, offset: usize) {
        self.set(offset, self.get(offset) + 1);
    }
}
