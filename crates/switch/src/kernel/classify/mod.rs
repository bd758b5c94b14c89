//! How frames get the priority by which the queueing disciplines tell classes apart.

mod flower;
mod iptables;
mod nft;

use crate::apply::{Host, Link, Step};
use crate::model::{Classifier, Role, Rule, Switch};

use super::lanes::Lanes;
use super::probe::{self, Known};

/// What a classifier is made from.
pub(super) struct Wanted<'a> {
    pub switch: &'a Switch,
    pub lanes: &'a Lanes,
    pub ports: &'a [Link],
}

impl Wanted<'_> {
    /// Each rule with the priority of its class, in the order in which they are asked.
    fn rules(&self) -> Vec<(&Rule, u8, &str)> {
        let mut all = Vec::new();
        for lane in self.lanes.in_order_of_file() {
            let class = &self.switch.classes[lane.class];
            let rules = class.rules.iter().filter(|rule| !rule.is_of_socket());
            all.extend(rules.filter_map(|rule| Some((rule, lane.priority?, class.name.as_str()))));
        }
        all
    }
}

/// The steps of the classifier that the switch asks for, or of the first that does; or why there is none.
pub(super) fn steps(host: &impl Host, wanted: &Wanted, notes: &mut Vec<String>) -> Result<Vec<Step>, String> {
    if wanted.rules().is_empty() {
        return Ok(Vec::new());
    }
    let one = |classifier: Classifier, notes: &mut Vec<String>| match classifier {
        Classifier::Flower | Classifier::Auto => there(&probe::flower(host)).and_then(|()| flower::steps(host, wanted)),
        Classifier::Nft => there(&probe::nft(host)).and_then(|()| nft::steps(host, wanted)),
        Classifier::Iptables => there(&probe::iptables(host)).and_then(|()| iptables::steps(host, wanted, notes)),
    };
    if wanted.switch.classifier != Classifier::Auto {
        return one(wanted.switch.classifier, notes);
    }
    let mut reasons = Vec::new();
    for classifier in [Classifier::Flower, Classifier::Nft, Classifier::Iptables] {
        match one(classifier, notes) {
            Ok(steps) => return Ok(steps),
            Err(why) => reasons.push(why),
        }
    }
    Err(format!("no classifier can be had: {}", reasons.join("; ")))
}

/// The steps of tc flower alone.
pub(super) fn flower_steps(host: &impl Host, wanted: &Wanted) -> Result<Vec<Step>, String> {
    match wanted.rules().is_empty() {
        true => Ok(Vec::new()),
        false => flower::steps(host, wanted),
    }
}

fn there(known: &Known) -> Result<(), String> {
    match known {
        Known::There | Known::Untold => Ok(()),
        Known::Missing(why) => Err(why.clone()),
    }
}

impl Switch {
    fn is_bridge(&self) -> bool {
        self.role == Role::Bridge
    }
}

impl Rule {
    /// Nothing but the priority of the sender's socket, which needs no classifier.
    pub(super) fn is_of_socket(&self) -> bool {
        self.socket_priority.is_some() && *self == Rule { socket_priority: self.socket_priority, ..Rule::default() }
    }

    /// Whether it looks into the IP header.
    fn is_of_ip(&self) -> bool {
        self.dscp.is_some() || self.ip_protocol.is_some() || self.has_ports() || self.to_ip.is_some()
    }

    fn has_ports(&self) -> bool {
        self.to_port.is_some() || self.from_port.is_some()
    }

    /// Versions of IP that it can fit: 4, 6 or both.
    fn versions(&self) -> Vec<u8> {
        let fits = |version: &u8| {
            let ether_type = if *version == 4 { 0x0800 } else { 0x86dd };
            self.ether_type.is_none_or(|wanted| wanted == ether_type) && (*version == 4 || self.to_ip.is_none())
        };
        [4, 6].into_iter().filter(fits).collect()
    }

    /// Protocols with ports that it can fit; none where it does not look at ports.
    fn protocols(&self) -> Vec<Option<u8>> {
        match (self.ip_protocol, self.has_ports()) {
            (None, true) => vec![Some(17), Some(6)],
            // Nothing else has ports.
            (Some(protocol), true) if protocol != 17 && protocol != 6 => Vec::new(),
            (protocol, _) => vec![protocol],
        }
    }
}

fn mac(bytes: &[u8; 6]) -> String {
    bytes.map(|byte| format!("{byte:02x}")).join(":")
}
