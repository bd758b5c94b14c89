//! How frames get the priority by which the queueing disciplines tell classes apart.

mod flower;
mod iptables;
mod nft;

use crate::apply::{Host, Link, Step};
use ontick_tsn::model::{Bridge, Classifier, Datapath, Rule, Switch};

use super::priority_map::Lanes;
use super::probe::{self, Known};

/// What a classifier is made from.
pub(super) struct ClassifierInput<'a> {
    pub switch: &'a Switch,
    pub lanes: &'a Lanes,
    pub ports: &'a [Link],
}

impl ClassifierInput<'_> {
    /// Each rule with the priority of its class, in the order in which they are asked.
    pub(super) fn rules(&self) -> Vec<(&Rule, u8, &str)> {
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
pub(super) fn steps(host: &impl Host, wanted: &ClassifierInput, notes: &mut Vec<String>) -> Result<Vec<Step>, String> {
    if wanted.rules().is_empty() {
        return Ok(Vec::new());
    }
    let one = |classifier: Classifier, notes: &mut Vec<String>| match classifier {
        Classifier::Flower | Classifier::Auto => there(&probe::flower(host)).and_then(|()| flower::steps(host, wanted)),
        Classifier::Nft => there(&probe::nft(host)).and_then(|()| nft::steps(host, wanted)),
        Classifier::Iptables => there(&probe::iptables(host)).and_then(|()| iptables::steps(host, wanted, notes)),
    };
    if let Bridge::OpenVswitch(datapath) = wanted.switch.bridge {
        return one(Classifier::Flower, notes).or_else(|why| by_flows_alone(wanted.switch, datapath, why, notes));
    }
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

/// Without tc flower, the queue that a flow sets is the frame's priority where the kernel forwards and taprio looks at
/// its lowest four bits.
fn by_flows_alone(
    switch: &Switch,
    datapath: Datapath,
    why: String,
    notes: &mut Vec<String>,
) -> Result<Vec<Step>, String> {
    let ungated = switch.ports.iter().find(|port| port.gates.is_none());
    match (switch.classifier, datapath, ungated) {
        (Classifier::Auto, Datapath::System, None) => {
            notes.push("Open vSwitch's flows alone give frames their priority (set_queue)".into());
            Ok(Vec::new())
        }
        (Classifier::Auto, Datapath::System, Some(port)) => {
            Err(format!("flows give frames no class at port {}, which has no gates, and {why}", port.name))
        }
        (Classifier::Auto, ..) => Err(format!("datapath \"netdev\" gives frames no priority, and {why}")),
        _ => Err(why),
    }
}

/// The steps of tc flower alone.
pub(super) fn flower_steps(host: &impl Host, wanted: &ClassifierInput) -> Result<Vec<Step>, String> {
    match wanted.rules().is_empty() {
        true => Ok(Vec::new()),
        false => flower::steps(host, wanted),
    }
}

fn there(known: &Known) -> Result<(), String> {
    match known {
        Known::There | Known::Unknown => Ok(()),
        Known::Missing { what, why } => Err(format!("{what}: {why}")),
    }
}

/// The parts that a rule has, one after the other.
pub(super) fn words<const N: usize>(parts: [Option<String>; N]) -> String {
    parts.into_iter().flatten().collect()
}

pub(in crate::kernel) fn mac(bytes: &[u8; 6]) -> String {
    bytes.map(|byte| format!("{byte:02x}")).join(":")
}
