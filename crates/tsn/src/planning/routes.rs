//! The ways of each stream, the quickest first, found when they are asked for.

use std::cell::RefCell;
use std::rc::Rc;

use super::path_cost::{Least, delay_ns};
use super::route::Route;
use crate::network::{Graph, LinkId, Network, NodeId, PathSearch, Paths, StreamId};

/// Ways of each stream, found when they are asked for. Clones share what they have found.
#[derive(Clone)]
pub struct Routes<'a> {
    network: &'a Network,
    /// Ways of each stream that are tried.
    most: usize,
    slot_ns: u64,
    found: Rc<RefCell<Found>>,
}

impl<'a> Routes<'a> {
    /// With up to `most` ways for each stream, whose times are multiples of `slot_ns`.
    pub fn new(network: &'a Network, most: usize, slot_ns: u64) -> Self {
        let found = Rc::new(RefCell::new(Found::new(network)));
        Self { network, most: most.max(1), slot_ns: slot_ns.max(1), found }
    }

    /// The stream's n-th way, the quickest first.
    pub fn nth(&self, stream: StreamId, n: usize) -> Option<Route> {
        let of = &self.network.streams[stream];
        let mut found = self.found.borrow_mut();
        let count = (n + 1).min(self.most);
        let mut another = n == 0;
        if let [listener] = of.listeners[..] {
            let path = found.between(of.talker, listener, count).get(n)?;
            return Some(Route::along(self.network, stream, std::slice::from_ref(path), self.slot_ns));
        }
        let mut paths = Vec::with_capacity(of.listeners.len());
        for &listener in &of.listeners {
            let known = found.between(of.talker, listener, count);
            // Several listeners: each takes its own n-th path while it has one.
            another |= n < known.len();
            paths.push(known.get(n).or(known.last())?.clone());
        }
        another.then(|| Route::along(self.network, stream, &paths, self.slot_ns))
    }

    /// The links of the stream's quickest way.
    pub fn links(&self, stream: StreamId) -> Option<Vec<LinkId>> {
        let of = &self.network.streams[stream];
        match of.listeners[..] {
            [listener] => self.found.borrow_mut().between(of.talker, listener, 1).first().cloned(),
            _ => Some(self.nth(stream, 0)?.hops.iter().map(|hop| hop.link).collect()),
        }
    }

    /// How many ways are tried at most.
    pub fn most(&self) -> usize {
        self.most
    }
}

/// Paths that were asked for.
struct Found {
    graph: Graph,
    /// Of each link.
    cost: Vec<u64>,
    /// Listeners of each talker's streams.
    listeners: Vec<Vec<NodeId>>,
    /// By talker, and in the order of listeners: the cheapest path, and the others once they were wanted; nothing where there
    /// is none.
    paths: Vec<Vec<(NodeId, Option<Paths>)>>,
    search: PathSearch,
    /// What it costs at least from each node to a listener that was asked about.
    least: Least,
}

impl Found {
    fn new(network: &Network) -> Self {
        let cost = (0..network.links.len()).map(|link| delay_ns(network, link)).collect();
        let mut listeners = vec![Vec::new(); network.nodes.len()];
        network.streams.iter().for_each(|stream| listeners[stream.talker].extend(&stream.listeners));
        Self {
            graph: Graph::new(network),
            cost,
            listeners,
            paths: vec![Vec::new(); network.nodes.len()],
            search: PathSearch::default(),
            least: Least::default(),
        }
    }

    /// Up to `count` paths, if there are so many. One search is for all listeners of the talker's streams.
    fn between(&mut self, from: NodeId, to: NodeId, count: usize) -> &[Vec<LinkId>] {
        let Self { graph, cost, listeners, paths, search, least } = self;
        let cost = |link: LinkId| cost[link];
        let known = &mut paths[from];
        let place = |known: &[(NodeId, Option<Paths>)], to| known.binary_search_by_key(&to, |(to, _)| *to);
        if place(known, to).is_err() {
            let tree = graph.tree(from, cost);
            let mut others: Vec<NodeId> = listeners[from].iter().copied().chain([to]).collect();
            others.sort_unstable();
            others.dedup();
            others.retain(|to| place(known, *to).is_err());
            known.extend(others.into_iter().map(|to| (to, tree.path(graph, to).map(Paths::new))));
            known.sort_by_key(|(to, _)| *to);
        }
        let Ok(place) = place(known, to) else { return &[] };
        let Some(paths) = &mut known[place].1 else { return &[] };
        if paths.known().len() < count {
            let least = least.to(graph, to, cost);
            paths.extend(graph, count, search, |node| least[node], cost);
        }
        paths.known()
    }
}

#[cfg(test)]
mod tests;
