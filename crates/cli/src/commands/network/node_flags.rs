//! Which switches of a network this machine is.

use std::collections::BTreeSet;

use clap::Args;
use ontick_switch::apply::{Journal, Live, SwitchDir, links};
use ontick_tsn::network::{Kind, Network, NodeId};
use ontick_tsn::planning::nodes;

use crate::commands::switch::target_flags::{StateFlag, standing};
use crate::failure::Failure;

/// Names that are listed in a sentence.
const EACH: usize = 8;

#[derive(Args)]
pub struct NodeFlags {
    /// A switch of the network that this machine is (repeatable) [default: those whose interfaces are all here]
    #[arg(long = "node", value_name = "NAME")]
    names: Vec<String>,
}

/// A switch of the network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// What it is called where it is set up.
    pub name: String,
    /// Its interfaces.
    pub ports: Vec<String>,
}

impl NodeFlags {
    /// As they were given, for a command that is to be typed.
    pub fn words(&self) -> Vec<String> {
        self.names.iter().flat_map(|name| ["--node".into(), name.clone()]).collect()
    }

    /// Those that this machine is to be, in the order of the network's file.
    pub fn here(&self, network: &Network) -> Result<Vec<Node>, Failure> {
        let interfaces: BTreeSet<String> = links(&Live)?.into_iter().map(|link| link.name).collect();
        let of_file = self.of_file(network)?;
        match self.names.is_empty() {
            true => complete(network, of_file, &interfaces),
            false => distinct(all_here(of_file, &interfaces)?),
        }
    }

    /// Those of which something is set up on this machine, in the order of the network's file.
    pub fn applied(&self, network: &Network, state: &StateFlag) -> Result<Vec<(Node, SwitchDir, Journal)>, Failure> {
        let mut applied = Vec::new();
        for node in self.of_file(network)? {
            let folder = state.folder(&node.name)?;
            let Some(journal) = Journal::read(&folder)? else { continue };
            // Another switch may be called so.
            let ports: BTreeSet<String> = standing(&folder)?.ports.into_iter().map(|port| port.name).collect();
            if ports == node.ports.iter().cloned().collect() {
                applied.push((node, folder, journal));
            }
        }
        Ok(applied)
    }

    /// All, or those that are named.
    fn of_file(&self, network: &Network) -> Result<Vec<Node>, Failure> {
        if let Some(name) = self.names.iter().find(|name| !is_switch(network, name)) {
            let is_station = network.nodes.iter().any(|node| node.name == **name);
            return Err(Failure::new(match is_station {
                true => format!("{name} is a station: `ontick network talk` and `listen` are for stations"),
                false => format!(
                    "the network has no switch {name}; its switches are {}",
                    listed(switches(network).map(|id| network.nodes[id].name.as_str()))
                ),
            }));
        }
        let wanted = |id: &NodeId| self.names.is_empty() || self.names.contains(&network.nodes[*id].name);
        let node = |id| Node { name: nodes::name(network, id), ports: nodes::interfaces(network, id) };
        Ok(switches(network).filter(wanted).map(node).collect())
    }
}

fn switches(network: &Network) -> impl Iterator<Item = NodeId> + '_ {
    (0..network.nodes.len()).filter(|id| network.nodes[*id].kind == Kind::Switch)
}

fn is_switch(network: &Network, name: &str) -> bool {
    switches(network).any(|id| network.nodes[id].name == name)
}

pub fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    match names.len().checked_sub(EACH) {
        None | Some(0) => names.join(", "),
        Some(more) => format!("{} and {more} more", names[..EACH].join(", ")),
    }
}

fn missing<'a>(node: &'a Node, interfaces: &BTreeSet<String>) -> Vec<&'a str> {
    node.ports.iter().filter(|port| !interfaces.contains(*port)).map(String::as_str).collect()
}

fn all_here(nodes: Vec<Node>, interfaces: &BTreeSet<String>) -> Result<Vec<Node>, Failure> {
    match nodes.iter().find(|node| !missing(node, interfaces).is_empty()) {
        None => Ok(nodes),
        Some(node) => Err(Failure::new(format!(
            "switch {} is not this machine: it has no interface {}",
            node.name,
            listed(missing(node, interfaces).into_iter())
        ))),
    }
}

/// Those that have all their interfaces here. One that has some of them is another machine's if another switch has these
/// too, and else a mistake.
fn complete(network: &Network, nodes: Vec<Node>, interfaces: &BTreeSet<String>) -> Result<Vec<Node>, Failure> {
    let (here, others): (Vec<Node>, Vec<Node>) =
        nodes.into_iter().partition(|node| missing(node, interfaces).is_empty());
    let here = distinct(here)?;
    let taken: BTreeSet<&String> = here.iter().flat_map(|node| &node.ports).collect();
    let own = |node: &&Node| node.ports.iter().any(|port| interfaces.contains(port) && !taken.contains(port));
    if let Some(part) = others.iter().find(own) {
        return Err(Failure::new(format!(
            "switch {} has interfaces of this machine, but {} is not here: correct `ports` in the network's file, or name \
             the switches that this machine is (--node)",
            part.name,
            listed(missing(part, interfaces).into_iter())
        )));
    }
    if !here.is_empty() {
        return Ok(here);
    }
    let unnamed = network.links.iter().all(|link| link.port.is_none());
    let help = if unnamed { ": name them by `ports` in [[link]]" } else { "" };
    Err(Failure::new(format!(
        "no switch of the network ({}) has its interfaces on this machine{help}",
        listed(others.iter().map(|node| node.name.as_str()))
    )))
}

/// Machines may call their interfaces alike; one machine has each once.
fn distinct(nodes: Vec<Node>) -> Result<Vec<Node>, Failure> {
    for (place, node) in nodes.iter().enumerate() {
        for other in &nodes[..place] {
            if let Some(port) = node.ports.iter().find(|port| other.ports.contains(port)) {
                return Err(Failure::new(format!(
                    "interface {port} is of switch {} and of switch {}: name the one that this machine is (--node)",
                    other.name, node.name
                )));
            }
            if node.name == other.name {
                return Err(Failure::new(format!(
                    "two switches would both be called {}: have their names differ in the first 15 letters",
                    node.name
                )));
            }
        }
    }
    Ok(nodes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two switches on one cable, each with a station.
    fn network(ports: [[&str; 2]; 3]) -> Network {
        let [camera, between, drive] = ports.map(|[a, b]| format!("ports = [\"{a}\", \"{b}\"]"));
        let text = format!(
            "switch = [{{ name = \"s1\" }}, {{ name = \"s2\" }}]\nstation = [{{ name = \"camera\" }}, {{ name = \"drive\" \
             }}]\nlink = [{{ between = [\"camera\", \"s1\"], {camera} }}, {{ between = [\"s1\", \"s2\"], {between} }}, {{ \
             between = [\"s2\", \"drive\"], {drive} }}]\nstream = [{{ name = \"a\", from = \"camera\", to = \"drive\", size \
             = 100, period = \"1ms\" }}]\n"
        );
        ontick_tsn::network::read(&text).map_err(|errors| errors.to_string()).unwrap()
    }

    fn flags(names: &[&str]) -> NodeFlags {
        NodeFlags { names: names.iter().map(ToString::to_string).collect() }
    }

    fn chosen(network: &Network, names: &[&str], interfaces: &[&str]) -> Result<Vec<String>, String> {
        let of_file = flags(names).of_file(network).map_err(|f| f.to_string())?;
        let interfaces = interfaces.iter().map(ToString::to_string).collect();
        let chosen = match names {
            [] => complete(network, of_file, &interfaces),
            _ => all_here(of_file, &interfaces).and_then(distinct),
        };
        chosen.map(|nodes| nodes.into_iter().map(|node| node.name).collect()).map_err(|f| f.to_string())
    }

    #[test]
    fn a_machine_is_the_switches_whose_interfaces_it_has() {
        let network = network([["eth0", "a1"], ["a2", "b1"], ["b2", "eth0"]]);
        assert_eq!(chosen(&network, &[], &["lo", "a1", "a2", "eth0"]), Ok(vec!["s1".into()]));
        assert_eq!(chosen(&network, &[], &["a1", "a2", "b1", "b2"]), Ok(vec!["s1".into(), "s2".into()]));
        assert_eq!(chosen(&network, &["s2"], &["a1", "a2", "b1", "b2"]), Ok(vec!["s2".into()]));
        for (names, interfaces, says) in [
            (&[][..], &["lo"][..], "no switch of the network (s1, s2) has its interfaces on this machine"),
            (&[][..], &["a1", "a2", "b1"][..], "switch s2 has interfaces of this machine, but b2 is not here"),
            (&["s2"][..], &["b1"][..], "switch s2 is not this machine: it has no interface b2"),
            (&["s3"][..], &["b1"][..], "the network has no switch s3; its switches are s1, s2"),
            (&["drive"][..], &["b1"][..], "drive is a station: "),
        ] {
            let said = chosen(&network, names, interfaces).unwrap_err();
            assert!(said.starts_with(says), "{said}");
        }
    }

    #[test]
    fn machines_may_call_their_interfaces_alike() {
        let network = network([["eth0", "lan1"], ["lan2", "lan1"], ["lan3", "eth0"]]);
        assert_eq!(chosen(&network, &[], &["lan1", "lan2"]), Ok(vec!["s1".into()]));
        let said = chosen(&network, &[], &["lan1", "lan2", "lan3"]).unwrap_err();
        assert!(said.starts_with("interface lan1 is of switch s1 and of switch s2: name the one"), "{said}");
        assert_eq!(chosen(&network, &["s2"], &["lan1", "lan2", "lan3"]), Ok(vec!["s2".into()]));
    }
}
