//! The links of a file, held against who is heard at each port.

use std::collections::{BTreeMap, BTreeSet};

use ontick_record::network_check::{
    CableEnd, CableVerdict, CheckedNode, CheckedPort, Identifier, Neighbour, NetworkCheck, SCHEMA,
};
use ontick_tsn::network::{LinkId, Network, NodeId};

use super::answer::{Heard, Listening};
use super::sentences;

/// What a machine knows of its cables.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Machine {
    /// Its interfaces, and whether something is at the other end of the cable.
    pub interfaces: BTreeMap<String, bool>,
    /// Where lldpd listens.
    pub listening: Listening,
    /// Whom it hears.
    pub heard: Vec<Heard>,
}

/// Holds the links of these nodes, which the machine is, against whom it hears. `elsewhere` are interfaces of other nodes that
/// the machine is, too, and that nobody asks about.
pub fn compare(network: &Network, nodes: &[NodeId], machine: &Machine, elsewhere: &BTreeSet<String>) -> NetworkCheck {
    let comparison = Comparison { network, machine };
    let out = |node: NodeId| (0..network.links.len()).filter(move |link| network.links[*link].from == node);
    let port = |link: LinkId| network.links[link].port.as_deref();
    let mut taken: BTreeSet<&str> = elsewhere.iter().map(String::as_str).collect();
    taken.extend(nodes.iter().flat_map(|node| out(*node)).filter_map(port));
    let mut checked = Vec::new();
    for &node in nodes {
        let mut ports = Vec::new();
        for link in out(node) {
            let at = port(link).or_else(|| comparison.anywhere(network.links[link].to, &taken));
            taken.extend(at);
            ports.push(comparison.port(link, at));
        }
        checked.push(CheckedNode { node: network.nodes[node].name.clone(), ports });
    }
    let unplanned = comparison.unplanned(&taken);
    let as_planned = unplanned.is_empty()
        && checked.iter().flat_map(|node| &node.ports).all(|port| port.verdict == CableVerdict::AsPlanned);
    NetworkCheck { schema: SCHEMA.into(), as_planned, nodes: checked, unplanned }
}

struct Comparison<'a> {
    network: &'a Network,
    machine: &'a Machine,
}

impl<'a> Comparison<'a> {
    /// The first port that hears a node and that no other link has: where a file names no interface, there is the cable.
    fn anywhere(&self, node: NodeId, taken: &BTreeSet<&str>) -> Option<&'a str> {
        let hears = |heard: &&Heard| self.is(heard, node) && !taken.contains(heard.at.as_str());
        self.machine.heard.iter().filter(hears).map(|heard| heard.at.as_str()).min()
    }

    fn is(&self, heard: &Heard, node: NodeId) -> bool {
        heard.system_name.as_deref().is_some_and(|name| self.network.called(name).contains(&node))
    }

    fn port(&self, link: LinkId, at: Option<&str>) -> CheckedPort {
        let to = self.network.links[link].to;
        let planned = CableEnd {
            node: self.network.nodes[to].name.clone(),
            port: self.network.reverse(link).and_then(|back| self.network.links[back].port.clone()),
        };
        let found = at.map(|at| self.at(at)).unwrap_or_default();
        let heard_also_at = at.map(|at| self.also_at(at, &found)).unwrap_or_default();
        let verdict = match (at, &found[..]) {
            (Some(at), _) if self.machine.interfaces.get(at) != Some(&true) => CableVerdict::LinkDown,
            (Some(at), []) if !self.machine.listening.at.iter().any(|name| name == at) => CableVerdict::NotListening,
            (_, []) => CableVerdict::Silent,
            (_, [one]) if !self.is(one, to) => CableVerdict::OtherNode,
            (_, [one]) if !may_be(one, planned.port.as_deref()) => CableVerdict::OtherPort,
            (_, [_]) if !heard_also_at.is_empty() => CableVerdict::Shared,
            (_, [_]) => CableVerdict::AsPlanned,
            _ => CableVerdict::Several,
        };
        let heard = found.into_iter().map(|heard| self.neighbour(heard, Some(to))).collect();
        self.explained(CheckedPort {
            port: at.map(str::to_owned),
            planned: Some(planned),
            verdict,
            heard,
            heard_also_at,
            difference: None,
        })
    }

    /// Ports without a link that hear a node of the network.
    fn unplanned(&self, taken: &BTreeSet<&str>) -> Vec<CheckedPort> {
        let known =
            |heard: &&Heard| heard.system_name.as_deref().is_some_and(|name| !self.network.called(name).is_empty());
        let at: BTreeSet<&str> = self.machine.heard.iter().filter(known).map(|heard| heard.at.as_str()).collect();
        let ports = at.into_iter().filter(|at| !taken.contains(at)).map(|at| {
            let found = self.at(at);
            self.explained(CheckedPort {
                port: Some(at.into()),
                planned: None,
                verdict: CableVerdict::Unplanned,
                heard_also_at: self.also_at(at, &found),
                heard: found.into_iter().map(|heard| self.neighbour(heard, None)).collect(),
                difference: None,
            })
        });
        ports.collect()
    }

    fn explained(&self, port: CheckedPort) -> CheckedPort {
        CheckedPort { difference: sentences::difference(&port), ..port }
    }

    /// Neighbours at a port, each once.
    fn at(&self, at: &str) -> Vec<&'a Heard> {
        let mut found: Vec<&Heard> = Vec::new();
        for heard in self.machine.heard.iter().filter(|heard| heard.at == at) {
            if !found.iter().any(|other| identity(other) == identity(heard)) {
                found.push(heard);
            }
        }
        found
    }

    /// Other ports that hear one of these, too. Who sends no identifiers, as the standard has it, may be anybody.
    fn also_at(&self, at: &str, found: &[&Heard]) -> Vec<String> {
        let is_one =
            |heard: &&Heard| heard.chassis.is_some() && found.iter().any(|one| identity(one) == identity(heard));
        let others = self.machine.heard.iter().filter(|heard| heard.at != at).filter(is_one);
        others.map(|heard| heard.at.clone()).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// `expected`: the node that it is if its name may be that of several.
    fn neighbour(&self, heard: &Heard, expected: Option<NodeId>) -> Neighbour {
        let called = heard.system_name.as_deref().map(|name| self.network.called(name)).unwrap_or_default();
        let node = match called[..] {
            [one] => Some(one),
            _ => expected.filter(|node| called.contains(node)),
        };
        Neighbour {
            node: node.map(|node| self.network.nodes[node].name.clone()),
            system_name: heard.system_name.clone(),
            chassis: heard.chassis.clone(),
            port: heard.port.clone(),
            port_description: heard.port_description.clone(),
            age_s: heard.age_s,
            belongs_at: node.and_then(|node| self.belongs_at(node, heard)),
        }
    }

    /// Where the cable from this port of a node leads by the file.
    fn belongs_at(&self, node: NodeId, heard: &Heard) -> Option<CableEnd> {
        let is_it = |link: &LinkId| {
            let link = &self.network.links[*link];
            link.from == node && link.port.as_deref().is_some_and(|port| names(heard).any(|name| name == port))
        };
        let link = (0..self.network.links.len()).find(is_it)?;
        let back = self.network.reverse(link)?;
        let back = &self.network.links[back];
        Some(CableEnd { node: self.network.nodes[back.from].name.clone(), port: back.port.clone() })
    }
}

/// A port of a machine, as LLDP identifies it: by both together (IEEE 802.1AB-2016 clause 8.5.1, MSAP identifier).
fn identity(heard: &Heard) -> (Option<&Identifier>, Option<&Identifier>) {
    (heard.chassis.as_ref(), heard.port.as_ref())
}

/// What may be the name of the neighbour's interface. Its identifier is often the interface's MAC address, which no file has.
fn names(heard: &Heard) -> impl Iterator<Item = &str> {
    let is_name = |id: &&Identifier| !matches!(id.subtype.as_str(), "mac" | "ip");
    heard.port.as_ref().filter(is_name).map(|id| id.value.as_str()).into_iter().chain(heard.port_description.as_deref())
}

/// Whether a neighbour's port may be this one: who gives it no name may.
fn may_be(heard: &Heard, port: Option<&str>) -> bool {
    port.is_none_or(|port| names(heard).next().is_none() || names(heard).any(|name| name == port))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A switch with a cable to each of three stations, two of them with interfaces that are named.
    const NETWORK: &str = r#"
switch = [{ name = "s1" }]
station = [{ name = "camera" }, { name = "drive", system-name = "plc-7" }, { name = "hmi" }]
link = [
  { between = ["camera", "s1"], ports = ["eth0", "p1"] },
  { between = ["drive", "s1"], ports = ["eth1", "p2"] },
  { between = ["hmi", "s1"] },
]
stream = [{ name = "f", from = "camera", to = "drive", size = 100, period = "1ms" }]
"#;

    fn heard(at: &str, name: &str, port: &str) -> Heard {
        let identifier = |subtype: &str, value: String| Some(Identifier { subtype: subtype.into(), value });
        Heard {
            at: at.into(),
            system_name: Some(name.into()),
            chassis: identifier("mac", format!("of {name}")),
            port: identifier("mac", format!("{port} of {name}")),
            port_description: Some(port.into()),
            age_s: Some(7),
        }
    }

    fn machine(heard: Vec<Heard>) -> Machine {
        let at = ["p1", "p2", "p3", "p4"].map(str::to_owned);
        Machine {
            interfaces: at.iter().map(|name| (name.clone(), true)).collect(),
            listening: Listening { at: at.to_vec(), system_name: Some("s1".into()) },
            heard,
        }
    }

    fn as_planned() -> Vec<Heard> {
        vec![heard("p1", "camera.x", "eth0"), heard("p2", "PLC-7", "eth1"), heard("p4", "hmi", "enp1s0")]
    }

    fn check(machine: &Machine) -> NetworkCheck {
        let network = ontick_tsn::network::read(NETWORK).map_err(|errors| errors.to_string()).unwrap();
        compare(&network, &[0], machine, &BTreeSet::new())
    }

    /// Each port with its verdict, and what differs.
    fn verdicts(machine: &Machine) -> Vec<(String, CableVerdict, String)> {
        let check = check(machine);
        let all = check.nodes[0].ports.iter().chain(&check.unplanned);
        let found: Vec<_> = all
            .map(|port| {
                (port.port.clone().unwrap_or_default(), port.verdict, port.difference.clone().unwrap_or_default())
            })
            .collect();
        let planned = |(_, verdict, said): &(String, CableVerdict, String)| {
            assert_eq!(*verdict == CableVerdict::AsPlanned, said.is_empty(), "{said}");
            *verdict == CableVerdict::AsPlanned
        };
        assert_eq!(check.as_planned, found.iter().all(planned));
        found
    }

    /// The verdict of the first port, and what differs there.
    fn first(machine: &Machine) -> (CableVerdict, String) {
        let (_, verdict, said) = verdicts(machine).swap_remove(0);
        (verdict, said)
    }

    #[test]
    fn cables_as_planned() {
        let expected =
            [("p1", CableVerdict::AsPlanned), ("p2", CableVerdict::AsPlanned), ("p4", CableVerdict::AsPlanned)];
        let found = verdicts(&machine(as_planned()));
        assert_eq!(found.iter().map(|(port, verdict, _)| (port.as_str(), *verdict)).collect::<Vec<_>>(), expected);
        let first = &check(&machine(as_planned())).nodes[0].ports[0];
        assert_eq!(first.heard[0].node.as_deref(), Some("camera"));
        assert_eq!(first.heard[0].belongs_at, Some(CableEnd { node: "s1".into(), port: Some("p1".into()) }));
    }

    #[test]
    fn swapped_cables_name_the_ports_where_they_belong() {
        let mut swapped = as_planned();
        swapped[0].at = "p2".into();
        swapped[1].at = "p1".into();
        let found = verdicts(&machine(swapped));
        let said = |node: &str, port: &str, at: &str| {
            format!("a cable is swapped: port {port} of {node} is heard, which belongs at port {at} of s1")
        };
        assert_eq!(found[0], ("p1".into(), CableVerdict::OtherNode, said("drive", "eth1", "p2")));
        assert_eq!(found[1], ("p2".into(), CableVerdict::OtherNode, said("camera", "eth0", "p1")));
        assert_eq!(found[2].1, CableVerdict::AsPlanned);
    }

    #[test]
    fn the_right_node_by_another_port() {
        let mut other = as_planned();
        other[0].port_description = Some("eth5".into());
        assert_eq!(
            first(&machine(other.clone())),
            (CableVerdict::OtherPort, "port eth5 of camera is heard, not eth0".into())
        );
        // By an identifier that is a name, whatever is said of it.
        other[0].port = Some(Identifier { subtype: "ifname".into(), value: "eth0".into() });
        assert_eq!(first(&machine(other.clone())).0, CableVerdict::AsPlanned);
        // Who tells no name is known by the node alone.
        other[0].port = Some(Identifier { subtype: "mac".into(), value: "00:01:02:03:04:05".into() });
        other[0].port_description = None;
        assert_eq!(first(&machine(other)).0, CableVerdict::AsPlanned);
    }

    #[test]
    fn strangers_several_and_shared_neighbours() {
        let mut found = as_planned();
        found[0] = heard("p1", "printer", "eth0");
        let said = "port eth0 of printer is heard, which is no node of the network (a node whose host has another name has `system-name`)";
        assert_eq!(first(&machine(found.clone())), (CableVerdict::OtherNode, said.into()));
        found.push(heard("p1", "camera", "eth0"));
        let said = "2 neighbours are heard, printer eth0 and camera eth0: something in between passes LLDP on";
        assert_eq!(first(&machine(found.clone())), (CableVerdict::Several, said.into()));
        // One that is told twice is one.
        found[0] = heard("p1", "camera", "eth0");
        assert_eq!(first(&machine(found.clone())).0, CableVerdict::AsPlanned);
        found.push(heard("p3", "camera", "eth0"));
        let all = verdicts(&machine(found));
        let said = "port eth0 of camera is heard at p3, too: something in between passes LLDP on";
        assert_eq!(all[0], ("p1".into(), CableVerdict::Shared, said.into()));
        let said = "port eth0 of camera is heard, and the file has no cable here: it belongs at port p1 of s1";
        assert_eq!(all[3], ("p3".into(), CableVerdict::Unplanned, said.into()));
    }

    #[test]
    fn nobody_is_heard() {
        let mut silent = machine(as_planned().split_off(1));
        assert_eq!(first(&silent).0, CableVerdict::Silent);
        silent.listening.at.remove(0);
        assert_eq!(first(&silent).0, CableVerdict::NotListening);
        silent.interfaces.insert("p1".into(), false);
        assert_eq!(first(&silent), (CableVerdict::LinkDown, "the link is down".into()));
        // What was heard before counts no more.
        let mut down = machine(as_planned());
        down.interfaces.insert("p1".into(), false);
        assert_eq!(first(&down).0, CableVerdict::LinkDown);
        // A link without interfaces has no port that could be down.
        let mut unheard = machine(as_planned());
        unheard.heard.truncate(2);
        let last = verdicts(&unheard).swap_remove(2);
        assert_eq!(last, (String::new(), CableVerdict::Silent, "no port hears hmi, and the file names none".into()));
    }

    #[test]
    fn ports_of_another_node_of_the_machine_are_not_asked_about() {
        let mut found = as_planned();
        found.push(heard("p3", "drive", "eth7"));
        found.push(heard("p3", "plc-7", "eth7"));
        let network = ontick_tsn::network::read(NETWORK).map_err(|errors| errors.to_string()).unwrap();
        let check = |elsewhere: &[&str]| {
            let elsewhere = elsewhere.iter().map(ToString::to_string).collect();
            compare(&network, &[0], &machine(found.clone()), &elsewhere).unplanned.len()
        };
        assert_eq!((check(&[]), check(&["p3"])), (1, 0));
    }
}
