//! Four blocks that stand against each other.

use ontick_record::search::{Block, Judge};
use serde::{Deserialize, Serialize};

/// What is compared: candidates that are on in a trial, and those that are on in its base. Numbers of candidates,
/// ascending.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Comparison {
    /// On in the trial.
    pub trial: Vec<usize>,
    /// On in the base.
    pub base: Vec<usize>,
}

impl Comparison {
    /// One candidate alone, or several together, against the machine as it is.
    pub fn of(trial: Vec<usize>) -> Self {
        Self { trial, base: Vec::new() }
    }

    /// A set against the same without one member.
    pub fn member(set: &[usize], member: usize) -> Self {
        Self { trial: set.to_vec(), base: set.iter().copied().filter(|other| *other != member).collect() }
    }

    /// The candidates that are on in a block of the trial, or of its base.
    pub fn on(&self, trial: bool) -> &[usize] {
        if trial { &self.trial } else { &self.base }
    }

    /// Whether it is of one candidate alone.
    pub fn is_alone(&self) -> bool {
        self.base.is_empty() && self.trial.len() == 1
    }
}

/// Four blocks that come next: base, trial, trial, base, or the other way round. What drifts evenly cancels out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quartet {
    /// What is compared.
    pub comparison: Comparison,
    /// Which comes first was thrown by a coin.
    pub trial_first: bool,
}

impl Quartet {
    /// For each block in order, whether it is the trial's.
    pub fn order(&self) -> [bool; 4] {
        let first = self.trial_first;
        [first, !first, !first, first]
    }
}

/// A trial against its base, measured once: four blocks, or two boots.
#[derive(Debug, Clone, PartialEq)]
pub struct Paired {
    /// What is compared.
    pub comparison: Comparison,
    /// How much better the trial was than its base, as the judge has it.
    pub difference: f64,
    /// Whether the hypervisor took too much of it, so that it counts for no side.
    pub disturbed: bool,
    /// What it cost of what the race may cost.
    pub cost: u64,
    /// What was judged of each part of it in which no candidate was on.
    pub base: Vec<f64>,
}

/// Four blocks that were measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Done {
    /// What they are of.
    #[serde(flatten)]
    pub quartet: Quartet,
    /// In order.
    pub blocks: [Block; 4],
}

impl Done {
    /// How much better the trial was than its base, as the judge has it.
    pub fn difference(&self, judge: Judge) -> f64 {
        let sum: f64 = self
            .blocks
            .iter()
            .zip(self.quartet.order())
            .map(|(block, trial)| if trial { judge.value(block) } else { -judge.value(block) })
            .sum();
        sum / 2.0
    }

    /// Whether the hypervisor took more of any block than this part of the CPUs' time. The rule is one for both sides: the
    /// whole quartet counts or does not.
    pub fn is_disturbed(&self, steal_limit: f64) -> bool {
        self.blocks.iter().any(|block| block.steal > steal_limit)
    }

    /// What it says of its comparison.
    pub fn paired(&self, judge: Judge, steal_limit: f64) -> Paired {
        let comparison = self.quartet.comparison.clone();
        let blocks = self.blocks.iter().zip(self.quartet.order());
        let base = blocks.filter(|(_, trial)| comparison.on(*trial).is_empty());
        Paired {
            base: base.map(|(block, _)| judge.value(block)).collect(),
            difference: self.difference(judge),
            disturbed: self.is_disturbed(steal_limit),
            cost: self.took_ns(),
            comparison,
        }
    }

    /// How long it took, in ns.
    pub fn took_ns(&self) -> u64 {
        self.blocks.iter().map(|block| block.took_ns).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn done(in_time: [u64; 4], trial_first: bool) -> Done {
        let block = |in_time| Block { cycles: 100, in_time, took_ns: 7, ..Block::default() };
        Done { quartet: Quartet { comparison: Comparison::of(vec![0]), trial_first }, blocks: in_time.map(block) }
    }

    #[test]
    fn what_drifts_evenly_cancels_out() {
        assert_eq!(done([90, 91, 92, 93], false).difference(Judge::Share), 0.0);
        assert_eq!(done([90, 95, 95, 90], false).difference(Judge::Share), 5.0);
        assert_eq!(done([95, 90, 90, 95], true).difference(Judge::Share), 5.0);
        assert_eq!(done([95, 90, 90, 95], true).took_ns(), 28);
    }

    #[test]
    fn a_disturbed_block_of_either_side_disturbs_the_quartet() {
        for block in 0..4 {
            let mut done = done([90; 4], false);
            assert!(!done.is_disturbed(0.05));
            done.blocks[block].steal = 0.06;
            assert!(done.is_disturbed(0.05));
        }
    }

    #[test]
    fn a_member_is_compared_with_the_set_without_it() {
        let member = Comparison::member(&[1, 4, 6], 4);
        assert_eq!((member.on(true), member.on(false)), (&[1, 4, 6][..], &[1, 6][..]));
        assert!(!member.is_alone() && Comparison::of(vec![2]).is_alone());
    }
}
