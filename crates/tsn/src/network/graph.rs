//! Who is connected with whom.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{Kind, Link, LinkId, Network, NodeId};

/// Ways out of each node, and nothing else of a network.
#[derive(Debug, Clone)]
pub struct Graph {
    pub(super) out: Vec<Vec<(LinkId, NodeId)>>,
    /// Ways into each.
    into: Vec<Vec<(LinkId, NodeId)>>,
    /// Stations do not forward.
    pub(super) forwards: Vec<bool>,
    /// From which node each link comes, and where it leads.
    pub(super) from: Vec<NodeId>,
    pub(super) to: Vec<NodeId>,
}

/// There is no way from a talker to a listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoPath {
    /// From here,
    pub from: NodeId,
    /// to here.
    pub to: NodeId,
}

impl Graph {
    /// Of a network.
    pub fn new(network: &Network) -> Self {
        let mut out = vec![Vec::new(); network.nodes.len()];
        let mut into = vec![Vec::new(); network.nodes.len()];
        for (id, link) in network.links.iter().enumerate() {
            out[link.from].push((id, link.to));
            into[link.to].push((id, link.from));
        }
        let forwards = network.nodes.iter().map(|node| node.kind == Kind::Switch).collect();
        let [from, to] =
            [|link: &Link| link.from, |link: &Link| link.to].map(|end| network.links.iter().map(end).collect());
        Self { out, into, forwards, from, to }
    }

    /// What the cheapest path from each node to this one costs; the largest number where there is none.
    pub fn costs_to(&self, to: NodeId, cost: impl Fn(LinkId) -> u64) -> Vec<u64> {
        let mut best = vec![u64::MAX; self.forwards.len()];
        best[to] = 0;
        let mut waiting = BinaryHeap::from([Reverse((0u64, to))]);
        while let Some(Reverse((so_far, node))) = waiting.pop() {
            if so_far > best[node] {
                continue;
            }
            for &(link, before) in &self.into[node] {
                let through = so_far.saturating_add(cost(link));
                if through < best[before] {
                    best[before] = through;
                    if self.forwards[before] {
                        waiting.push(Reverse((through, before)));
                    }
                }
            }
        }
        best
    }

    /// Which nodes can be reached.
    pub fn reach(&self, from: NodeId) -> Vec<bool> {
        self.reach_by(from, |_| true)
    }

    /// Which nodes can be reached by such links alone.
    pub fn reach_by(&self, from: NodeId, may: impl Fn(LinkId) -> bool) -> Vec<bool> {
        let mut reached = vec![false; self.forwards.len()];
        reached[from] = true;
        let mut waiting = vec![from];
        while let Some(node) = waiting.pop() {
            for &(_, next) in self.out[node].iter().filter(|(link, _)| may(*link)) {
                if !std::mem::replace(&mut reached[next], true) && self.forwards[next] {
                    waiting.push(next);
                }
            }
        }
        reached
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::*;

    #[test]
    fn paths_come_cheapest_first_and_without_loops() {
        let network = samples::ring(4, 0);
        let graph = Graph::new(&network);
        // Stations are 4 to 7, each at its switch.
        let paths = graph.paths(4, 6, 5, |_| 1);
        assert_eq!(paths.len(), 2, "both ways around: {paths:?}");
        assert!(paths.iter().all(|path| path.len() == 4));
        let lengths: Vec<usize> = graph.paths(4, 5, 5, |_| 1).iter().map(Vec::len).collect();
        assert_eq!(lengths, [3, 5]);
        for path in graph.paths(4, 5, 5, |_| 1) {
            assert!(path.windows(2).all(|pair| network.links[pair[0]].to == network.links[pair[1]].from));
        }
    }

    /// The second of two equal names once took a node's place, and links led to nodes that there were not.
    #[test]
    fn a_name_given_twice_is_an_error_and_no_panic() {
        for text in [
            include_str!("../../../../fuzz/seeds/switch_network/named_twice.toml"),
            include_str!("../../../../fuzz/seeds/switch_network/named_twice.json"),
            "station = [{ name = \"a\" }, { name = \"b\" }, { name = \"b\" }]\n\
             link = [{ between = [\"a\", \"b\"] }]\n\
             stream = [{ name = \"x\", from = \"a\", to = \"b\", size = 1, period = \"1ms\" }]\n",
        ] {
            let errors = crate::network::read(text).unwrap_err().to_string();
            assert!(errors.contains("there are two nodes called"), "{errors}");
        }
    }

    #[test]
    fn a_station_forwards_nothing() {
        let mut network = samples::ring(3, 0);
        // 3 is the station at switch 0; cables from it to switch 1 do not make a bridge of it.
        let spare = network.links[0].clone();
        network.links.push(super::super::Link { from: 3, to: 1, ..spare });
        let graph = Graph::new(&network);
        assert!(graph.paths(4, 5, 9, |_| 1).iter().flatten().all(|link| network.links[*link].from != 3));
    }

    #[test]
    fn only_the_stations_own_cables_are_unavoidable_in_a_ring() {
        let network = samples::ring(4, 0);
        let links = Graph::new(&network).unavoidable(4, 6);
        let ends: Vec<(NodeId, NodeId)> =
            links.iter().map(|l| (network.links[*l].from, network.links[*l].to)).collect();
        assert_eq!(ends, [(4, 0), (2, 6)]);
    }
}
