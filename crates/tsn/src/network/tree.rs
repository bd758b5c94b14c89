//! A tree that joins all switches: where frames go that no stream is.

use std::collections::{HashMap, VecDeque};

use super::{Kind, Link, LinkId, Network, NodeId};

impl Network {
    /// Whether each link carries frames that are flooded: those of a spanning tree of the switches (the fewest links from
    /// the switch that is named first), and all links of stations, which forward nothing.
    pub fn spanning_tree(&self) -> Vec<bool> {
        let is_switch = |node: usize| self.nodes[node].kind == Kind::Switch;
        let mut in_tree: Vec<bool> =
            self.links.iter().map(|link| !is_switch(link.from) || !is_switch(link.to)).collect();
        let mut out = vec![Vec::new(); self.nodes.len()];
        self.links.iter().enumerate().for_each(|(id, link)| out[link.from].push(id));
        let mut joined = vec![false; self.nodes.len()];
        for root in (0..self.nodes.len()).filter(|node| is_switch(*node)) {
            // Not reached so far: a part of the network for itself.
            if std::mem::replace(&mut joined[root], true) {
                continue;
            }
            let mut waiting = VecDeque::from([root]);
            while let Some(node) = waiting.pop_front() {
                for &link in &out[node] {
                    let next = self.links[link].to;
                    let Some(back) = self.reverse(link).filter(|_| is_switch(next) && !joined[next]) else { continue };
                    joined[next] = true;
                    (in_tree[link], in_tree[back]) = (true, true);
                    waiting.push_back(next);
                }
            }
        }
        in_tree
    }

    /// The other direction of a link's cable.
    pub fn reverse(&self, link: LinkId) -> Option<LinkId> {
        let (from, to) = (self.links[link].to, self.links[link].from);
        let mut back = self.links.iter().enumerate().filter(|(_, other)| other.from == from && other.to == to);
        back.nth(self.cable(link)).map(|(id, _)| id)
    }

    /// Of each link what [`Network::cable`] says.
    pub fn cables(&self) -> Vec<usize> {
        let mut known: HashMap<(NodeId, NodeId), usize> = HashMap::new();
        let cable = |link: &Link| {
            let next = known.entry((link.from, link.to)).or_default();
            *next += 1;
            *next - 1
        };
        self.links.iter().map(cable).collect()
    }

    /// Which of the cables between its two nodes a link belongs to, from 0.
    pub fn cable(&self, link: LinkId) -> usize {
        let Some(of) = self.links.get(link) else { return 0 };
        self.links[..link].iter().filter(|other| other.from == of.from && other.to == of.to).count()
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::*;

    /// How many links of a tree lead out of a switch and to another one.
    fn between_switches(network: &Network, tree: &[bool]) -> usize {
        let is_switch = |node: usize| network.nodes[node].kind == Kind::Switch;
        let links = network.links.iter().zip(tree).filter(|(_, in_tree)| **in_tree);
        links.filter(|(link, _)| is_switch(link.from) && is_switch(link.to)).count()
    }

    #[test]
    fn a_ring_is_opened_at_one_cable() {
        for switches in 3..7 {
            let network = samples::ring(switches, 0);
            let tree = network.spanning_tree();
            assert_eq!(between_switches(&network, &tree), 2 * (switches - 1));
            for link in 0..network.links.len() {
                assert_eq!(tree[link], tree[network.reverse(link).unwrap()], "both directions, or none");
            }
        }
    }

    #[test]
    fn of_two_cables_between_the_same_switches_one_is_in_the_tree() {
        let mut network = samples::ring(3, 0);
        let [there, back] = [0, 1].map(|link| network.links[link].clone());
        network.links.extend([there, back]);
        let second = network.links.len() - 2;
        assert_eq!((network.cable(0), network.cable(second)), (0, 1));
        assert_eq!(network.cables(), (0..network.links.len()).map(|link| network.cable(link)).collect::<Vec<_>>());
        assert_eq!((network.reverse(0), network.reverse(second)), (Some(1), Some(second + 1)));
        let tree = network.spanning_tree();
        assert_eq!(between_switches(&network, &tree), 4);
        assert!(!tree[second] && !tree[second + 1]);
    }
}
