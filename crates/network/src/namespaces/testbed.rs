//! Namespaces and cables.

use ontick_switch::verify::namespace::{Namespace, NamespaceError};
use ontick_switch::verify::testbed;
use ontick_tsn::egress::DataPlane;
use ontick_tsn::network::{Kind, LinkId, Network, NodeId};

use super::{MOST_CABLES, NamespacesError};
use crate::switches::out_of;

/// A namespace for each station, and one for all switches where one core serves them; the kernel's have one each.
pub(super) struct Testbed {
    pub switches: Namespace,
    /// By node; none for switches that share theirs.
    own: Vec<Option<Namespace>>,
    /// By link: the interface that sends.
    interfaces: Vec<String>,
}

impl Testbed {
    pub fn new(network: &Network, plane: DataPlane) -> Result<Self, NamespacesError> {
        let cables = cables(network)?;
        if cables.len() > MOST_CABLES {
            return Err(NamespacesError::TooLarge(cables.len()));
        }
        let of_node = |node: &ontick_tsn::network::Node| match node.kind {
            Kind::Switch if plane == DataPlane::User => Ok(None),
            Kind::Switch | Kind::Station => Namespace::new().map(Some),
        };
        let own = network.nodes.iter().map(of_node).collect::<Result<Vec<_>, NamespaceError>>()?;
        let bed = Self { switches: Namespace::new()?, own, interfaces: interfaces(network) };
        for (link, back) in cables {
            let of = &network.links[link];
            let (here, there) = (bed.namespace(of.from), bed.namespace(of.to));
            let (name, peer) = (bed.interface(link), bed.interface(back));
            here.join(name, there, peer)?;
            here.within(|| testbed::plain(name))?;
            there.within(|| testbed::plain(peer))?;
        }
        Ok(bed)
    }

    /// Where a node is.
    pub fn namespace(&self, node: NodeId) -> &Namespace {
        self.own[node].as_ref().unwrap_or(&self.switches)
    }

    /// The interface by which its sender sends.
    pub fn interface(&self, link: LinkId) -> &str {
        &self.interfaces[link]
    }
}

/// Both directions of each.
fn cables(network: &Network) -> Result<Vec<(LinkId, LinkId)>, NamespacesError> {
    let mut cables = Vec::new();
    for link in 0..network.links.len() {
        match network.reverse(link) {
            Some(back) if link < back => cables.push((link, back)),
            Some(_) => {}
            None => {
                let [from, to] =
                    [network.links[link].from, network.links[link].to].map(|node| &network.nodes[node].name);
                return Err(NamespacesError::OneWay(network.link_name(link), format!("{to}>{from}")));
            }
        }
    }
    Ok(cables)
}

/// Names that no other interface of the namespace has: `n3p1` is port 1 of node 3.
fn interfaces(network: &Network) -> Vec<String> {
    let mut names = vec![String::new(); network.links.len()];
    for node in 0..network.nodes.len() {
        out_of(network, node).into_iter().enumerate().for_each(|(port, link)| names[link] = format!("n{node}p{port}"));
    }
    names
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use ontick_tsn::network::samples;

    use super::*;

    #[test]
    fn each_cable_has_two_interfaces_with_names_of_their_own() {
        let network = samples::ring(5, 1);
        let names = interfaces(&network);
        assert_eq!(names.iter().collect::<HashSet<_>>().len(), network.links.len());
        assert!(names.iter().all(|name| name.len() <= 15));
        let cables = cables(&network).unwrap();
        assert_eq!(cables.len(), 10);
        for (link, back) in cables {
            assert_eq!(
                (network.links[link].from, network.links[link].to),
                (network.links[back].to, network.links[back].from)
            );
        }
    }

    #[test]
    fn a_link_without_a_way_back_is_no_cable() {
        let mut network = samples::ring(3, 0);
        network.links.pop();
        let error = cables(&network).unwrap_err().to_string();
        assert!(error.starts_with("link h2>s2 has no direction back"), "{error}");
    }
}
