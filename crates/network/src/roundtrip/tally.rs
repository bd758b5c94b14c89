//! Which requests were answered, and which answers were none that was waited for.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

/// What became of the requests of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Requests that were handed over.
    pub sent: u64,
    /// Requests that the kernel did not take.
    pub refused: u64,
    /// Periods without a request, because the requester was held up.
    pub skipped: u64,
    /// Answers that were there when the next request was due.
    pub answered: u64,
    /// Of those: answers beyond the deadline.
    pub late: u64,
    /// Answers that came after the next request was due.
    pub overdue: u64,
    /// Answers to a request that was answered before.
    pub duplicates: u64,
    /// Answers that came after that to a later request.
    pub out_of_order: u64,
    /// Answers with another tag than their request, or shorter, or from another station.
    pub changed: u64,
    /// Messages of others.
    pub strays: u64,
    /// Frames that came and found no room.
    pub overflowed: u64,
}

/// What an answer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// To the request that was sent last, and the first to it.
    Awaited,
    /// To an earlier one, and the first to it.
    Overdue,
    /// One more.
    Duplicate,
    /// To a request that was never sent.
    Unknown,
}

/// The last requests, and which of them are answered.
#[derive(Debug, Clone, Copy, Default)]
pub struct Window {
    /// Number of the next request.
    next: u64,
    /// Bit 0 is the last request, bit 1 the one before.
    answered: u64,
    /// One more than the latest that was answered.
    latest: u64,
}

impl Window {
    /// A request is sent; its number.
    #[inline]
    pub fn send(&mut self) -> u64 {
        let number = self.next;
        self.next += 1;
        self.answered <<= 1;
        number
    }

    /// An answer came; what it is, and whether an answer to a later request came before it.
    #[inline]
    pub fn answer(&mut self, number: u64) -> (Answer, bool) {
        let Some(back) = self.next.checked_sub(number.saturating_add(1)) else { return (Answer::Unknown, false) };
        let bit = 1u64.checked_shl(back.min(u64::from(u32::MAX)) as u32).unwrap_or(0);
        if self.answered & bit != 0 {
            return (Answer::Duplicate, false);
        }
        self.answered |= bit;
        let is_behind = number + 1 < self.latest;
        self.latest = self.latest.max(number + 1);
        (if back == 0 { Answer::Awaited } else { Answer::Overdue }, is_behind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_answer_is_awaited_overdue_or_one_more() {
        let mut window = Window::default();
        assert_eq!(window.answer(0), (Answer::Unknown, false));
        assert_eq!([window.send(), window.send(), window.send()], [0, 1, 2]);
        assert_eq!(window.answer(2), (Answer::Awaited, false));
        assert_eq!(window.answer(2), (Answer::Duplicate, false));
        assert_eq!(window.answer(0), (Answer::Overdue, true));
        assert_eq!((window.answer(0), window.answer(1)), ((Answer::Duplicate, false), (Answer::Overdue, true)));
        assert_eq!(window.answer(3), (Answer::Unknown, false));
        (3..70).for_each(|number| assert_eq!(window.send(), number));
        assert_eq!(window.answer(68), (Answer::Overdue, false));
        assert_eq!(window.answer(69), (Answer::Awaited, false));
        // Longer ago than anybody remembers.
        assert_eq!(window.answer(2), (Answer::Overdue, true));
    }

    proptest! {
        #[test]
        fn any_number_is_survived(numbers in prop::collection::vec(any::<u64>(), 0..50), sends in 0u64..100) {
            let mut window = Window::default();
            (0..sends).for_each(|_| _ = window.send());
            for number in numbers {
                prop_assert_eq!(window.answer(number).0 == Answer::Unknown, number >= sends);
            }
        }
    }
}
