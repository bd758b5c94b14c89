//! What a loop does once its deadline has come: it follows a chain through its memory, each link on a cache line of its
//! own and in an order that no prefetcher guesses.

use super::memory::Memory;

/// Bytes of a cache line, or a part of one.
const LINE: usize = 64;
/// Words of a line.
const WORDS: usize = LINE / size_of::<u64>();

/// A chain through memory, which is only read once it is made.
pub(super) struct Work {
    memory: Memory,
    lines: usize,
}

impl Work {
    /// Through all of this memory.
    pub fn new(mut memory: Memory) -> Self {
        let words = memory.words();
        let lines = words.len() / WORDS;
        for (from, to) in chain(lines) {
            words[from * WORDS] = to as u64;
        }
        Self { memory, lines }
    }

    /// Follows the chain once. The value depends on every link, so that none is left out.
    #[inline(never)]
    pub fn run(&self) -> u64 {
        let words = self.memory.read();
        let (mut at, mut sum) = (0usize, 0u64);
        for _ in 0..self.lines {
            at = words[at * WORDS] as usize;
            sum = sum.rotate_left(1) ^ at as u64;
        }
        std::hint::black_box(sum)
    }
}

/// From each line to the next: one circle through all lines, the same in every run (Sattolo's shuffle).
fn chain(lines: usize) -> Vec<(usize, usize)> {
    let mut order: Vec<usize> = (0..lines).collect();
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    for i in (1..lines).rev() {
        // xorshift64
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        order.swap(i, (state % i as u64) as usize);
    }
    order.into_iter().enumerate().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chain_leads_once_through_every_line() {
        for lines in [1, 2, 7, 512] {
            let chain = chain(lines);
            let (mut at, mut seen) = (0, vec![false; lines]);
            for _ in 0..lines {
                at = chain[at].1;
                assert!(!std::mem::replace(&mut seen[at], true), "line {at} of {lines} twice");
            }
            assert_eq!(at, 0);
        }
        let near = chain(512).iter().filter(|(from, to)| from.abs_diff(*to) <= 1).count();
        assert!(near < 20, "a prefetcher would guess {near} of them");
    }

    #[test]
    fn work_gives_the_same_each_time_and_depends_on_every_line() {
        let of = |bytes| Work::new(Memory::small(bytes).unwrap());
        let work = of(8 << 10);
        assert_eq!((work.run(), work.lines), (work.run(), 128));
        let mut other = of(8 << 10);
        other.memory.words().swap(5 * WORDS, 9 * WORDS);
        assert_ne!(other.run(), work.run());
    }
}
