//! Whether switches can tell streams apart: all they know of a frame is its destination address and VLAN (IEEE Std
//! 802.1Q-2022, 8.8.1).

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::ValidationInput;
use super::fault::Fault;
use super::verdict::Verdict;
use crate::egress::DataPlane;
use crate::network::{Kind, LinkId, NodeId, StreamId};

/// A stream, and the links that it leaves a switch by.
type Way = (StreamId, BTreeSet<LinkId>);

pub(super) fn check(input: &ValidationInput, verdict: &mut Verdict) {
    let network = input.network;
    let addresses = network.addresses();
    // The kernel's bridge is set up without VLANs.
    let by_vlan = !matches!(input.target.plane, Some(DataPlane::Kernel | DataPlane::Hardware));
    let mut first: HashMap<(NodeId, [u8; 6], Option<u16>), Way> = HashMap::new();
    for (stream, route) in input.schedule.routes.iter().enumerate() {
        let mut ways: BTreeMap<NodeId, BTreeSet<LinkId>> = BTreeMap::new();
        for link in route.iter().filter(|link| network.nodes[network.links[**link].from].kind == Kind::Switch) {
            ways.entry(network.links[*link].from).or_default().insert(*link);
        }
        let vlan = network.streams[stream].vlan.filter(|_| by_vlan);
        for (node, way) in ways {
            let (other, known) = first.entry((node, addresses[stream], vlan)).or_insert_with(|| (stream, way.clone()));
            if *known != way {
                verdict.add(Fault::OneAddress(node, *other, stream));
            }
        }
    }
}
