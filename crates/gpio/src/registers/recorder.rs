//! Registers that remember what was done to them.

use std::collections::BTreeMap;

use super::layout::Registers;

/// Words of memory that log each write.
#[derive(Default)]
pub struct Recorder {
    words: BTreeMap<usize, u32>,
    /// Every write so far: where, and what.
    pub writes: Vec<(usize, u32)>,
}

impl Recorder {
    /// Registers that hold these.
    pub fn holding(words: impl IntoIterator<Item = (usize, u32)>) -> Self {
        Self { words: words.into_iter().collect(), writes: Vec::new() }
    }
}

impl Registers for Recorder {
    fn read(&mut self, offset: usize) -> u32 {
        self.words.get(&offset).copied().unwrap_or(0)
    }

    fn write(&mut self, offset: usize, value: u32) {
        self.words.insert(offset, value);
        self.writes.push((offset, value));
    }
}
