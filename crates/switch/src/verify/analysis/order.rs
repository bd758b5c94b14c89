//! What came of a numbered flow: once, twice, late or never.

/// How far back a number may come and still be new.
const WINDOW: usize = 1 << 16;
const WORDS: usize = WINDOW / 64;

/// Numbers of one flow as they come in.
#[derive(Debug, Clone)]
pub struct Order {
    /// The number after the highest that came.
    next: u64,
    /// Which of the last numbers came; bit n belongs to the numbers that are n modulo the window.
    came: Box<[u64; WORDS]>,
    /// Numbers that came, each once.
    pub received: u64,
    /// Numbers that came again.
    pub duplicates: u64,
    /// Numbers that came after a higher one.
    pub out_of_order: u64,
    /// Numbers so far behind that it is not known whether they came before: counted as out of order, not as received.
    pub too_old: u64,
}

impl Default for Order {
    fn default() -> Self {
        Self { next: 0, came: Box::new([0; WORDS]), received: 0, duplicates: 0, out_of_order: 0, too_old: 0 }
    }
}

impl Order {
    /// Takes in a number.
    #[inline]
    pub fn take(&mut self, number: u64) {
        if number >= self.next {
            self.forget(number);
            self.next = number + 1;
        } else if self.next - number > WINDOW as u64 {
            self.too_old += 1;
            self.out_of_order += 1;
            return;
        } else if self.bit(number) {
            self.duplicates += 1;
            return;
        } else {
            self.out_of_order += 1;
        }
        let (word, bit) = place(number);
        self.came[word] |= bit;
        self.received += 1;
    }

    /// Makes room up to a new highest number.
    fn forget(&mut self, number: u64) {
        if number - self.next >= WINDOW as u64 {
            self.came.fill(0);
            return;
        }
        for gone in self.next..=number {
            let (word, bit) = place(gone);
            self.came[word] &= !bit;
        }
    }

    fn bit(&self, number: u64) -> bool {
        let (word, bit) = place(number);
        self.came[word] & bit != 0
    }
}

fn place(number: u64) -> (usize, u64) {
    let place = number as usize % WINDOW;
    (place / 64, 1 << (place % 64))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    fn counted(numbers: &[u64]) -> (u64, u64, u64, u64) {
        let mut order = Order::default();
        numbers.iter().for_each(|number| order.take(*number));
        (order.received, order.duplicates, order.out_of_order, order.too_old)
    }

    #[test]
    fn a_gap_is_not_disorder() {
        assert_eq!(counted(&[0, 1, 5, 6]), (4, 0, 0, 0));
        assert_eq!(counted(&[0, 2, 1, 1, 3]), (4, 1, 1, 0));
    }

    #[test]
    fn what_is_too_long_ago_is_not_counted_as_received() {
        assert_eq!(counted(&[0, 1 << 20, 3, (1 << 20) - 5]), (3, 0, 2, 1));
    }

    proptest! {
        #[test]
        fn as_counted_with_all_memory(numbers in prop::collection::vec(0u64..3 * WINDOW as u64, 0..300)) {
            let (mut seen, mut highest, mut expected) = (HashSet::new(), None, (0, 0, 0, 0));
            for number in &numbers {
                let behind = highest.is_some_and(|highest| *number < highest);
                if highest.is_some_and(|highest| highest + 1 - number.min(&highest) > WINDOW as u64) {
                    expected.2 += 1;
                    expected.3 += 1;
                } else if !seen.insert(*number) {
                    expected.1 += 1;
                } else {
                    expected.0 += 1;
                    expected.2 += u64::from(behind);
                }
                highest = highest.max(Some(*number));
            }
            prop_assert_eq!(counted(&numbers), expected);
        }
    }
}
