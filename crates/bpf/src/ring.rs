//! A ring of records that programs on all CPUs write, and this process reads. It is memory and nothing more: where the
//! kernel's own ring (Documentation/bpf/ringbuf.rst) takes a lock and calls two functions for each record, a program adds
//! one to a number here.

use std::io;
use std::os::fd::AsRawFd;

use crate::instruction::{
    ADD, ADD_REGISTER, AND, ATOMIC_64, ATOMIC_EXCHANGE, ATOMIC_FETCH_ADD, LOAD_IMMEDIATE_64, MAP_VALUE, MOVE, OR, SET,
    SHIFT_LEFT,
};
use crate::map::Shared;
use crate::records::{Reader, WORDS};
use crate::{Instruction, instruction};

/// Octets of a record.
const RECORD: usize = WORDS * 8;

/// Programs write, this process reads.
#[derive(Debug)]
pub struct Ring {
    /// How many records were begun.
    taken: Shared,
    records: Shared,
    places: usize,
    reader: Reader,
}

impl Ring {
    /// One of so many octets, a power of two.
    pub fn new(size: usize) -> io::Result<Self> {
        let places = (size / RECORD).max(1).next_power_of_two();
        let (taken, records) = (Shared::new(1)?, Shared::new(places * WORDS)?);
        Ok(Self { taken, records, places, reader: Reader::default() })
    }

    /// Begins a record in a program: where it is, to a register, and its number, to another. Changes register 1.
    pub fn begin(&self, place: u8, number: u8) -> Vec<Instruction> {
        let address = |shared: &Shared| {
            [instruction(LOAD_IMMEDIATE_64, 1, MAP_VALUE, 0, shared.map().as_raw_fd()), instruction(0, 0, 0, 0, 0)]
        };
        let take = [instruction(SET, number, 0, 0, 1), instruction(ATOMIC_64, 1, number, 0, ATOMIC_FETCH_ADD)];
        let find = [
            instruction(MOVE, place, number, 0, 0),
            instruction(AND, place, 0, 0, self.places as i32 - 1),
            instruction(SHIFT_LEFT, place, 0, 0, RECORD.trailing_zeros() as i32),
            instruction(ADD_REGISTER, place, 1, 0, 0),
        ];
        [&address(&self.taken)[..], &take, &address(&self.records), &find].concat()
    }

    /// Ends it, with what a register has in its lower half as half of the last word. Changes that register and the number's.
    pub fn end(place: u8, number: u8, half: u8) -> [Instruction; 4] {
        [
            instruction(ADD, number, 0, 0, 1),
            instruction(SHIFT_LEFT, number, 0, 0, 32),
            instruction(OR, half, number, 0, 0),
            instruction(ATOMIC_64, place, half, RECORD as i16 - 8, ATOMIC_EXCHANGE),
        ]
    }

    /// What was written since, and how many records were lost.
    pub fn take(&mut self, found: impl FnMut([u64; WORDS])) -> u64 {
        self.reader.take(self.places as u64, self.taken.word(0), |word| self.records.word(word), found)
    }
}
