//! Whose turn is next: a tree of the earliest times.

/// Nobody has anything to do.
pub(super) const NEVER: u64 = u64::MAX;

/// The next time of each of some nodes.
#[derive(Debug)]
pub(super) struct Turns {
    /// The leaves are the last half; each inner place has the earlier of the two below it.
    tree: Vec<(u64, u32)>,
    leaves: usize,
}

impl Turns {
    pub fn new(nodes: usize) -> Self {
        let leaves = nodes.next_power_of_two().max(1);
        let mut turns = Self { tree: vec![(NEVER, 0); 2 * leaves], leaves };
        for node in 0..leaves {
            turns.tree[leaves + node] = (NEVER, node as u32);
        }
        for place in (1..leaves).rev() {
            turns.tree[place] = turns.tree[2 * place].min(turns.tree[2 * place + 1]);
        }
        turns
    }

    /// The earliest time, and whose it is; of several, the node that was named first.
    #[inline]
    pub fn next(&self) -> (u64, usize) {
        let (at_ns, node) = self.tree[1];
        (at_ns, node as usize)
    }

    #[inline]
    pub fn of(&self, node: usize) -> u64 {
        self.tree[self.leaves + node].0
    }

    /// This is a node's next time.
    #[inline]
    pub fn set(&mut self, node: usize, at_ns: u64) {
        let mut place = self.leaves + node;
        if self.tree[place].0 == at_ns {
            return;
        }
        self.tree[place].0 = at_ns;
        while place > 1 {
            place /= 2;
            let earlier = self.tree[2 * place].min(self.tree[2 * place + 1]);
            if self.tree[place] == earlier {
                return;
            }
            self.tree[place] = earlier;
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
