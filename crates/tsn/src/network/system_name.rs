//! What a node calls itself towards its neighbours: the system name of LLDP (IEEE 802.1AB-2016 clause 8.5.6).

use std::collections::HashMap;
use std::ops::Range;

use super::{Network, Node, NodeId};
use crate::config::ValueError;
use crate::config::problem::Report;

/// Octets of a system name at most.
pub const LONGEST_SYSTEM_NAME: usize = 255;

impl Node {
    /// What it calls itself: `system-name` of the file, or its name there.
    pub fn system_name(&self) -> &str {
        self.system_name.as_deref().unwrap_or(&self.name)
    }
}

impl Network {
    /// The nodes that a system name may be of: those with exactly this name, else those with other capital letters, else
    /// those whose name differs by its domain alone. More than one is returned only where names differ as little.
    pub fn called(&self, system_name: &str) -> Vec<NodeId> {
        let heard = system_name.trim_end_matches('.');
        let likeness = |node: &Node| likeness(node.system_name().trim_end_matches('.'), heard);
        let found: Vec<(NodeId, Likeness)> =
            self.nodes.iter().enumerate().filter_map(|(id, node)| Some((id, likeness(node)?))).collect();
        let best = found.iter().map(|(_, likeness)| *likeness).min();
        found.into_iter().filter(|(_, likeness)| Some(*likeness) == best).map(|(id, _)| id).collect()
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Likeness {
    Same,
    OtherCase,
    OtherDomain,
}

/// How two names are alike, if they are. A name without a domain is alike one with any; two domains must be the same.
fn likeness(name: &str, heard: &str) -> Option<Likeness> {
    let host = |name: &str| name.split('.').next().unwrap_or_default().to_ascii_lowercase();
    let has_domain = |name: &str| name.contains('.');
    if heard.is_empty() {
        None
    } else if name == heard {
        Some(Likeness::Same)
    } else if name.eq_ignore_ascii_case(heard) {
        Some(Likeness::OtherCase)
    } else {
        (has_domain(name) != has_domain(heard) && host(name) == host(heard)).then_some(Likeness::OtherDomain)
    }
}

/// Why no node calls itself so.
pub(super) fn check(name: &str) -> Result<String, ValueError> {
    match name {
        "" => Err(ValueError::EmptyName),
        name if name.len() > LONGEST_SYSTEM_NAME => Err(ValueError::LongName(LONGEST_SYSTEM_NAME)),
        name if name.trim() != name || name.contains(char::is_control) => {
            Err(ValueError::name(name, "a system name has no control characters, and no spaces at its ends"))
        }
        name => Ok(name.into()),
    }
}

/// That each `system-name` is of one node. Two names alone may differ as little as they like: they always could.
pub(super) fn check_distinct(nodes: &[Node], stated: &[(NodeId, Range<usize>)], report: &mut Report) {
    let key = |node: &Node| node.system_name().trim_end_matches('.').to_ascii_lowercase();
    let mut known: HashMap<String, NodeId> =
        nodes.iter().enumerate().filter(|(_, node)| node.system_name.is_none()).map(|(id, n)| (key(n), id)).collect();
    for (id, span) in stated {
        if let Some(other) = known.insert(key(&nodes[*id]), *id) {
            let what = format!("node \"{}\" calls itself \"{}\", too", nodes[other].name, nodes[other].system_name());
            report.error(span.clone(), format!("{what}: two nodes need two system names"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::read;

    fn file(nodes: &str) -> String {
        format!(
            "{nodes}\n[[station]]\nname = \"z\"\n[[link]]\nbetween = [\"a\", \"z\"]\n[[stream]]\nname = \"f\"\nfrom = \
             \"a\"\nto = \"z\"\nsize = 100\nperiod = \"1ms\"\n"
        )
    }

    #[test]
    fn a_system_name_is_found_whatever_its_case_and_domain() {
        let text = file(
            "[[station]]\nname = \"a\"\nsystem-name = \"PLC-7.plant.example\"\n[[station]]\nname = \"b\"\n[[station]]\nname = \
             \"B\"\n[[station]]\nname = \"c.x\"\n[[station]]\nname = \"c.y\"\n",
        );
        let network = read(&text).unwrap();
        let called = |name: &str| {
            let found = network.called(name).into_iter().map(|id| network.nodes[id].name.as_str());
            found.collect::<Vec<_>>().join(" ")
        };
        for (heard, is) in [
            ("PLC-7.plant.example", "a"),
            ("plc-7.PLANT.example.", "a"),
            ("plc-7", "a"),
            ("plc-7.other.example", ""),
            ("a", ""),
            ("b", "b"),
            ("B", "B"),
            ("b.example", "b B"),
            ("c.x", "c.x"),
            ("c", "c.x c.y"),
            ("c.z", ""),
            ("z.example", "z"),
            ("", ""),
            (".", ""),
        ] {
            assert_eq!(called(heard), is, "{heard}");
        }
    }

    #[test]
    fn a_system_name_is_of_one_node() {
        let said = |nodes: &str| read(&file(nodes)).unwrap_err().in_file("f");
        let twice = "[[station]]\nname = \"a\"\nsystem-name = \"x\"\n[[switch]]\nname = \"b\"\nsystem-name = \"X.\"\n";
        assert_eq!(said(twice), "f:3:15: node \"b\" calls itself \"X.\", too: two nodes need two system names");
        let names = "[[station]]\nname = \"a\"\nsystem-name = \"b\"\n[[station]]\nname = \"b\"\n";
        assert_eq!(said(names), "f:3:15: node \"b\" calls itself \"b\", too: two nodes need two system names");
        let swapped =
            "[[station]]\nname = \"a\"\nsystem-name = \"b\"\n[[station]]\nname = \"b\"\nsystem-name = \"a\"\n";
        assert!(read(&file(swapped)).is_ok());
        for (name, why) in [
            ("", "a name is not empty"),
            (" x", "no spaces at its ends"),
            ("a\\u001b[2J", "no control characters"),
            (&"x".repeat(256), "255 characters at most"),
        ] {
            let said = said(&format!("[[station]]\nname = \"a\"\nsystem-name = \"{name}\"\n"));
            assert!(said.starts_with("f:3:15: ") && said.contains(why), "{said}");
        }
    }
}
