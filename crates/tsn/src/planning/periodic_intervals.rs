//! Busy times, as a stream of one period meets them.
//!
//! Two streams with periods P and Q meet at every distance that their starts can have modulo gcd(P, Q): no list of all
//! instants until both begin together again is needed to know when one is in the other's way.

/// Windows of one link at most: far more than any list holds ([`super::nodes::MOST_ENTRIES`]).
pub const MOST_ON_LINK: u64 = 1 << 16;

/// Copies are put among others one by one where there are so many times more of those.
const FEW: usize = 16;

/// Busy times modulo a period.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeriodicIntervals {
    period_ns: u64,
    /// Copies that were added, merged with others or not. A stream of this period would need a window for each of them in
    /// the list of its link.
    copies: u64,
    /// Begin and end, apart from each other and in order; none crosses the end of the period.
    busy: Vec<(u64, u64)>,
}

/// Greatest common divisor.
pub fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

impl PeriodicIntervals {
    /// All free.
    pub fn new(period_ns: u64) -> Self {
        Self { period_ns, copies: 0, busy: Vec::new() }
    }

    /// Never free: with these, no distance between two starts is long enough, or no list.
    fn all(&mut self) {
        self.busy = vec![(0, self.period_ns)];
    }

    /// Busy from `begin_ns` on for `length_ns`, and so again `every_ns`.
    pub fn add(&mut self, begin_ns: u64, length_ns: u64, every_ns: u64) {
        let common = gcd(self.period_ns, every_ns);
        if length_ns == 0 {
            return;
        }
        // Its own window is one of them.
        self.copies = self.copies.saturating_add(self.period_ns / common);
        if length_ns >= common || self.copies >= MOST_ON_LINK {
            return self.all();
        }
        let (period_ns, copies) = (self.period_ns, self.period_ns / common);
        let begin = begin_ns % common;
        let end = begin + length_ns;
        // What crosses the end of the period comes in two parts.
        if end > common {
            self.insert(0, end - common);
        }
        let copy = |n: usize| {
            let before = n as u64 * common;
            (before + begin, (before + end).min(period_ns))
        };
        let all = (0..copies as usize).map(copy);
        // Few copies among many others: moving what is behind each is less than looking at all.
        match copies == 1 || copies as usize <= self.busy.len() / FEW {
            true => all.for_each(|(begin, end)| self.insert(begin, end)),
            false => self.merge(all),
        }
    }

    fn insert(&mut self, begin: u64, end: u64) {
        let first = self.busy.partition_point(|busy| busy.1 < begin);
        let behind = first + self.busy[first..].partition_point(|busy| busy.0 <= end);
        if first == behind {
            return self.busy.insert(first, (begin, end));
        }
        let joined = (begin.min(self.busy[first].0), end.max(self.busy[behind - 1].1));
        self.busy[first] = joined;
        self.busy.drain(first + 1..behind);
    }

    /// Puts many, which come in order, among those that are there, from the last to the first: each moves once.
    fn merge(&mut self, added: impl ExactSizeIterator<Item = (u64, u64)> + DoubleEndedIterator) {
        let mut left = self.busy.len();
        let mut place = left + added.len();
        self.busy.resize(place, (0, 0));
        for one in added.rev() {
            while left > 0 && self.busy[left - 1] > one {
                (left, place) = (left - 1, place - 1);
                self.busy[place] = self.busy[left];
            }
            place -= 1;
            self.busy[place] = one;
        }
        self.busy.dedup_by(|next, last| {
            let touches = next.0 <= last.1;
            if touches {
                last.1 = last.1.max(next.1);
            }
            touches
        });
    }

    /// How long after `at_ns` there is `length_ns` of free time at a stretch; nothing where there never is.
    pub fn wait(&self, at_ns: u64, length_ns: u64) -> Option<u64> {
        self.wait_near(at_ns, length_ns, &mut 0)
    }

    /// As [`Self::wait`], for many looks at times one behind the other: `near` is the busy time at which the look before
    /// ended, at first 0. It saves time where it is right, and changes nothing where it is not.
    pub fn wait_near(&self, at_ns: u64, length_ns: u64, near: &mut usize) -> Option<u64> {
        if length_ns > self.period_ns {
            return None;
        }
        if self.busy.is_empty() {
            return Some(0);
        }
        let from = at_ns % self.period_ns;
        let first = self.first_until(from, *near);
        let mut free = from;
        // Once around, and into the next period: the first busy time may begin before `from`.
        for n in first..=first + self.busy.len() {
            let (offset, place) = match n.checked_sub(self.busy.len()) {
                Some(place) if place < self.busy.len() => (self.period_ns, place),
                Some(_) => (2 * self.period_ns, 0),
                None => (0, n),
            };
            let (begin, end) = (self.busy[place].0 + offset, self.busy[place].1 + offset);
            if begin >= free + length_ns {
                *near = place;
                return Some(free - from);
            }
            free = free.max(end);
        }
        None
    }

    /// The first busy time that ends behind `at`, or how many there are; looked for from `near` on in steps that double.
    fn first_until(&self, at: u64, near: usize) -> usize {
        let is_over = |busy: &(u64, u64)| busy.1 <= at;
        if near == 0 || !self.busy.get(near - 1).is_some_and(is_over) {
            return self.busy.partition_point(is_over);
        }
        let (mut over, mut next, mut step) = (near, near, 1);
        while self.busy.get(next).is_some_and(is_over) {
            over = next + 1;
            next += step;
            step *= 2;
        }
        over + self.busy[over..next.min(self.busy.len())].partition_point(is_over)
    }

    /// Whether `length_ns` from `at_ns` on are free.
    pub fn is_free(&self, at_ns: u64, length_ns: u64) -> bool {
        self.wait(at_ns, length_ns) == Some(0)
    }

    /// Busy times, in order.
    pub fn busy(&self) -> &[(u64, u64)] {
        &self.busy
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Instants of a period that are busy, one by one.
    fn marked(period: u64, added: &[(u64, u64, u64)]) -> Vec<bool> {
        let mut busy = vec![false; period as usize];
        for &(begin, length, every) in added {
            // All meetings of two periods happen within their product.
            for n in 0..period {
                for instant in 0..length {
                    busy[((begin + n * every + instant) % period) as usize] = true;
                }
            }
        }
        busy
    }

    proptest! {
        #[test]
        fn as_marking_each_instant(
            period in 1u64..60,
            added in prop::collection::vec((0u64..100, 1u64..6, 1u64..60), 0..5),
            at in 0u64..120,
            length in 1u64..20,
        ) {
            let mut intervals = PeriodicIntervals::new(period);
            for &(begin, length, every) in &added {
                intervals.add(begin, length, every);
            }
            let busy = marked(period, &added);
            let free = |from: u64| length <= period && (0..length).all(|n| !busy[((from + n) % period) as usize]);
            prop_assert_eq!(intervals.wait(at, length), (0..period).find(|wait| free(at + wait)));
            prop_assert!(intervals.busy().windows(2).all(|pair| pair[0].1 < pair[1].0), "{:?}", intervals.busy());
        }
    }

    /// What no list could hold takes no memory either.
    #[test]
    fn busy_times_are_no_more_than_a_list_has_windows() {
        let with = |copies: u64| {
            let mut intervals = PeriodicIntervals::new(1_000 * copies);
            intervals.add(0, 500, 1_000);
            intervals
        };
        let most = MOST_ON_LINK - 1;
        assert_eq!((with(most).busy().len() as u64, with(most).wait(0, 500)), (most, Some(500)));
        assert_eq!((with(most + 1).busy().len(), with(most + 1).wait(0, 1)), (1, None));
        // Of several streams together, and for good.
        let mut intervals = with(most);
        intervals.add(600, 1, 1_000 * most);
        assert_eq!((intervals.busy().len(), intervals.wait(0, 1)), (1, None));
        intervals.add(0, 1, 1_000);
        assert_eq!(intervals.busy().len(), 1);
    }

    #[test]
    fn periods_with_nothing_in_common_share_nothing() {
        let mut intervals = PeriodicIntervals::new(1_000_003);
        intervals.add(0, 672, 1_000_000);
        assert_eq!(intervals.wait(0, 672), None);
        // A common divisor of 1 us is enough for two short frames, and not for two long ones.
        let mut intervals = PeriodicIntervals::new(3_000);
        intervals.add(0, 400, 2_000);
        assert_eq!(intervals.wait(0, 600), Some(400));
        assert_eq!(intervals.wait(0, 601), None);
    }

    #[test]
    fn a_whole_period_is_free_where_nobody_is_and_no_longer_time() {
        let mut intervals = PeriodicIntervals::new(10);
        assert_eq!([1, 9, 10, 11, 12].map(|length| intervals.wait(3, length)), [Some(0), Some(0), Some(0), None, None]);
        intervals.add(4, 1, 10);
        assert_eq!([9, 10].map(|length| intervals.wait(3, length)), [Some(2), None]);
        assert!(intervals.is_free(5, 9) && !intervals.is_free(5, 10) && !intervals.is_free(4, 1));
    }

    /// Wherever the look before ended, and also where it ended in other times.
    #[test]
    fn looks_that_begin_near_by_find_the_same() {
        let mut random = super::super::random::Random::new(7);
        let mut ahead = 0;
        for _ in 0..300 {
            let period = 500 + random.below(500);
            let mut intervals = PeriodicIntervals::new(period);
            for _ in 0..random.below(60) {
                intervals.add(random.below(period), 1 + random.below(9), period);
            }
            let (mut at, mut near) = (0, 0);
            for _ in 0..40 {
                let length = 1 + random.below(20);
                let before = near;
                let wait = intervals.wait_near(at, length, &mut near);
                assert_eq!(wait, intervals.wait(at, length), "{at} {length} {before}: {intervals:?}");
                let mut anywhere = random.below(90) as usize;
                assert_eq!(intervals.wait_near(at, length, &mut anywhere), wait, "{at} {length}: {intervals:?}");
                ahead += usize::from(near > before + 1);
                at += wait.unwrap_or(0) + random.below(period / 9);
            }
        }
        assert!(ahead > 1_000, "{ahead}");
    }

    /// The same as the drawn ones above, always.
    #[test]
    fn busy_times_that_touch_become_one() {
        let mut random = super::super::random::Random::new(3);
        for _ in 0..1_500 {
            let period = 1 + random.below(40);
            let mut intervals = PeriodicIntervals::new(period);
            let mut added = Vec::new();
            for _ in 0..random.below(6) {
                let every = if random.below(2) == 0 { period } else { 1 + random.below(40) };
                added.push((random.below(80), 1 + random.below(6), every));
                let (begin, length, every) = added[added.len() - 1];
                intervals.add(begin, length, every);
            }
            let busy = marked(period, &added);
            assert!(intervals.busy().windows(2).all(|pair| pair[0].1 < pair[1].0), "{:?}", intervals.busy());
            for at in 0..period {
                let is_busy = intervals.busy().iter().any(|(from, until)| (*from..*until).contains(&at));
                assert_eq!(is_busy, busy[at as usize], "{at}: {intervals:?} {added:?}");
            }
            for length in [1, period.div_ceil(3), period.div_ceil(2), period] {
                let free = |from: u64| (0..length).all(|n| !busy[((from + n) % period) as usize]);
                let at = random.below(period);
                assert_eq!(intervals.wait(at, length), (0..period).find(|wait| free(at + wait)), "{at} {length}");
            }
        }
    }
}
