//! Sequence recovery: of each numbered frame the first copy passes (IEEE 802.1CB-2017 clause 7.4.3.4, the vector recovery
//! algorithm).
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

use ontick_tsn::model::Elimination;

/// What came lately of one stream, by all of its paths.
#[derive(Debug)]
pub struct Recovery {
    /// How many numbers are remembered, 2 to 128.
    length: u32,
    timeout_ns: u64,
    /// The highest number that was accepted.
    number: u16,
    /// Bit n: `number` - n has come.
    history: u128,
    /// So many numbers up to `number` are known to have been sent.
    known: u32,
    /// When a frame was accepted last; nothing while any number is.
    accepted_ns: Option<u64>,
}

/// What becomes of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is the first with its number.
    Accepted {
        /// Its number does not follow that of the one before.
        out_of_order: bool,
        /// Numbers that have not come and would not be accepted any more.
        lost: u32,
    },
    /// Its number has come before.
    Duplicate,
    /// Its number is too far from those that came lately.
    Rogue,
}

impl Recovery {
    pub fn new(elimination: &Elimination) -> Self {
        Self {
            length: elimination.history_length,
            timeout_ns: elimination.reset_timeout_ns,
            number: 0,
            history: 0,
            known: 0,
            accepted_ns: None,
        }
    }

    /// Whether it remembers as much, and for as long.
    pub fn is_like(&self, other: &Self) -> bool {
        (self.length, self.timeout_ns) == (other.length, other.timeout_ns)
    }

    /// Whether nothing was accepted for so long that any number is again, from then on (clause 7.4.3.3).
    #[inline]
    pub fn times_out(&mut self, now_ns: u64) -> bool {
        let is_over = self.accepted_ns.is_some_and(|last_ns| now_ns.saturating_sub(last_ns) >= self.timeout_ns);
        if is_over {
            (self.history, self.known, self.accepted_ns) = (0, 0, None);
        }
        is_over
    }

    /// A frame with this number came.
    #[inline]
    pub fn receive(&mut self, number: u16, now_ns: u64) -> Verdict {
        if self.accepted_ns.is_none() {
            (self.number, self.history, self.known) = (number, 1, 1);
            self.accepted_ns = Some(now_ns);
            return Verdict::Accepted { out_of_order: false, lost: 0 };
        }
        let ahead = i32::from(number.wrapping_sub(self.number) as i16);
        let distance = ahead.unsigned_abs();
        if distance >= self.length {
            return Verdict::Rogue;
        }
        let mut lost = 0;
        if ahead <= 0 {
            if self.history & (1 << distance) != 0 {
                return Verdict::Duplicate;
            }
            self.history |= 1 << distance;
            self.known = self.known.max(distance + 1);
        } else {
            lost = self.leaving(distance);
            self.history = self.history << distance | 1;
            self.number = number;
            self.known = (self.known + distance).min(self.length);
        }
        self.accepted_ns = Some(now_ns);
        Verdict::Accepted { out_of_order: ahead != 1, lost }
    }

    /// Of the oldest numbers, which are about to be forgotten, those that never came.
    fn leaving(&self, count: u32) -> u32 {
        let missing = |place: &u32| self.history & (1 << place) == 0;
        (self.length - count..self.known.min(self.length)).filter(missing).count() as u32
    }

    /// It is another time than it was.
    pub fn clock_was_set(&mut self, now_ns: u64) {
        self.accepted_ns = self.accepted_ns.map(|_| now_ns);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn recovery(history_length: u32) -> Recovery {
        Recovery::new(&Elimination { history_length, reset_timeout_ns: 1_000, ..Elimination::default() })
    }

    fn accepted(out_of_order: bool, lost: u32) -> Verdict {
        Verdict::Accepted { out_of_order, lost }
    }

    #[test]
    fn of_each_number_the_first_copy_passes() {
        let mut recovery = recovery(8);
        let verdicts: Vec<Verdict> = [5, 5, 6, 7, 6, 9, 8, 8].map(|number| recovery.receive(number, 0)).to_vec();
        let (first, twice, jump) = (accepted(false, 0), Verdict::Duplicate, accepted(true, 0));
        assert_eq!(verdicts, [first, twice, first, first, twice, jump, jump, twice]);
    }

    #[test]
    fn numbers_go_on_behind_the_last() {
        let mut recovery = recovery(4);
        let verdicts = [65_534, 65_535, 0, 65_535, 1].map(|number| recovery.receive(number, 0));
        let first = accepted(false, 0);
        assert_eq!(verdicts, [first, first, first, Verdict::Duplicate, first]);
    }

    #[test]
    fn what_is_too_far_from_the_last_is_a_rogue() {
        let mut recovery = recovery(4);
        recovery.receive(100, 0);
        let verdicts = [104, 96, 97, 103].map(|number| recovery.receive(number, 0));
        assert_eq!(verdicts[..2], [Verdict::Rogue, Verdict::Rogue]);
        assert_eq!(verdicts[2], accepted(true, 0));
        // 97 to 99 leave, and 97 has come.
        assert_eq!(verdicts[3], accepted(true, 2));
    }

    #[test]
    fn after_a_silence_any_number_is_accepted() {
        let mut recovery = recovery(4);
        assert!(!recovery.times_out(50_000), "none has come");
        recovery.receive(100, 50_000);
        assert!(!recovery.times_out(50_999));
        assert_eq!(recovery.receive(7, 50_999), Verdict::Rogue, "which is no sign of life");
        assert!(recovery.times_out(51_000) && !recovery.times_out(51_000));
        assert_eq!(recovery.receive(7, 51_000), accepted(false, 0));
        recovery.clock_was_set(10);
        assert!(!recovery.times_out(1_009) && recovery.times_out(1_010));
    }

    /// The rules of clause 7.4.3.4 one after the other, with a list for the history.
    struct Model {
        length: i64,
        take_any: bool,
        number: i64,
        history: Vec<bool>,
        remaining_ns: u64,
    }

    impl Model {
        fn reset(&mut self) {
            (self.take_any, self.number) = (true, 65_535);
            self.history = vec![false; self.length as usize];
        }

        fn pass(&mut self, ns: u64) -> bool {
            self.remaining_ns = self.remaining_ns.saturating_sub(ns);
            let over = self.remaining_ns == 0 && !self.take_any;
            if over {
                self.reset();
            }
            over
        }

        fn shift(&mut self, came: bool) {
            self.history.pop();
            self.history.insert(0, came);
        }

        /// Whether it is accepted and out of order, and whether it is a rogue.
        fn receive(&mut self, number: u16) -> (bool, bool, bool) {
            let mut ahead = (i64::from(number) - self.number).rem_euclid(65_536);
            if ahead >= 32_768 {
                ahead -= 65_536;
            }
            if self.take_any {
                self.take_any = false;
                self.history[0] = true;
                self.number = number.into();
                self.remaining_ns = 1_000;
                return (true, false, false);
            }
            if ahead >= self.length || ahead <= -self.length {
                return (false, false, true);
            }
            if ahead <= 0 {
                let place = &mut self.history[-ahead as usize];
                if std::mem::replace(place, true) {
                    return (false, false, false);
                }
                self.remaining_ns = 1_000;
                return (true, true, false);
            }
            let out_of_order = ahead != 1;
            (1..ahead).for_each(|_| self.shift(false));
            self.shift(true);
            self.number = number.into();
            self.remaining_ns = 1_000;
            (true, out_of_order, false)
        }
    }

    proptest! {
        #[test]
        fn it_does_what_the_rules_say(
            length in 2u32..=128,
            begin: u16,
            steps in prop::collection::vec((-140i32..140, prop_oneof![20 => 0u64..20, 1 => 900u64..1_100]), 1..200),
        ) {
            let mut recovery = recovery(length);
            let mut model = Model { length: length.into(), take_any: true, number: 65_535, history: Vec::new(), remaining_ns: 0 };
            model.reset();
            let (mut number, mut now_ns) = (begin, 0);
            for (step, pause_ns) in steps {
                now_ns += pause_ns;
                let over = model.pass(pause_ns);
                prop_assert_eq!(recovery.times_out(now_ns), over);
                // Forwards more than back.
                let at = number.wrapping_add_signed((step / 10) as i16).wrapping_add_signed(if step % 7 == 0 { step as i16 } else { 0 });
                number = if step > -30 { at } else { number };
                let verdict = recovery.receive(at, now_ns);
                let expected = model.receive(at);
                let is = match verdict {
                    Verdict::Accepted { out_of_order, .. } => (true, out_of_order, false),
                    Verdict::Duplicate => (false, false, false),
                    Verdict::Rogue => (false, false, true),
                };
                prop_assert_eq!(is, expected, "{} at {}", at, now_ns);
            }
        }

        /// Two paths of different length, of which each loses some: what came by either passes once, all others are lost.
        #[test]
        fn what_comes_by_either_path_passes_once(
            begin: u16,
            behind in 0usize..30,
            paths in prop::collection::vec((any::<bool>(), any::<bool>()), 40..300),
        ) {
            let mut recovery = recovery(64);
            let (mut passed, mut lost) = (Vec::new(), 0);
            // The first and the last come, so that every number between is known.
            let came = |path: usize, n: usize| n == 0 || n + 1 >= paths.len() || [paths[n].0, paths[n].1][path];
            let mut receive = |n: usize| {
                if let Verdict::Accepted { lost: gone, .. } = recovery.receive(begin.wrapping_add(n as u16), 0) {
                    passed.push(n);
                    lost += gone;
                }
            };
            for n in 0..paths.len() + behind {
                if n < paths.len() && came(0, n) {
                    receive(n);
                }
                if let Some(n) = n.checked_sub(behind).filter(|n| came(1, *n)) {
                    receive(n);
                }
            }
            let last = paths.len();
            (last..last + 64).for_each(&mut receive);
            passed.retain(|n| *n < last);
            passed.sort_unstable();
            let expected: Vec<usize> = (0..last).filter(|n| came(0, *n) || came(1, *n)).collect();
            prop_assert_eq!(lost as usize, last - expected.len());
            prop_assert_eq!(passed, expected);
        }
    }
}
