//! Lines of registers that are read or driven at once.

use std::path::Path;

use super::pin::Pin;
use crate::board::Board;
use crate::{Direction, Error, Name, Request};

/// Lines of one word of levels, on every board.
const BANK_LINES: u32 = 32;

/// Lines of a board's registers.
#[derive(Debug)]
pub struct Pins {
    board: Board,
    banks: Vec<Bank>,
}

/// Those of one word.
#[derive(Debug)]
struct Bank {
    number: u32,
    /// Any line of the bank.
    pin: Pin,
    /// The bits of the lines in the bank, and in what is read.
    bits: Vec<(u32, u32)>,
}

impl Pins {
    /// `lines` are those of `names`.
    pub fn open(names: &[Name], root: &Path, lines: &[u32], request: &Request) -> Result<Self, Error> {
        let mut banks: Vec<Bank> = Vec::new();
        let mut board = None;
        for (n, (name, line)) in (0..).zip(names.iter().zip(lines)) {
            let pin = Pin::open(name, root, *line, request)?;
            board = Some(pin.board());
            let (number, bit) = (line / BANK_LINES, (line % BANK_LINES, n));
            match banks.iter_mut().find(|bank| bank.number == number) {
                Some(bank) => bank.bits.push(bit),
                None => banks.push(Bank { number, pin, bits: vec![bit] }),
            }
        }
        let none = || Error::NotFound { name: Name::Register(0), why: "a group without lines".into() };
        Ok(Self { board: board.ok_or_else(none)?, banks })
    }

    /// Of this board.
    pub fn board(&self) -> Board {
        self.board
    }

    /// One load for each bank.
    #[inline]
    pub fn read(&mut self) -> u64 {
        let mut levels = 0;
        for bank in &mut self.banks {
            let word = bank.pin.bank();
            for (from, to) in &bank.bits {
                levels |= u64::from(word >> from & 1) << to;
            }
        }
        levels
    }
}

/// Lines of a board's registers that are driven.
#[derive(Debug)]
pub struct OutputPins {
    board: Board,
    banks: Vec<OutputBank>,
}

/// Those of one word.
#[derive(Debug)]
struct OutputBank {
    number: u32,
    pins: Vec<Pin>,
    /// The bits of the lines in the bank, and in what is written.
    bits: Vec<(u32, u32)>,
}

impl OutputPins {
    /// `request` is that of an output; bit n of `levels` is the first level of the nth.
    pub fn open(root: &Path, lines: &[(&Name, u32)], levels: u64, request: &Request) -> Result<Self, Error> {
        let mut banks: Vec<OutputBank> = Vec::new();
        let mut board = None;
        for (n, (name, line)) in (0..).zip(lines) {
            let direction = Direction::Output(levels >> n & 1 == 1);
            let pin = Pin::open(name, root, *line, &Request { direction, ..*request })?;
            board = Some(pin.board());
            let (number, bit) = (line / BANK_LINES, (line % BANK_LINES, n));
            match banks.iter_mut().find(|bank| bank.number == number) {
                Some(bank) => {
                    bank.pins.push(pin);
                    bank.bits.push(bit);
                }
                None => banks.push(OutputBank { number, pins: vec![pin], bits: vec![bit] }),
            }
        }
        let none = || Error::NotFound { name: Name::Register(0), why: "a group without lines".into() };
        Ok(Self { board: board.ok_or_else(none)?, banks })
    }

    /// Of this board.
    pub fn board(&self) -> Board {
        self.board
    }

    /// Of each bank a store for those that become high, and one for those that become low.
    #[inline]
    pub fn write(&mut self, levels: u64, changed: u64) {
        for bank in &mut self.banks {
            let (mut high, mut low) = (0, 0);
            for (to, from) in &bank.bits {
                let (is_changed, level) = ((changed >> from & 1) as u32, (levels >> from & 1) as u32);
                high |= (is_changed & level) << to;
                low |= (is_changed & (1 - level)) << to;
            }
            bank.pins[0].write_bank(high, low);
        }
    }

    /// Drives them no more.
    pub fn let_go(&mut self) {
        self.banks.iter_mut().flat_map(|bank| &mut bank.pins).for_each(Pin::let_go);
    }
}
