//! One boot of a search: blocks of one arm, which together are one figure.

use ontick_record::search::{Block, Judge};
use serde::{Deserialize, Serialize};

/// What was measured in one boot. Its blocks share all that a boot decides (where things lie in memory, which interrupt
/// went where), so they never count one by one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Session {
    /// The candidates that were on; none in the base.
    pub arm: Vec<usize>,
    /// Its blocks, in order.
    pub blocks: Vec<Block>,
    /// How long it took with its restart, in ns.
    pub took_ns: u64,
}

impl Session {
    /// Its figure: that of the middle block of those which the hypervisor left alone.
    pub fn value(&self, judge: Judge, steal_limit: f64) -> f64 {
        let of = |counts: &dyn Fn(&&Block) -> bool| -> Vec<f64> {
            self.blocks.iter().filter(counts).map(|block| judge.value(block)).collect()
        };
        let left_alone = of(&|block| block.steal <= steal_limit);
        middle(if left_alone.is_empty() { of(&|_| true) } else { left_alone })
    }

    /// Whether the hypervisor took more than this part of the CPUs' time in half of the blocks or more.
    pub fn is_disturbed(&self, steal_limit: f64) -> bool {
        let disturbed = self.blocks.iter().filter(|block| block.steal > steal_limit).count();
        disturbed * 2 >= self.blocks.len()
    }
}

/// The mean of the two in the middle where their number is even; 0 of none.
fn middle(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => 0.0,
        n if n % 2 == 1 => values[n / 2],
        n => 0.5 * (values[n / 2 - 1] + values[n / 2]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(blocks: &[(u64, f64)]) -> Session {
        let block =
            |(in_time, steal): &(u64, f64)| Block { cycles: 100, in_time: *in_time, steal: *steal, ..Block::default() };
        Session { arm: Vec::new(), blocks: blocks.iter().map(block).collect(), took_ns: 1 }
    }

    #[test]
    fn many_blocks_are_one_figure() {
        let value = |blocks: &[(u64, f64)]| session(blocks).value(Judge::Share, 0.05);
        assert_eq!(value(&[(90, 0.0), (10, 0.0), (92, 0.0)]), 90.0);
        assert_eq!(value(&[(90, 0.0), (92, 0.0)]), 91.0);
        assert_eq!(value(&[(90, 0.0), (10, 0.5), (20, 0.5), (92, 0.0)]), 91.0);
        assert_eq!(value(&[(10, 0.5)]), 10.0);
    }

    #[test]
    fn a_session_is_set_aside_if_half_of_it_is_disturbed() {
        assert!(!session(&[(1, 0.0), (1, 0.0), (1, 0.5)]).is_disturbed(0.05));
        assert!(session(&[(1, 0.0), (1, 0.5)]).is_disturbed(0.05));
    }
}
