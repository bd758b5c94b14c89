//! Whose turn is next: a tree of the earliest times.

/// Nobody has anything to do.
pub(super) const NEVER: u64 = u64::MAX;

/// The next time of each of some nodes.
#[derive(Debug)]
pub(super) struct Turns {
    /// The leaves are the last half; each inner place has the earlier of the two below it.
    tree: Vec<Turn>,
    leaves: usize,
}

/// A time above, whose it is below: one number, which is compared without a branch. Which of two nodes is next cannot be
/// guessed.
type Turn = u128;

#[inline]
fn turn(at_ns: u64, node: usize) -> Turn {
    u128::from(at_ns) << 64 | node as u128
}

impl Turns {
    pub fn new(nodes: usize) -> Self {
        let leaves = nodes.next_power_of_two().max(1);
        let mut turns = Self { tree: vec![turn(NEVER, 0); 2 * leaves], leaves };
        for node in 0..leaves {
            turns.tree[leaves + node] = turn(NEVER, node);
        }
        for place in (1..leaves).rev() {
            turns.tree[place] = turns.tree[2 * place].min(turns.tree[2 * place + 1]);
        }
        turns
    }

    /// The earliest time, and whose it is; of several, the node that was named first.
    #[inline]
    pub fn next(&self) -> (u64, usize) {
        ((self.tree[1] >> 64) as u64, self.tree[1] as usize)
    }

    #[inline]
    pub fn of(&self, node: usize) -> u64 {
        (self.tree[self.leaves + node] >> 64) as u64
    }

    /// This is a node's next time.
    #[inline]
    pub fn set(&mut self, node: usize, at_ns: u64) {
        let mut place = self.leaves + node;
        let mut earliest = turn(at_ns, node);
        self.tree[place] = earliest;
        while place > 1 {
            earliest = earliest.min(self.tree[place ^ 1]);
            place /= 2;
            self.tree[place] = earliest;
        }
    }

    /// A node has something to do at this time at the latest.
    #[inline]
    pub fn sooner(&mut self, node: usize, at_ns: u64) {
        if at_ns < self.of(node) {
            self.set(node, at_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_finds_what_a_search_finds(nodes in 1usize..40, sets in prop::collection::vec((0usize..40, 0u64..50), 0..200)) {
            let (mut turns, mut model) = (Turns::new(nodes), vec![NEVER; nodes]);
            for (node, at_ns) in sets {
                let node = node % nodes;
                if at_ns % 3 == 0 {
                    turns.sooner(node, at_ns);
                    model[node] = model[node].min(at_ns);
                } else {
                    turns.set(node, at_ns);
                    model[node] = at_ns;
                }
                let (least, first) = model.iter().zip(0..).min().map(|(at_ns, node)| (*at_ns, node)).unwrap();
                prop_assert_eq!(turns.next(), (least, first));
            }
        }
    }
}
