//! Paths through a graph: the cheapest between two nodes, to all nodes, and the next ones behind the cheapest.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::{Graph, LinkId, NodeId};

/// In place of a link where there is none.
pub(super) const NO_LINK: LinkId = LinkId::MAX;

/// The cheapest paths from one node.
#[derive(Debug, Clone)]
pub struct Tree {
    pub(super) from: NodeId,
    /// The link by which each node is reached.
    pub(super) by: Vec<LinkId>,
}

impl Tree {
    /// The path to a node, where there is one.
    pub fn path(&self, graph: &Graph, to: NodeId) -> Option<Vec<LinkId>> {
        let mut path = Vec::new();
        let mut node = to;
        while node != self.from {
            let link = self.by[node];
            if link == NO_LINK {
                return None;
            }
            path.push(link);
            node = graph.from[link];
        }
        path.reverse();
        Some(path)
    }
}

/// Loopless paths between two nodes, the cheapest first, as many as were asked for (Yen, Finding the K Shortest Loopless
/// Paths in a Network, Management Science 17, 1971; Lawler, A Procedure for Computing the K Best Solutions, Management
/// Science 18, 1972).
#[derive(Debug, Clone)]
pub struct Paths {
    found: Vec<Vec<LinkId>>,
    /// Others, with what they cost and after how many links they leave the path that they were made from.
    candidates: Vec<(u64, Vec<LinkId>, usize)>,
    /// Where the last one found left the one before.
    parts_at: usize,
}

impl Paths {
    /// With the cheapest.
    pub fn new(cheapest: Vec<LinkId>) -> Self {
        Self { found: vec![cheapest], candidates: Vec::new(), parts_at: 0 }
    }

    /// Those that are known.
    pub fn known(&self) -> &[Vec<LinkId>] {
        &self.found
    }

    /// Looks for more, up to `count` of them.
    /// `least` is as [`PathSearch::path`] takes it.
    pub fn extend(
        &mut self,
        graph: &Graph,
        count: usize,
        search: &mut PathSearch,
        least: impl Fn(NodeId) -> u64,
        cost: impl Fn(LinkId) -> u64,
    ) {
        let Some(&last) = self.found[0].last() else { return };
        let to = graph.to[last];
        while self.found.len() < count {
            let last = &self.found[self.found.len() - 1];
            // Up to there the one that it was made from has been left everywhere already.
            for spur in self.parts_at..last.len() {
                let (root, at) = (&last[..spur], graph.from[last[spur]]);
                let passed: Vec<NodeId> = root.iter().map(|link| graph.from[*link]).collect();
                let taken: Vec<LinkId> = self
                    .found
                    .iter()
                    .filter(|path| path.starts_with(root))
                    .filter_map(|path| path.get(spur).copied())
                    .collect();
                let avoid = |link: LinkId, node: NodeId| taken.contains(&link) || passed.contains(&node) || node == at;
                let Some(rest) = search.path(graph, (at, to), &least, &cost, avoid) else { continue };
                let path = [root, &rest].concat();
                let price = path.iter().fold(0u64, |sum, link| sum.saturating_add(cost(*link)));
                if !self.candidates.iter().any(|(_, known, _)| *known == path) {
                    self.candidates.push((price, path, spur));
                }
            }
            let next = self.candidates.iter().enumerate().min_by(|(_, a), (_, b)| (a.0, &a.1).cmp(&(b.0, &b.1)));
            let Some((place, _)) = next else { return };
            let (_, path, parts_at) = self.candidates.swap_remove(place);
            self.found.push(path);
            self.parts_at = parts_at;
        }
    }
}

/// A node in the order in which it is looked at: what a path over it costs at least, the part up to it where that is the
/// same, the node.
type Order = Reverse<(u64, Reverse<u64>, NodeId)>;

/// Searches for paths from one node to another, whose memory is used again.
#[derive(Debug, Default)]
pub struct PathSearch {
    /// By node: what the cheapest way there costs so far, and its last link.
    best: Vec<(u64, LinkId)>,
    /// Nodes that were reached.
    touched: Vec<NodeId>,
    /// Nodes to look at, with what the path up to them cost when they were entered.
    waiting: BinaryHeap<(Order, u64)>,
}

impl PathSearch {
    /// The cheapest path by the cost of its links. `avoid` names links and nodes that may not be used. `least` says of a
    /// node what a path from there costs at least: the more exactly, the fewer nodes are looked at. No link may cost less
    /// than what it makes of that (A*: Hart, Nilsson, Raphael, A Formal Basis for the Heuristic Determination of Minimum
    /// Cost Paths, IEEE Transactions on Systems Science and Cybernetics 4, 1968). The same paths come out each time.
    pub fn path(
        &mut self,
        graph: &Graph,
        (from, to): (NodeId, NodeId),
        least: impl Fn(NodeId) -> u64,
        cost: impl Fn(LinkId) -> u64,
        avoid: impl Fn(LinkId, NodeId) -> bool,
    ) -> Option<Vec<LinkId>> {
        self.best.resize(graph.forwards.len(), (u64::MAX, NO_LINK));
        self.reach(from, (0, NO_LINK), least(from));
        while let Some((Reverse((_, _, node)), so_far)) = self.waiting.pop() {
            if node == to {
                break;
            }
            if so_far > self.best[node].0 {
                continue;
            }
            for &(link, next) in &graph.out[node] {
                // Stations forward nothing.
                if next != to && !graph.forwards[next] {
                    continue;
                }
                let through = so_far.saturating_add(cost(link));
                if through < self.best[next].0 && !avoid(link, next) {
                    self.reach(next, (through, link), least(next));
                }
            }
        }
        let found = (self.best[to].0 < u64::MAX).then(|| self.back(graph, from, to));
        self.touched.drain(..).for_each(|node| self.best[node] = (u64::MAX, NO_LINK));
        self.waiting.clear();
        found
    }

    fn reach(&mut self, node: NodeId, (through, link): (u64, LinkId), least: u64) {
        // From where there is no way nothing has to be looked at.
        if least == u64::MAX {
            return;
        }
        if self.best[node].0 == u64::MAX {
            self.touched.push(node);
        }
        self.best[node] = (through, link);
        // Of two that may cost the same, the one that is farther on its way.
        let all = through.saturating_add(least);
        self.waiting.push((Reverse((all, Reverse(through), node)), through));
    }

    fn back(&self, graph: &Graph, from: NodeId, to: NodeId) -> Vec<LinkId> {
        let mut path = Vec::new();
        let mut node = to;
        while node != from {
            let link = self.best[node].1;
            path.push(link);
            node = graph.from[link];
        }
        path.reverse();
        path
    }
}

impl Graph {
    /// The cheapest path by the cost of its links, as links; between equals the one whose links were named first.
    /// `avoid` names links and nodes that may not be used.
    pub fn path(
        &self,
        from: NodeId,
        to: NodeId,
        cost: impl Fn(LinkId) -> u64,
        avoid: impl Fn(LinkId, NodeId) -> bool,
    ) -> Option<Vec<LinkId>> {
        PathSearch::default().path(self, (from, to), |_| 0, cost, avoid)
    }

    /// The paths that [`Graph::path`] has to each node if nothing is to be avoided, found in one search.
    pub fn tree(&self, from: NodeId, cost: impl Fn(LinkId) -> u64) -> Tree {
        let mut best = vec![u64::MAX; self.forwards.len()];
        let mut by = vec![NO_LINK; self.forwards.len()];
        best[from] = 0;
        let mut waiting = BinaryHeap::from([Reverse((0u64, from))]);
        while let Some(Reverse((so_far, node))) = waiting.pop() {
            if so_far > best[node] {
                continue;
            }
            for &(link, next) in &self.out[node] {
                let through = so_far.saturating_add(cost(link));
                if through < best[next] {
                    (best[next], by[next]) = (through, link);
                    // Stations forward nothing.
                    if self.forwards[next] {
                        waiting.push(Reverse((through, next)));
                    }
                }
            }
        }
        Tree { from, by }
    }

    /// Paths with the fewest links, to each node that can be reached.
    pub fn tree_by_links(&self, from: NodeId) -> Tree {
        let mut by = vec![NO_LINK; self.forwards.len()];
        let mut waiting = VecDeque::from([from]);
        while let Some(node) = waiting.pop_front() {
            for &(link, next) in &self.out[node] {
                if next != from && by[next] == NO_LINK {
                    by[next] = link;
                    // Stations forward nothing.
                    if self.forwards[next] {
                        waiting.push_back(next);
                    }
                }
            }
        }
        Tree { from, by }
    }

    /// Up to `count` loopless paths, the cheapest first.
    pub fn paths(&self, from: NodeId, to: NodeId, count: usize, cost: impl Fn(LinkId) -> u64) -> Vec<Vec<LinkId>> {
        let Some(first) = self.path(from, to, &cost, |_, _| false) else { return Vec::new() };
        let mut paths = Paths::new(first);
        paths.extend(self, count, &mut PathSearch::default(), |_| 0, cost);
        paths.known().to_vec()
    }

    /// Links that every path between two nodes takes, in order.
    pub fn unavoidable(&self, from: NodeId, to: NodeId) -> Vec<LinkId> {
        let Some(path) = self.path(from, to, |_| 1, |_, _| false) else { return Vec::new() };
        path.into_iter().filter(|&must| self.path(from, to, |_| 1, |link, _| link == must).is_none()).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{Network, samples};
    use super::*;

    /// A ring with chords, and a cable from a station to a second switch; each link has its cost.
    fn drawn(costs: &[u64]) -> (Network, Graph) {
        let mut network = samples::ring(6, 0);
        let link = network.links[0].clone();
        for (from, to) in [(0, 3), (3, 0), (1, 4), (6, 2), (2, 6)] {
            network.links.push(super::super::Link { from, to, ..link.clone() });
        }
        // Some links are in one direction only.
        network.links.retain(|link| costs[(link.from * 5 + link.to) % costs.len()] % 11 != 0);
        let graph = Graph::new(&network);
        (network, graph)
    }

    proptest! {
        /// One search or many, with or without knowing what paths cost at least: the same costs, and a path or none.
        #[test]
        fn all_searches_agree(costs in prop::collection::vec(1u64..9, 40..41), gone in prop::collection::vec(0u64..22, 7..8)) {
            let (network, graph) = drawn(&gone);
            let cost = |link: LinkId| costs[link % costs.len()];
            let price = |path: &[LinkId]| path.iter().map(|link| cost(*link)).sum::<u64>();
            let mut search = PathSearch::default();
            for from in 0..network.nodes.len() {
                let (tree, by_links, reach) = (graph.tree(from, cost), graph.tree_by_links(from), graph.reach(from));
                for (to, reached) in reach.into_iter().enumerate() {
                    let alone = graph.path(from, to, cost, |_, _| false);
                    prop_assert_eq!(&tree.path(&graph, to), &alone);
                    prop_assert_eq!(alone.is_some(), reached);
                    let fewest = graph.path(from, to, |_| 1, |_, _| false);
                    let links = by_links.path(&graph, to);
                    prop_assert_eq!(links.as_ref().map(Vec::len), fewest.map(|path| path.len()));
                    for pair in links.unwrap_or_default().windows(2) {
                        prop_assert!(graph.to[pair[0]] == graph.from[pair[1]] && graph.forwards[graph.from[pair[1]]]);
                    }
                    let least = graph.costs_to(to, cost);
                    let guided = search.path(&graph, (from, to), |node| least[node], cost, |_, _| false);
                    prop_assert_eq!(guided.as_deref().map(price), alone.as_deref().map(price));
                    prop_assert_eq!(alone.as_deref().map_or(u64::MAX, price), least[from]);
                    // The next ones cost the same, too, however they are looked for.
                    let (Some(first), true) = (alone, from != to) else { continue };
                    let mut paths = Paths::new(first);
                    paths.extend(&graph, 4, &mut search, |node| least[node], cost);
                    let all = graph.paths(from, to, 4, cost);
                    let prices = |paths: &[Vec<LinkId>]| paths.iter().map(|path| price(path)).collect::<Vec<_>>();
                    prop_assert_eq!(prices(paths.known()), prices(&all));
                    for path in paths.known() {
                        prop_assert!(path.windows(2).all(|pair| graph.to[pair[0]] == graph.from[pair[1]]));
                        prop_assert_eq!((graph.from[path[0]], graph.to[path[path.len() - 1]]), (from, to));
                    }
                }
            }
        }
    }
}
