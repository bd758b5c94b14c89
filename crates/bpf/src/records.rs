//! How records are taken out of places that others write, who never wait: the newest take the place of the oldest.

use std::sync::atomic::{AtomicU64, Ordering, fence};

/// The words of a record. Whoever writes one first takes its number, by adding one to how many were taken, then writes the
/// words, and the last of them behind the others, with the number, from 1, in its upper half.
pub const WORDS: usize = 4;

/// How far this process has read.
#[derive(Debug, Default)]
pub struct Reader {
    next: u64,
    /// This record was not whole when all before it had been read.
    awaited: Option<u64>,
}

enum Place {
    Whole([u64; WORDS]),
    Unfinished,
    Overwritten,
}

impl Reader {
    /// Hands on what was written since, record by record, up to one that is being written; where that is still so the next
    /// time, it is given up. Returns how many were lost.
    pub fn take<'a>(
        &mut self,
        places: u64,
        taken: &AtomicU64,
        word: impl Fn(usize) -> &'a AtomicU64,
        mut found: impl FnMut([u64; WORDS]),
    ) -> u64 {
        let end = taken.load(Ordering::Relaxed);
        let oldest = end.saturating_sub(places).max(self.next);
        let mut lost = oldest - self.next;
        self.next = oldest;
        while self.next < end {
            match look(self.next, places, taken, &word) {
                Place::Whole(record) => found(record),
                Place::Unfinished if self.awaited != Some(self.next) => {
                    self.awaited = Some(self.next);
                    return lost;
                }
                Place::Unfinished | Place::Overwritten => lost += 1,
            }
            self.next += 1;
        }
        lost
    }
}

fn look<'a>(number: u64, places: u64, taken: &AtomicU64, word: impl Fn(usize) -> &'a AtomicU64) -> Place {
    let first = (number % places) as usize * WORDS;
    // Acquire: the other words are seen after this one says that they are there.
    let last = word(first + WORDS - 1).load(Ordering::Acquire);
    let record = std::array::from_fn(|n| match n {
        n if n == WORDS - 1 => last,
        n => word(first + n).load(Ordering::Relaxed),
    });
    // Whoever writes here again has taken a number before.
    fence(Ordering::Acquire);
    if taken.load(Ordering::Relaxed) - number > places {
        return Place::Overwritten;
    }
    match (last >> 32) as u32 == (number + 1) as u32 {
        true => Place::Whole(record),
        false => Place::Unfinished,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACES: u64 = 4;

    #[derive(Default)]
    struct Written {
        taken: AtomicU64,
        words: [AtomicU64; PLACES as usize * WORDS],
        reader: Reader,
    }

    impl Written {
        fn begin(&self) -> u64 {
            self.taken.fetch_add(1, Ordering::Relaxed)
        }

        fn finish(&self, number: u64) {
            let first = (number % PLACES) as usize * WORDS;
            self.words[first].store(number, Ordering::Relaxed);
            self.words[first + WORDS - 1].store((number + 1) << 32, Ordering::Relaxed);
        }

        fn write(&self, records: u64) {
            (0..records).for_each(|_| self.finish(self.begin()));
        }

        /// The numbers of the records that are found, and how many were lost.
        fn take(&mut self) -> (Vec<u64>, u64) {
            let mut found = Vec::new();
            let lost = self.reader.take(PLACES, &self.taken, |word| &self.words[word], |record| found.push(record[0]));
            (found, lost)
        }
    }

    #[test]
    fn what_there_was_no_room_for_is_counted() {
        let mut written = Written::default();
        assert_eq!(written.take(), (vec![], 0));
        written.write(4);
        assert_eq!(written.take(), (vec![0, 1, 2, 3], 0));
        written.write(11);
        assert_eq!(written.take(), (vec![11, 12, 13, 14], 7));
        assert_eq!(written.take(), (vec![], 0));
    }

    #[test]
    fn one_that_is_being_written_is_waited_for_once() {
        let mut written = Written::default();
        let begun = written.begin();
        written.write(1);
        assert_eq!(written.take(), (vec![], 0));
        written.finish(begun);
        assert_eq!(written.take(), (vec![0, 1], 0));
        let begun = written.begin();
        written.write(2);
        assert_eq!(written.take(), (vec![], 0));
        assert_eq!(written.take(), (vec![3, 4], 1), "it is given up");
        written.finish(begun);
        written.write(1);
        assert_eq!(written.take(), (vec![5], 0));
    }

    /// Numbers are told apart by their lower halves.
    #[test]
    fn numbers_beyond_half_a_word_are_read() {
        let mut written = Written::default();
        let many = u64::from(u32::MAX) - 1;
        written.taken.store(many, Ordering::Relaxed);
        written.reader.next = many;
        written.write(4);
        assert_eq!(written.take(), ((many..many + 4).collect(), 0));
    }
}
