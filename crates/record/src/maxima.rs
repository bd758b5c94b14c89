//! The largest latency over time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The largest latency in each stretch of `step_ns`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Maxima {
    /// Length of a stretch: 1 s, doubled each time that a run outgrows the track.
    pub step_ns: u64,
    /// One per stretch, in ns; 0 where there was no sample.
    pub max_ns: Vec<u64>,
    /// Stretches that are shorter than `step_ns`, as the last one of a run or block is: index and length in ns,
    /// ascending.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub short: Vec<(u64, u64)>,
}

/// A part of a run and its largest latency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    /// Since the series began, in ns.
    pub from_ns: u64,
    /// How long it is, in ns.
    pub length_ns: u64,
    /// The largest latency, in ns; 0 where there was no sample.
    pub max_ns: u64,
}

impl Maxima {
    /// The stretches in time order.
    pub fn stretches(&self) -> impl Iterator<Item = Stretch> {
        let (mut short, mut from_ns) = (self.short.iter().peekable(), 0u64);
        (0..).zip(&self.max_ns).map(move |(index, max_ns)| {
            let length_ns = short.next_if(|(at, _)| *at == index).map_or(self.step_ns, |(_, ns)| *ns);
            let stretch = Stretch { from_ns, length_ns, max_ns: *max_ns };
            from_ns = from_ns.saturating_add(length_ns);
            stretch
        })
    }

    /// The largest latency of each stretch, of series that ran together: those with the longest stretches give the places.
    pub fn of_all<'a>(all: impl Iterator<Item = &'a Self> + Clone) -> Self {
        let Some(longest) = all.clone().max_by_key(|maxima| (maxima.step_ns, maxima.max_ns.len())) else {
            return Self::default();
        };
        let mut together = longest.clone();
        for stretch in all.flat_map(Self::stretches) {
            let place = stretch.from_ns / together.step_ns.max(1);
            let place = (place as usize).min(together.max_ns.len().saturating_sub(1));
            if let Some(max_ns) = together.max_ns.get_mut(place) {
                *max_ns = stretch.max_ns.max(*max_ns);
            }
        }
        together
    }

    /// How long all stretches are together, in ns.
    pub fn length_ns(&self) -> u64 {
        self.stretches().last().map_or(0, |last| last.from_ns.saturating_add(last.length_ns))
    }

    /// Takes in that the stretches are `length_ns` together, because the last one is not full.
    pub fn end_at(&mut self, length_ns: u64) {
        let Some(last) = self.stretches().last() else { return };
        let index = self.max_ns.len() as u64 - 1;
        let length_ns = length_ns.saturating_sub(last.from_ns);
        if length_ns > 0 && length_ns < last.length_ns {
            self.short.retain(|(at, _)| *at != index);
            self.short.push((index, length_ns));
        }
    }

    /// Adds what came after. Where that has longer or shorter stretches, those that are shorter keep their length.
    pub fn extend(&mut self, after: Self) {
        let step_ns = self.step_ns.max(after.step_ns);
        let before = std::mem::take(self);
        for stretch in before.stretches().chain(after.stretches()) {
            if stretch.length_ns < step_ns {
                self.short.push((self.max_ns.len() as u64, stretch.length_ns));
            }
            self.max_ns.push(stretch.max_ns);
        }
        self.step_ns = step_ns;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn block(max_ns: &[u64], length_ns: u64) -> Maxima {
        let mut block = Maxima { step_ns: SECOND, max_ns: max_ns.into(), short: Vec::new() };
        block.end_at(length_ns);
        block
    }

    #[test]
    fn series_that_ran_together_have_the_largest_of_each_stretch() {
        let (first, second) = (block(&[1, 7, 2], 3 * SECOND), block(&[4, 3], 2 * SECOND));
        let coarse = Maxima { step_ns: 2 * SECOND, max_ns: vec![5, 9], short: Vec::new() };
        assert_eq!(Maxima::of_all([&first, &second].into_iter()).max_ns, [4, 7, 2]);
        assert_eq!(Maxima::of_all([&first, &coarse].into_iter()).max_ns, [7, 9]);
        assert_eq!(Maxima::of_all([].into_iter()), Maxima::default());
    }

    #[test]
    fn blocks_are_as_long_as_they_were() {
        let mut all = Maxima::default();
        all.extend(block(&[5, 7], SECOND + SECOND / 4));
        all.extend(block(&[9, 3], 2 * SECOND));
        all.extend(block(&[1], SECOND / 2));
        let seen: Vec<_> =
            all.stretches().map(|s| (s.from_ns * 4 / SECOND, s.length_ns * 4 / SECOND, s.max_ns)).collect();
        assert_eq!(seen, [(0, 4, 5), (4, 1, 7), (5, 4, 9), (9, 4, 3), (13, 2, 1)]);
        assert_eq!(all.length_ns(), 15 * SECOND / 4);
        assert_eq!(all.short, [(1, SECOND / 4), (4, SECOND / 2)]);
    }

    #[test]
    fn stretches_of_unequal_steps_keep_their_length() {
        let mut all = block(&[5, 7], 2 * SECOND);
        all.extend(Maxima { step_ns: 2 * SECOND, max_ns: vec![8, 9], short: Vec::new() });
        assert_eq!((all.length_ns(), all.step_ns), (6 * SECOND, 2 * SECOND));
        assert_eq!(all.stretches().map(|s| s.from_ns / SECOND).collect::<Vec<_>>(), [0, 1, 2, 4]);
    }

    #[test]
    fn an_end_that_is_set_again_takes_the_place_of_the_last_alone() {
        let mut all = block(&[5, 7], 2 * SECOND - 2);
        all.extend(block(&[9], SECOND - 3));
        all.end_at(3 * SECOND - 9);
        assert_eq!(all.short, [(1, SECOND - 2), (2, SECOND - 7)]);
        assert_eq!(all.length_ns(), 3 * SECOND - 9);
    }

    #[test]
    fn a_length_that_cannot_be_is_passed_over() {
        for length_ns in [0, SECOND, 2 * SECOND, u64::MAX] {
            assert_eq!(block(&[5, 7], length_ns).short, []);
        }
        assert_eq!(Maxima::default().length_ns(), 0);
        // From a file: in no order, beyond the end, longer than any time.
        let odd = Maxima { step_ns: u64::MAX, max_ns: vec![1, 2, 3], short: vec![(7, 1), (0, u64::MAX)] };
        assert_eq!(odd.stretches().count(), 3);
        assert_eq!(odd.length_ns(), u64::MAX);
    }
}
