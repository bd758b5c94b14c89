//! From routes to static entries: a switch forwards a stream's frames by their destination address and VLAN, on the
//! links that the plan has for it; all else takes a spanning tree.

use std::collections::HashMap;
use std::fmt;

use crate::bridge_entry::unfit_for_kernel;
use crate::config::show_mac;
use crate::egress::DataPlane;
use crate::model::{Forwarding, StaticEntry};
use crate::network::{Kind, LinkId, Network, NodeId, StreamId};
use crate::validate::Schedule;

/// Two streams that a switch cannot tell apart, and that do not go the same way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ambiguous {
    /// Where.
    pub node: String,
    /// The streams.
    pub streams: [String; 2],
    /// Their address.
    pub address: String,
    /// Whether another VLAN would tell them apart.
    pub by_vlan: bool,
}

impl fmt::Display for Ambiguous {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { node, streams: [a, b], address, by_vlan } = self;
        let or_vlan = if *by_vlan { " or `vlan`" } else { "" };
        write!(
            f,
            "streams {a} and {b} have the address {address} and part at {node}, which cannot tell them apart; give one of them another `address`{or_vlan}"
        )
    }
}

/// The kernel's bridge cannot send a stream where it is planned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfit {
    /// Where.
    pub node: String,
    /// The stream.
    pub stream: String,
    /// Its address.
    pub address: String,
    /// Why.
    pub why: &'static str,
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { node, stream, address, why } = self;
        write!(
            f,
            "stream {stream} with the address {address} cannot be forwarded by the kernel at {node}: {why}; leave its `address` out, or plan for the user data plane"
        )
    }
}

/// Why a switch cannot forward the streams as they are planned.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ForwardingError {
    /// A switch could not tell streams apart.
    #[error("{0}")]
    Ambiguous(Ambiguous),
    /// The kernel's bridge cannot forward a stream.
    #[error("{0}")]
    Unfit(Unfit),
}

/// What a switch knows a stream by: itself, destination address and VLAN.
type Key = (NodeId, [u8; 6], Option<u16>);

/// What each node is to do on a data plane, by node; ports by their place among the node's links out.
pub fn forwarding(
    network: &Network,
    schedule: &Schedule,
    plane: Option<DataPlane>,
) -> Result<Vec<Forwarding>, ForwardingError> {
    // Linux forwards for ports that open gates by themselves, too; its bridge is set up without VLANs.
    let by_kernel = matches!(plane, Some(DataPlane::Kernel | DataPlane::Hardware));
    let mut place = vec![0; network.links.len()];
    let mut ports: Vec<usize> = vec![0; network.nodes.len()];
    for (id, link) in network.links.iter().enumerate() {
        place[id] = ports[link.from];
        ports[link.from] += 1;
    }
    let tree = network.spanning_tree();
    let addresses = network.addresses();
    let mut nodes = vec![Forwarding::default(); network.nodes.len()];
    let is_switch = |node: NodeId| network.nodes[node].kind == Kind::Switch;
    for (node, forwarding) in nodes.iter_mut().enumerate().filter(|(node, _)| is_switch(*node)) {
        let out = || (0..network.links.len()).filter(|link| network.links[*link].from == node);
        if out().any(|link| !tree[link]) {
            forwarding.flood = Some(out().filter(|link| tree[*link]).map(|link| place[link]).collect());
        }
    }
    let mut by: HashMap<Key, (StreamId, usize)> = HashMap::new();
    for (stream, route) in schedule.routes.iter().enumerate() {
        let (to, vlan) = (addresses[stream], network.streams[stream].vlan.filter(|_| !by_kernel));
        for (node, ports) in branches(network, route, &place).into_iter().filter(|(node, _)| is_switch(*node)) {
            let entries = &mut nodes[node].entries;
            let (first, at) = *by.entry((node, to, vlan)).or_insert((stream, entries.len()));
            match entries.get(at) {
                None => {
                    let entry = StaticEntry { to, vlan, ports };
                    if let Some(why) = unfit_for_kernel(&entry).filter(|_| by_kernel) {
                        return Err(ForwardingError::Unfit(Unfit {
                            node: network.nodes[node].name.clone(),
                            stream: network.streams[stream].name.clone(),
                            address: show_mac(to),
                            why,
                        }));
                    }
                    entries.push(entry);
                }
                Some(known) if known.ports == ports => {}
                Some(_) => {
                    return Err(ForwardingError::Ambiguous(Ambiguous {
                        node: network.nodes[node].name.clone(),
                        streams: [first, stream].map(|stream| network.streams[stream].name.clone()),
                        address: show_mac(to),
                        by_vlan: !by_kernel,
                    }));
                }
            }
        }
    }
    Ok(nodes)
}

/// The ports that a route leaves each of its nodes by.
fn branches(network: &Network, route: &[LinkId], place: &[usize]) -> Vec<(NodeId, Vec<usize>)> {
    let mut branches: Vec<(NodeId, Vec<usize>)> = Vec::new();
    for &link in route {
        let node = network.links[link].from;
        match branches.iter_mut().find(|(known, _)| *known == node) {
            Some((_, ports)) => ports.push(place[link]),
            None => branches.push((node, vec![place[link]])),
        }
    }
    for (_, ports) in &mut branches {
        ports.sort_unstable();
        ports.dedup();
    }
    branches
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::samples;
    use crate::planning::{Outcome, PlanOptions, Timetable, gate_control_list, plan};

    fn planned(network: &Network) -> Schedule {
        let Outcome::Planned(table) = plan(network, &PlanOptions::default(), &Timetable::default(), &|| true) else {
            panic!()
        };
        gate_control_list::schedule(network, &table).unwrap()
    }

    /// The links that a frame passes, each as often as it does; `to` is its address.
    fn reached_links(network: &Network, nodes: &[Forwarding], talker: NodeId, to: [u8; 6]) -> Vec<LinkId> {
        let out = |node: NodeId| (0..network.links.len()).filter(move |link| network.links[*link].from == node);
        let mut passed = Vec::new();
        let mut waiting: Vec<LinkId> = out(talker).collect();
        while let Some(link) = waiting.pop() {
            passed.push(link);
            assert!(passed.len() < 1_000, "it goes round for ever: {passed:?}");
            let node = network.links[link].to;
            if network.nodes[node].kind == Kind::Station {
                continue;
            }
            let forwarding = &nodes[node];
            let all: Vec<LinkId> = out(node).collect();
            let back = all.iter().position(|port| network.reverse(*port) == Some(link)).unwrap();
            let floods = |port: &usize| forwarding.flood.as_ref().is_none_or(|flood| flood.contains(port));
            let ports: Vec<usize> = match forwarding.entries.iter().find(|entry| entry.to == to) {
                Some(entry) => entry.ports.clone(),
                None if floods(&back) => (0..all.len()).filter(floods).collect(),
                None => Vec::new(),
            };
            waiting.extend(ports.into_iter().filter(|port| *port != back).map(|port| all[port]));
        }
        passed.sort_unstable();
        passed
    }

    fn two_cables() -> Network {
        let mut network = samples::ring(4, 40);
        let [there, back] = [0, 1].map(|link| network.links[link].clone());
        network.links.extend([there, back]);
        network
    }

    #[test]
    fn planned_routes_are_the_routes_taken_and_loops_carry_nothing_else() {
        for network in [samples::ring(4, 40), samples::ring(7, 60), two_cables()] {
            let schedule = planned(&network);
            let nodes = forwarding(&network, &schedule, None).unwrap();
            let addresses = network.addresses();
            for (stream, route) in schedule.routes.iter().enumerate() {
                let mut route = route.clone();
                route.sort_unstable();
                let taken = reached_links(&network, &nodes, network.streams[stream].talker, addresses[stream]);
                assert_eq!(taken, route, "{}", network.streams[stream].name);
            }
            // A broadcast reaches every other station, once.
            let stations = network.nodes.iter().filter(|node| node.kind == Kind::Station).count();
            let talker = network.streams[0].talker;
            let passed = reached_links(&network, &nodes, talker, [0xff; 6]);
            let arrived = passed.iter().filter(|link| network.nodes[network.links[**link].to].kind == Kind::Station);
            assert_eq!(arrived.count(), stations - 1);
        }
    }

    #[test]
    fn without_a_loop_all_ports_flood() {
        let mut network = samples::ring(3, 6);
        // The cable that closes the ring.
        network.links.retain(|link| (link.from.min(link.to), link.from.max(link.to)) != (0, 2));
        let nodes = forwarding(&network, &planned(&network), None).unwrap();
        assert!(nodes.iter().all(|node| node.flood.is_none()));
        assert!(nodes[..3].iter().all(|node| !node.entries.is_empty()));
    }

    #[test]
    fn streams_that_part_have_addresses_of_their_own() {
        let mut network = samples::ring(4, 8);
        network.streams.truncate(2);
        network.streams.iter_mut().for_each(|stream| stream.address = Some([2, 0, 0, 0, 0, 1]));
        network.streams[1] =
            crate::network::Stream { name: "g".into(), listeners: vec![6], ..network.streams[0].clone() };
        let schedule = planned(&network);
        let said = forwarding(&network, &schedule, None).unwrap_err().to_string();
        assert!(said.starts_with("streams f0 and g have the address 02:00:00:00:00:01 and part at s"), "{said}");
        network.streams[1].vlan = Some(7);
        assert!(forwarding(&network, &schedule, None).is_ok());
    }

    #[test]
    fn for_the_kernel_only_entries_that_its_bridge_can_hold_are_planned() {
        let kernel = Some(DataPlane::Kernel);
        let mut network = samples::ring(4, 8);
        network.streams.truncate(2);
        network.streams[0].vlan = Some(7);
        network.streams[1].listeners = (4..8).filter(|node| *node != network.streams[1].talker).collect();
        let of = |network: &Network, plane| forwarding(network, &planned(network), plane);
        let entries = |nodes: Vec<Forwarding>| nodes.into_iter().flat_map(|node| node.entries).collect::<Vec<_>>();
        let planned_for_it = entries(of(&network, kernel).unwrap());
        assert!(planned_for_it.iter().all(|entry| unfit_for_kernel(entry).is_none()), "{planned_for_it:?}");
        assert!(planned_for_it.iter().any(|entry| entry.ports.len() > 1), "a group parts somewhere");
        assert!(entries(of(&network, Some(DataPlane::User)).unwrap()).iter().any(|entry| entry.vlan == Some(7)));

        network.streams[1].address = Some([2, 0, 0, 0, 0, 1]);
        let error = of(&network, kernel).unwrap_err().to_string();
        assert!(error.contains("one port for each address") && error.contains("the user data plane"), "{error}");
        assert!(of(&network, Some(DataPlane::User)).is_ok());

        network.streams[1].listeners.truncate(1);
        network.streams[0].address = Some([2, 0, 0, 0, 0, 1]);
        network.streams[1].listeners = vec![network.streams[1].talker];
        network.streams[1].talker = network.streams[0].talker;
        if network.streams[0].listeners != network.streams[1].listeners {
            let error = of(&network, kernel).unwrap_err().to_string();
            assert!(error.ends_with("another `address`"), "{error}");
        }
    }

    /// One address is enough for streams that go the same way.
    #[test]
    fn streams_on_one_way_may_share_an_address() {
        let mut network = samples::ring(4, 2);
        network.streams.iter_mut().for_each(|stream| stream.address = Some([2, 0, 0, 0, 0, 1]));
        network.streams[1] = crate::network::Stream { name: "g".into(), ..network.streams[0].clone() };
        let entries = |nodes: Vec<Forwarding>| nodes.into_iter().flat_map(|node| node.entries).collect::<Vec<_>>();
        let both = entries(forwarding(&network, &planned(&network), None).unwrap());
        network.streams.truncate(1);
        assert_eq!(both, entries(forwarding(&network, &planned(&network), None).unwrap()));
        // Where they part, another VLAN helps if the data plane looks at it.
        network.streams.push(crate::network::Stream { listeners: vec![6], ..network.streams[0].clone() });
        let said = |plane| forwarding(&network, &planned(&network), plane).unwrap_err().to_string();
        assert!(said(None).ends_with("another `address` or `vlan`"), "{}", said(None));
        let kernel = said(Some(DataPlane::Kernel));
        assert!(kernel.ends_with("another `address`"), "{kernel}");
    }
}
