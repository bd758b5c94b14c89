//! How a switch stands in the kernel: its gates, what went through them, and what somebody else has changed.

use serde::Serialize;
use serde_json::Value;

use crate::apply::{Difference, Host, Link, Plan, Refused, differences, links, qdiscs, root_of};
use crate::ethtool;
use crate::qdisc::{HANDLE, Shown, Times};
use ontick_tsn::model::{Port, Switch};

use super::{Lanes, lanes_of};

/// How a switch stands.
#[derive(Debug, Clone, Serialize)]
pub struct Status {
    /// Its name.
    pub name: String,
    /// Its ports, in the order of the file.
    pub ports: Vec<PortStatus>,
    /// What is not as it was set up.
    pub differences: Vec<Difference>,
}

/// How a port stands.
#[derive(Debug, Clone, Serialize)]
pub struct PortStatus {
    /// Its name.
    pub name: String,
    /// Whether it can send.
    pub link: LinkState,
    /// `taprio`, `prio`, or whatever is there.
    pub queueing: String,
    /// Gates that were asked for and are not in force yet, as gate masks of the model's queues.
    pub admin: Option<Times>,
    /// Gates in force.
    pub oper: Option<Times>,
    /// What went through, class by class in the order of the file.
    pub classes: Vec<ClassCount>,
    /// What the driver itself counts about transmission in time, where it is not 0.
    pub driver: Vec<(String, u64)>,
}

/// Whether a port can send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LinkState {
    /// There is no such interface.
    Gone,
    /// It is switched off.
    Off,
    /// Nobody is at the other end.
    NoLink,
    /// It can.
    Up,
}

/// What went through a gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ClassCount {
    /// The class's name.
    pub class: String,
    /// Its queue in the model.
    pub queue: u8,
    /// Frames that left.
    pub packets: u64,
    /// Octets that left, with 24 for each frame's preamble, check sequence and gap where the port has gates.
    pub bytes: u64,
    /// Frames that found no room, or were too late for their time.
    pub drops: u64,
    /// Frames that wait.
    pub waiting: u64,
}

/// Looks at a switch that stands.
pub fn status(host: &impl Host, switch: &Switch, plan: &Plan) -> Result<Status, Refused> {
    let ports = port_statuses(host, switch)?;
    let expects = plan.steps.iter().flat_map(|step| &step.expects);
    Ok(Status { name: switch.name.clone(), ports, differences: differences(host, expects) })
}

/// Looks at the ports of a switch.
pub(crate) fn port_statuses(host: &impl Host, switch: &Switch) -> Result<Vec<PortStatus>, Refused> {
    let links = links(host)?;
    switch.ports.iter().map(|port| port_status(host, switch, port, &links)).collect()
}

fn port_status(host: &impl Host, switch: &Switch, port: &Port, links: &[Link]) -> Result<PortStatus, Refused> {
    let link = match links.iter().find(|link| link.name == port.name) {
        None => LinkState::Gone,
        Some(link) if !link.is_up() => LinkState::Off,
        Some(link) if !link.has_carrier() => LinkState::NoLink,
        Some(_) => LinkState::Up,
    };
    let mut status = PortStatus {
        name: port.name.clone(),
        link,
        queueing: String::new(),
        admin: None,
        oper: None,
        classes: Vec::new(),
        driver: Vec::new(),
    };
    if link == LinkState::Gone {
        return Ok(status);
    }
    let qdiscs = qdiscs(host, &port.name)?;
    let root = root_of(&qdiscs);
    status.queueing = root.and_then(|root| root["kind"].as_str()).unwrap_or("none").to_owned();
    let Ok(lanes) = lanes_of(host, switch, port) else { return Ok(status) };
    if let Some(shown) = root.and_then(Shown::of) {
        let gates = |times: Times| Times {
            entries: times.entries.iter().map(|(mask, ns)| (u64::from(lanes.open(*mask)), *ns)).collect(),
            ..times
        };
        (status.admin, status.oper) = (shown.admin.map(gates), shown.oper.map(gates));
    }
    status.classes = counts(switch, port, &lanes, &qdiscs);
    status.driver = about_time(&port.name);
    Ok(status)
}

/// The counters of each class's own queueing discipline.
fn counts(switch: &Switch, port: &Port, lanes: &Lanes, qdiscs: &[Value]) -> Vec<ClassCount> {
    let number = |qdisc: &Value, key: &str| qdisc[key].as_u64().unwrap_or(0);
    let one = |class: usize| {
        let at = lanes.lanes.iter().position(|lane| lane.class == class)?;
        // prio counts its bands from the class that goes first.
        let minor = if port.gates.is_some() { at + 1 } else { lanes.lanes.len() - at };
        let parent = format!("{HANDLE}{minor:x}");
        let qdisc = qdiscs.iter().find(|qdisc| qdisc["parent"] == *parent)?;
        Some(ClassCount {
            class: switch.classes[class].name.clone(),
            queue: switch.classes[class].queue,
            packets: number(qdisc, "packets"),
            bytes: number(qdisc, "bytes"),
            drops: number(qdisc, "drops"),
            waiting: number(qdisc, "qlen"),
        })
    };
    (0..switch.classes.len()).filter_map(one).collect()
}

/// Counters of the driver that tell of frames that missed their time, under whatever name.
fn about_time(port: &str) -> Vec<(String, u64)> {
    let words = ["txtime", "qbv", "taprio", "window", "gate", "overrun", "launch", "tsn", "est_"];
    let reported = |(name, count): &(String, u64)| {
        let name = name.to_ascii_lowercase();
        *count > 0 && words.iter().any(|word| name.contains(word))
    };
    ethtool::counters(port).unwrap_or_default().into_iter().filter(reported).collect()
}
