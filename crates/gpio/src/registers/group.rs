//! Lines of registers that are read at once.

use std::path::Path;

use super::pin::Pin;
use crate::board::Board;
use crate::{Error, Name, Request};

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
