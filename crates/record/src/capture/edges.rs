//! What edges say: how long a channel was high or low, how far its edges are apart, and when another channel answered.

use super::listener::{Level, Levels};

/// A time between two edges of a channel, in what the clock counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stretch {
    High(u64),
    Low(u64),
    /// From a rising edge to the next.
    Rises(u64),
    /// From a falling edge to the next.
    Falls(u64),
}

/// Edges of one channel. What begins before the first edge or ends after the last is cut off and left out.
#[derive(Debug, Default)]
pub(super) struct Edges {
    level: Level,
    rose: Option<u64>,
    fell: Option<u64>,
    pub count: u64,
    /// How often the level became unknown: what lasted then has no end.
    pub unknown: u64,
}

impl Edges {
    /// Takes in that the level is `level` from `at` on, and hands on what ended there, with when it had begun.
    #[inline]
    pub fn level(&mut self, at: u64, level: Level, mut ended: impl FnMut(u64, Stretch)) {
        let before = std::mem::replace(&mut self.level, level);
        match (before, level) {
            (Level::Low, Level::High) => {
                self.count += 1;
                if let Some(fell) = self.fell {
                    ended(fell, Stretch::Low(at - fell));
                }
                if let Some(rose) = self.rose.replace(at) {
                    ended(rose, Stretch::Rises(at - rose));
                }
            }
            (Level::High, Level::Low) => {
                self.count += 1;
                if let Some(rose) = self.rose {
                    ended(rose, Stretch::High(at - rose));
                }
                if let Some(fell) = self.fell.replace(at) {
                    ended(fell, Stretch::Falls(at - fell));
                }
            }
            (Level::Low | Level::High, Level::Unknown) => {
                self.unknown += 1;
                (self.rose, self.fell) = (None, None);
            }
            _ => {}
        }
    }
}

/// Which changes of an input count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Changes {
    /// From low to high.
    Rising,
    /// From high to low.
    Falling,
    /// Either.
    #[default]
    Both,
}

impl Changes {
    fn has(self, level: Level) -> bool {
        matches!((self, level), (Self::Both, _) | (Self::Rising, Level::High) | (Self::Falling, Level::Low))
    }
}

/// An output that answers an input: the first channel's changes, and when the second took the level that answers them.
#[derive(Debug)]
pub(super) struct Answers {
    changes: Changes,
    inverse: bool,
    levels: Levels,
    /// When the input changed last, if that is not answered, and the level of the answer.
    pending: Option<(u64, Level)>,
    /// Edges of both channels.
    pub edges: u64,
    /// Changes of the input that count.
    pub asked: u64,
    /// Changes after which the input changed again before the output had answered.
    pub missed: u64,
    pub unknown: u64,
}

impl Answers {
    pub fn new(changes: Changes, inverse: bool) -> Self {
        let levels = [Level::Unknown; 2];
        Self { changes, inverse, levels, pending: None, edges: 0, asked: 0, missed: 0, unknown: 0 }
    }

    /// Takes in the levels from `at` on, and hands on when a change was and how long its answer took.
    pub fn levels(&mut self, at: u64, levels: Levels, mut answered: impl FnMut(u64, u64)) {
        let before = std::mem::replace(&mut self.levels, levels);
        // An answer that comes as the input changes again is one to the change before.
        self.answer(at, before[1], &mut answered);
        self.ask(at, before[0]);
        self.answer(at, before[1], &mut answered);
        let is_edge = |i: &usize| before[*i].opposite() == levels[*i] && levels[*i] != Level::Unknown;
        self.edges += (0..2).filter(is_edge).count() as u64;
        let lost = |i: usize| before[i] != Level::Unknown && levels[i] == Level::Unknown;
        if lost(0) || lost(1) {
            self.unknown += 1;
            self.pending = None;
        }
    }

    fn ask(&mut self, at: u64, before: Level) {
        let now = self.levels[0];
        if before == now || before == Level::Unknown || now == Level::Unknown {
            return;
        }
        self.missed += u64::from(self.pending.take().is_some());
        if self.changes.has(now) {
            self.asked += 1;
            self.pending = Some((at, if self.inverse { now.opposite() } else { now }));
        }
    }

    fn answer(&mut self, at: u64, before: Level, answered: &mut impl FnMut(u64, u64)) {
        let now = self.levels[1];
        let answers = |(_, answer): &mut (u64, Level)| before != Level::Unknown && before != now && *answer == now;
        if let Some((asked, _)) = self.pending.take_if(answers) {
            answered(asked, at - asked);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOW: Level = Level::Low;
    const HIGH: Level = Level::High;

    fn stretches(levels: &[(u64, Level)]) -> (Vec<(u64, Stretch)>, Edges) {
        let (mut edges, mut all) = (Edges::default(), Vec::new());
        levels.iter().for_each(|(at, level)| edges.level(*at, *level, |from, stretch| all.push((from, stretch))));
        (all, edges)
    }

    #[test]
    fn what_is_cut_off_at_either_end_is_left_out() {
        let (all, edges) = stretches(&[(0, HIGH), (5, LOW), (9, HIGH), (12, LOW), (13, LOW), (20, HIGH)]);
        assert_eq!(
            all,
            [
                (5, Stretch::Low(4)),
                (9, Stretch::High(3)),
                (5, Stretch::Falls(7)),
                (12, Stretch::Low(8)),
                (9, Stretch::Rises(11))
            ]
        );
        assert_eq!((edges.count, edges.unknown), (4, 0));
        assert_eq!(stretches(&[(0, LOW), (5, HIGH)]).0, []);
    }

    #[test]
    fn nothing_is_measured_across_an_unknown_level() {
        let (all, edges) =
            stretches(&[(0, LOW), (2, HIGH), (4, Level::Unknown), (6, LOW), (8, HIGH), (9, LOW), (11, HIGH)]);
        assert_eq!(all, [(8, Stretch::High(1)), (9, Stretch::Low(2)), (8, Stretch::Rises(3))]);
        assert_eq!((edges.count, edges.unknown), (4, 1));
    }

    fn answers(changes: Changes, inverse: bool, levels: &[(u64, Level, Level)]) -> (Vec<(u64, u64)>, [u64; 3]) {
        let (mut answers, mut all) = (Answers::new(changes, inverse), Vec::new());
        for (at, input, output) in levels {
            answers.levels(*at, [*input, *output], |asked, took| all.push((asked, took)));
        }
        (all, [answers.asked, answers.missed, answers.unknown])
    }

    #[test]
    fn an_output_answers_with_the_level_of_the_input_or_its_opposite() {
        let follows = [(0, LOW, LOW), (10, HIGH, LOW), (13, HIGH, HIGH), (20, LOW, HIGH), (25, LOW, LOW)];
        assert_eq!(answers(Changes::Both, false, &follows), (vec![(10, 3), (20, 5)], [2, 0, 0]));
        assert_eq!(answers(Changes::Rising, false, &follows), (vec![(10, 3)], [1, 0, 0]));
        assert_eq!(answers(Changes::Falling, false, &follows), (vec![(20, 5)], [1, 0, 0]));
        let inverse = follows.map(|(at, input, output)| (at, input, output.opposite()));
        assert_eq!(answers(Changes::Both, true, &inverse), (vec![(10, 3), (20, 5)], [2, 0, 0]));
        assert_eq!(answers(Changes::Both, false, &inverse).0, []);
    }

    #[test]
    fn an_answer_that_does_not_come_before_the_next_change_is_missed() {
        let late = [(0, LOW, LOW), (10, HIGH, LOW), (12, LOW, LOW), (14, HIGH, LOW), (17, HIGH, HIGH)];
        assert_eq!(answers(Changes::Both, false, &late), (vec![(14, 3)], [3, 2, 0]));
    }

    #[test]
    fn changes_within_one_sample_are_answers() {
        assert_eq!(answers(Changes::Both, false, &[(0, LOW, LOW), (10, HIGH, HIGH)]), (vec![(10, 0)], [1, 0, 0]));
        // The answer to the change before comes as the input changes again.
        let both = [(0, LOW, LOW), (10, HIGH, LOW), (14, LOW, HIGH), (18, LOW, LOW)];
        assert_eq!(answers(Changes::Both, false, &both), (vec![(10, 4), (14, 4)], [2, 0, 0]));
    }

    #[test]
    fn an_unknown_level_ends_the_wait_for_an_answer() {
        let lost = [(0, LOW, LOW), (10, HIGH, LOW), (12, HIGH, Level::Unknown), (13, HIGH, HIGH)];
        assert_eq!(answers(Changes::Both, false, &lost), (vec![], [1, 0, 1]));
    }
}
