//! Which nodes of a network this machine is.

use std::collections::BTreeSet;

use ontick_tsn::network::{Kind, Network, NodeId};

use crate::commands::network::node_flags::listed;
use crate::failure::Failure;

/// The nodes whose cables are checked.
#[derive(Debug)]
pub struct Chosen {
    /// In the order of the file.
    pub nodes: Vec<NodeId>,
    /// Interfaces of switches that the machine is, too.
    pub elsewhere: BTreeSet<String>,
}

impl Chosen {
    /// Those that are named; else the one that is called as lldpd calls the machine, and switches that have all their
    /// interfaces here.
    pub fn of(
        network: &Network,
        names: &[String],
        here: impl Fn(&str) -> bool,
        system_name: Option<&str>,
    ) -> Result<Self, Failure> {
        let choice = Choice { network, here };
        let named = match names.is_empty() {
            false => choice.named(names)?,
            true => choice.called(system_name)?,
        };
        let mut nodes = named.clone();
        let complete: Vec<NodeId> = choice.complete_switches().filter(|id| !named.contains(id)).collect();
        if names.is_empty() {
            // Machines call their interfaces alike; the name decides.
            nodes.extend(complete.iter().filter(|id| named.iter().all(|other| !choice.share(**id, *other))));
        }
        if nodes.is_empty() {
            return Err(choice.nobody(system_name));
        }
        nodes.sort_unstable();
        nodes.dedup();
        choice.check_distinct(&nodes)?;
        let elsewhere = complete.iter().filter(|id| !nodes.contains(id)).flat_map(|id| choice.ports(*id));
        let elsewhere = elsewhere.map(str::to_owned).collect();
        Ok(Self { nodes, elsewhere })
    }
}

struct Choice<'a, H> {
    network: &'a Network,
    here: H,
}

impl<'a, H: Fn(&str) -> bool> Choice<'a, H> {
    fn named(&self, names: &[String]) -> Result<Vec<NodeId>, Failure> {
        let find = |name: &String| {
            let found = self.network.nodes.iter().position(|node| node.name == *name).ok_or_else(|| {
                let known = listed(self.network.nodes.iter().map(|node| node.name.as_str()));
                Failure::new(format!("the network has no node {name}; its nodes are {known}"))
            })?;
            self.check_here(found, "")
        };
        names.iter().map(find).collect()
    }

    /// The one that this system name is of.
    fn called(&self, system_name: Option<&str>) -> Result<Vec<NodeId>, Failure> {
        match system_name.map(|name| self.network.called(name)).as_deref() {
            Some([one]) => Ok(vec![self.check_here(*one, ", as lldpd calls this machine,")?]),
            _ => Ok(Vec::new()),
        }
    }

    fn check_here(&self, node: NodeId, why: &str) -> Result<NodeId, Failure> {
        let missing: Vec<&str> = self.ports(node).filter(|port| !(self.here)(port)).collect();
        match missing.is_empty() {
            true => Ok(node),
            false => Err(Failure::new(format!(
                "node {}{why} has no interface {} here: correct `ports` in the network's file, or name the node that \
                 this machine is (--node)",
                self.name(node),
                listed(missing.into_iter())
            ))),
        }
    }

    fn complete_switches(&self) -> impl Iterator<Item = NodeId> + '_ {
        let is_complete = |id: &NodeId| {
            let mut out = self.network.links.iter().filter(|link| link.from == *id).peekable();
            out.peek().is_some() && out.all(|link| link.port.as_deref().is_some_and(&self.here))
        };
        (0..self.network.nodes.len()).filter(|id| self.network.nodes[*id].kind == Kind::Switch).filter(is_complete)
    }

    fn check_distinct(&self, nodes: &[NodeId]) -> Result<(), Failure> {
        for (place, node) in nodes.iter().enumerate() {
            for other in &nodes[..place] {
                if let Some(port) = self.ports(*node).find(|port| self.ports(*other).any(|other| other == *port)) {
                    return Err(Failure::new(format!(
                        "interface {port} is of node {} and of node {}: name the one that this machine is (--node)",
                        self.name(*other),
                        self.name(*node)
                    )));
                }
            }
        }
        Ok(())
    }

    fn nobody(&self, system_name: Option<&str>) -> Failure {
        let called = match system_name {
            Some(name) => format!("none is called {name}, as lldpd calls it, and"),
            None => "lldpd has no name for it, and".into(),
        };
        Failure::new(format!(
            "no node of the network is known to be this machine: {called} no switch has all its interfaces here: name \
             the node (--node), or give it a `system-name` in the file"
        ))
    }

    fn share(&self, one: NodeId, other: NodeId) -> bool {
        self.ports(one).any(|port| self.ports(other).any(|other| other == port))
    }

    fn ports(&self, node: NodeId) -> impl Iterator<Item = &'a str> {
        let network = self.network;
        network.links.iter().filter(move |link| link.from == node).filter_map(|link| link.port.as_deref())
    }

    fn name(&self, node: NodeId) -> &'a str {
        &self.network.nodes[node].name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two switches on one cable, each with a station.
    const NETWORK: &str = r#"
switch = [{ name = "s1" }, { name = "s2", system-name = "rack-2" }]
station = [{ name = "camera" }, { name = "drive" }]
link = [
  { between = ["camera", "s1"], ports = ["eth0", "lan1"] },
  { between = ["s1", "s2"], ports = ["lan2", "lan1"] },
  { between = ["s2", "drive"], ports = ["lan3", "eth0"] },
]
stream = [{ name = "a", from = "camera", to = "drive", size = 100, period = "1ms" }]
"#;

    fn chosen(names: &[&str], interfaces: &[&str], system_name: &str) -> Result<String, String> {
        let network = ontick_tsn::network::read(NETWORK).map_err(|errors| errors.to_string()).unwrap();
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        let here = |interface: &str| interfaces.contains(&interface);
        let system_name = Some(system_name).filter(|name| !name.is_empty());
        let chosen = Chosen::of(&network, &names, here, system_name).map_err(|failure| failure.to_string())?;
        let names: Vec<&str> = chosen.nodes.iter().map(|id| network.nodes[*id].name.as_str()).collect();
        let elsewhere: Vec<String> = chosen.elsewhere.into_iter().collect();
        Ok(format!("{} | {}", names.join(" "), elsewhere.join(" ")))
    }

    #[test]
    fn a_machine_is_what_it_is_called_or_has_the_interfaces_of() {
        let all = ["eth0", "lan1", "lan2", "lan3"];
        for (names, interfaces, called, is) in [
            (&[][..], &all[..3], "", "s1 | "),
            (&[], &all, "rack-2.plant.example", "s2 | lan1 lan2"),
            (&[], &all, "s1", "s1 | lan1 lan3"),
            (&[], &all[..3], "drive", "s1 drive | "),
            (&[], &all[..1], "camera", "camera | "),
            (&["drive"], &all[..3], "s1", "drive | lan1 lan2"),
            (&["s2", "drive"], &all, "", "s2 drive | lan1 lan2"),
        ] {
            assert_eq!(chosen(names, interfaces, called).as_deref(), Ok(is), "{names:?} {interfaces:?} {called}");
        }
    }

    #[test]
    fn a_machine_that_is_nobody_or_anybody_is_refused() {
        let all = ["eth0", "lan1", "lan2", "lan3"];
        for (names, interfaces, called, says) in [
            (&[][..], &all[..], "", "interface lan1 is of node s1 and of node s2: name the one"),
            (&["camera", "drive"], &all, "", "interface eth0 is of node camera and of node drive: name the one"),
            (&["hmi"], &all, "", "the network has no node hmi; its nodes are s1, s2, camera, drive"),
            (&["s1"], &all[..2], "", "node s1 has no interface lan2 here: correct `ports`"),
            (&[], &all[..2], "s1", "node s1, as lldpd calls this machine, has no interface lan2 here: correct"),
            (
                &[],
                &["lo"],
                "x",
                "no node of the network is known to be this machine: none is called x, as lldpd calls it",
            ),
            (&[], &["lo"], "", "no node of the network is known to be this machine: lldpd has no name for it"),
        ] {
            let said = chosen(names, interfaces, called).unwrap_err();
            assert!(said.starts_with(says), "{said}");
        }
    }
}
