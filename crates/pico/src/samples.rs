//! What the Pico's PIO says of four lines, and the edges in it.
//!
//! The lines are sampled every tick, and eight samples are a word: the first in the lowest four bits. A word that equals
//! the one before is only counted; of another, first the number of equal words before it is reported, then the word.

use crate::LINES_OF_BANK;

/// Ticks in a word.
pub const TICKS: u64 = 8;

/// A word of samples that all have these levels.
pub fn steady(levels: u8) -> u32 {
    u32::from(levels) * 0x1111_1111
}

/// An edge: its tick, and the line within the bank.
pub type Change = (u64, u8);

/// Makes edges of reports, one report at a time.
#[derive(Debug, Clone)]
pub struct Decoder {
    /// The tick at which the word begins whose changes are taken.
    begin: u64,
    word: u32,
    /// Bits of the word that differ from the sample before, as far as they are not taken.
    changes: u32,
    /// What comes after this word, where its samples are not all the same: equal words have changes, too.
    then: Option<Then>,
}

/// Words that equal the one before, and each of which has these changes; and the word after them.
#[derive(Debug, Clone)]
struct Then {
    equal: u64,
    changes: u32,
    next: Option<u32>,
}

impl Decoder {
    /// Samples begin at this tick, on lines of these levels.
    pub fn new(begin: u64, levels: u8) -> Self {
        // As if there had been a word before the first one.
        Self { begin: begin.wrapping_sub(TICKS), word: steady(levels), changes: 0, then: None }
    }

    /// Takes the next report, when all changes of those before are taken. The PIO counts equal words downwards from 0.
    #[inline]
    pub fn take(&mut self, count: u32, word: u32) {
        let equal = 0_u32.wrapping_sub(count);
        let repeated = self.repeated();
        if repeated == 0 || equal == 0 {
            self.begin = self.begin.wrapping_add(u64::from(equal) * TICKS);
            self.go_on_to(word);
        } else {
            self.then = Some(Then { equal: u64::from(equal), changes: repeated, next: Some(word) });
        }
    }

    /// The PIO counts modulo 2^32, which is 275 s. How many of these have passed without a report is known by the time,
    /// roughly, at which the next one with this count is taken.
    #[cold]
    pub fn catch_up(&mut self, count: u32, now: u64) {
        let equal = u64::from(0_u32.wrapping_sub(count));
        let late = now.saturating_sub(self.begin.wrapping_add((equal + 1) * TICKS));
        let times = (late + (TICKS << 31)) >> 35;
        self.begin = self.begin.wrapping_add(times << 35);
    }

    /// Whether it was so long ago that [`catch_up`](Self::catch_up) may have something to do.
    #[inline]
    pub fn is_behind(&self, now: u64) -> bool {
        now.saturating_sub(self.begin) > TICKS << 31
    }

    /// Takes the number of equal words after the last report, when nothing more is sampled.
    pub fn end(&mut self, count: u32) {
        let equal = u64::from(0_u32.wrapping_sub(count));
        match self.repeated() {
            0 => self.begin = self.begin.wrapping_add(equal * TICKS),
            changes => self.then = Some(Then { equal, changes, next: None }),
        }
    }

    /// Changes of a word that equals this one, and follows it.
    #[inline]
    fn repeated(&self) -> u32 {
        self.word ^ self.word.rotate_left(4)
    }

    #[inline]
    fn go_on_to(&mut self, word: u32) {
        self.begin = self.begin.wrapping_add(TICKS);
        self.changes = word ^ (word << LINES_OF_BANK | self.word >> 28);
        self.word = word;
    }

    /// The next change of what was reported.
    #[inline]
    pub fn change(&mut self) -> Option<Change> {
        if self.changes == 0 && !self.repeat() {
            return None;
        }
        let place = self.changes.trailing_zeros();
        self.changes &= self.changes - 1;
        Some((self.begin.wrapping_add(u64::from(place >> 2)), place as u8 & 3))
    }

    #[inline]
    fn repeat(&mut self) -> bool {
        self.then.is_some() && self.go_on()
    }

    /// To the next word that has changes.
    #[cold]
    fn go_on(&mut self) -> bool {
        while let Some(then) = &mut self.then {
            if then.equal > 0 {
                then.equal -= 1;
                self.begin = self.begin.wrapping_add(TICKS);
                self.changes = then.changes;
                return true;
            }
            if let Some(word) = self.then.take().and_then(|then| then.next) {
                self.go_on_to(word);
            }
        }
        self.changes != 0
    }

    /// Leaves out all changes of what was reported: how many there were.
    pub fn leave_out(&mut self) -> u64 {
        let mut left_out = u64::from(self.changes.count_ones());
        self.changes = 0;
        if let Some(then) = self.then.take() {
            left_out += then.equal * u64::from(then.changes.count_ones());
            self.begin = self.begin.wrapping_add(then.equal * TICKS);
            if let Some(word) = then.next {
                self.go_on_to(word);
                left_out += u64::from(core::mem::take(&mut self.changes).count_ones());
            }
        }
        left_out
    }

    /// The levels of the lines after all that was reported.
    pub fn levels(&self) -> u8 {
        let next = self.then.as_ref().and_then(|then| then.next);
        (next.unwrap_or(self.word) >> 28) as u8
    }

    /// The tick up to which the changes of what was reported were taken.
    pub fn until(&self) -> u64 {
        self.begin.wrapping_add(TICKS)
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use proptest::prelude::*;

    use super::*;

    /// What the PIO reports of words: its program in Rust.
    fn reports(levels: u8, words: &[u32]) -> (Vec<(u32, u32)>, u32) {
        let (mut before, mut count, mut reports) = (steady(levels), 0_u32, Vec::new());
        for word in words {
            if *word == before {
                count = count.wrapping_sub(1);
            } else {
                reports.push((std::mem::take(&mut count), *word));
                before = *word;
            }
        }
        (reports, count)
    }

    /// The edges of samples.
    fn edges(begin: u64, levels: u8, samples: &[u8]) -> Vec<Change> {
        let before = std::iter::once(&levels).chain(samples);
        let each = before.zip(samples).enumerate().flat_map(|(tick, (before, now))| {
            (0..4).filter(move |line| (before ^ now) >> line & 1 == 1).map(move |line| (begin + tick as u64, line))
        });
        each.collect()
    }

    fn words(samples: &[u8]) -> Vec<u32> {
        samples.chunks(8).map(|eight| (0..8).fold(0, |word, n| word | u32::from(eight[n]) << (4 * n))).collect()
    }

    /// Runs of levels, most of them short and some of them repeated.
    fn samples() -> impl Strategy<Value = Vec<u8>> {
        let run = (0_u8..16, prop_oneof![1_usize..4, 1_usize..100]);
        let pattern = (proptest::collection::vec(run, 1..6), 1_usize..20).prop_map(|(runs, times)| {
            let once: Vec<u8> = runs.into_iter().flat_map(|(level, length)| std::vec![level; length]).collect();
            once.repeat(times)
        });
        proptest::collection::vec(pattern, 1..6).prop_map(|parts| {
            let mut samples = parts.concat();
            samples.truncate(samples.len() / 8 * 8);
            samples
        })
    }

    proptest! {
        #[test]
        fn all_edges_of_samples_are_found(begin in 0_u64..1 << 40, levels in 0_u8..16, samples in samples()) {
            let mut decoder = Decoder::new(begin, levels);
            let (reports, rest) = reports(levels, &words(&samples));
            let mut found = Vec::new();
            for (count, word) in reports {
                decoder.take(count, word);
                found.extend(std::iter::from_fn(|| decoder.change()));
            }
            decoder.end(rest);
            found.extend(std::iter::from_fn(|| decoder.change()));
            prop_assert_eq!(found, edges(begin, levels, &samples));
            prop_assert_eq!(decoder.until(), begin + samples.len() as u64);
            prop_assert_eq!(decoder.levels(), samples.last().copied().unwrap_or(levels));
        }

        #[test]
        fn what_is_left_out_is_counted(levels in 0_u8..16, samples in samples(), taken in 0_usize..20) {
            let mut decoder = Decoder::new(0, levels);
            let (reports, rest) = reports(levels, &words(&samples));
            let (mut taken, mut left_out) = (taken, 0);
            let mut found = 0;
            for (count, word) in reports {
                decoder.take(count, word);
                while taken > 0 && decoder.change().is_some() {
                    found += 1;
                    taken -= 1;
                }
                left_out += decoder.leave_out();
            }
            decoder.end(rest);
            left_out += decoder.leave_out();
            prop_assert_eq!(found + left_out, edges(0, levels, &samples).len() as u64);
            prop_assert_eq!(decoder.until(), samples.len() as u64);
        }
    }

    #[test]
    fn a_line_that_rests_for_minutes_keeps_its_time() {
        for minutes in [1_u64, 4, 5, 9, 10, 600] {
            let mut decoder = Decoder::new(0, 0);
            decoder.take(0, steady(1));
            assert_eq!(decoder.change(), Some((0, 0)));
            let equal = minutes * 60 * 125_000_000 / 8;
            let at = 8 * (equal + 1);
            // The report is read a second late, or was expected a little later.
            for now in [at + 125_000_000, at - 1_000_000] {
                let mut decoder = decoder.clone();
                let count = 0_u32.wrapping_sub(equal as u32);
                assert_eq!(decoder.is_behind(now), minutes > 2);
                decoder.catch_up(count, now);
                decoder.take(count, steady(0));
                assert_eq!(decoder.change(), Some((at, 0)), "{minutes} minutes");
            }
        }
    }
}
