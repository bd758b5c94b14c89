//! What a path costs: the delays of its links, and from any node to another one at least so much.

use std::collections::HashMap;
use std::rc::Rc;

use crate::network::{Graph, LinkId, Network, NodeId};

/// What a link costs whoever uses it: its delay. All cost something, so that loops never pay.
pub fn delay_ns(network: &Network, link: LinkId) -> u64 {
    let way = &network.links[link];
    let largest = network.timing.message_ns(network.overhead.message_time(1500, way.rate));
    largest + way.propagation_ns + network.processing_ns(link).1
}

/// Costs of the cheapest paths to a node, of those nodes that were asked about last.
#[derive(Default)]
pub struct Least {
    known: HashMap<NodeId, Rc<[u64]>>,
}

/// Numbers that are kept at most, of all nodes together: 32 MiB.
const MOST_COSTS: usize = 1 << 22;

impl Least {
    /// Of the paths to this node.
    pub fn to(&mut self, graph: &Graph, to: NodeId, cost: impl Fn(LinkId) -> u64) -> Rc<[u64]> {
        if let Some(known) = self.known.get(&to) {
            return known.clone();
        }
        let costs: Rc<[u64]> = graph.costs_to(to, cost).into();
        if (self.known.len() + 1).saturating_mul(costs.len()) > MOST_COSTS {
            self.known.clear();
        }
        self.known.insert(to, costs.clone());
        costs
    }
}
