//! The status of a switch in the kernel: its gates, what went through them, and what somebody else has changed.

use serde::Serialize;
use serde_json::Value;

use crate::apply::{Difference, Host, Link, Plan, Refused, Snapshot, differences, links, qdiscs, root_of};
use crate::ethtool::{self, mac_merge};
use crate::qdisc::{TaprioState, Times};
use ontick_tsn::model::{GateOverride, Port, SpanningTree, Switch};

use super::policing::{self, StreamCount};
use super::{Lane, Lanes, gates, lanes_of, spanning_tree, time_loss};

/// The status of a switch.
#[derive(Debug, Clone, Serialize)]
pub struct Status {
    /// Its name.
    pub name: String,
    /// Its ports, in the order of the file.
    pub ports: Vec<PortStatus>,
    /// What was counted of its streams, in the order of the file.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub streams: Vec<StreamCount>,
    /// What is not as it was set up.
    pub differences: Vec<Difference>,
}

/// The status of a port.
#[derive(Debug, Clone, Serialize)]
pub struct PortStatus {
    /// Its name.
    pub name: String,
    /// Whether it can send.
    pub link: LinkState,
    /// How the spanning tree has the port, where the bridge speaks its protocol: `forwarding`, `blocking`, `listening`,
    /// `learning` or `disabled`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spanning_tree: Option<String>,
    /// The port's role, where mstpd tells: `root`, `designated`, `alternate`, `backup`, `disabled`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spanning_tree_role: Option<String>,
    /// `taprio`, `prio`, or whatever is there.
    pub queueing: String,
    /// Gates that were asked for and are not in force yet, as gate masks of the model's queues.
    pub admin: Option<Times>,
    /// Gates in force.
    pub oper: Option<Times>,
    /// What went through, class by class in the order of the file.
    pub classes: Vec<ClassCount>,
    /// What the interface counts itself.
    pub interface: InterfaceCount,
    /// Frames that were dropped before any class's queue (by the root queueing discipline).
    pub refused: u64,
    /// How it preempts frames, where the file asks for that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preemption: Option<mac_merge::State>,
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
    /// Octets that left, with 24 for each frame's preamble, check sequence and gap where the port has gates or
    /// a shaped class.
    pub bytes: u64,
    /// Frames that found no room, or were too late for their time.
    pub drops: u64,
    /// Frames that wait.
    pub waiting: u64,
}

/// What an interface counts of all its frames, since it is there.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct InterfaceCount {
    /// Frames that came in.
    pub received: u64,
    /// Frames that came and found no room, or were taken for faulty.
    pub not_received: u64,
    /// Frames that it sent.
    pub sent: u64,
    /// Frames that it could not send.
    pub not_sent: u64,
}

/// Looks at an applied switch, whose gates are so in place of their lists while the network's time is lost.
pub fn status(host: &impl Host, switch: &Switch, plan: &Plan, forced: Option<GateOverride>) -> Result<Status, Refused> {
    let host = &Snapshot::of(host);
    let ports = port_statuses(host, switch)?;
    let streams = policing::counts(host, switch, plan)?;
    let plan = &forced.map_or_else(|| plan.clone(), |to| time_loss::forced(plan, to));
    let mut differences = differences(host, plan.steps.iter().flat_map(|step| &step.expects));
    if forced != Some(GateOverride::Closed) {
        let stopped = time_loss::stopped(switch, &links(host)?);
        differences.extend(stopped.into_iter().map(time_loss::still_stopped));
    }
    Ok(Status { name: switch.name.clone(), ports, streams, differences })
}

/// Looks at the ports of a switch.
pub(crate) fn port_statuses(host: &impl Host, switch: &Switch) -> Result<Vec<PortStatus>, Refused> {
    let links = links(host)?;
    let mut statuses: Vec<PortStatus> =
        switch.ports.iter().map(|port| port_status(host, switch, port, &links)).collect::<Result<_, _>>()?;
    if matches!(switch.stp, SpanningTree::Rstp(_)) {
        let mut roles = spanning_tree::roles(host, &switch.name);
        statuses.iter_mut().for_each(|status| status.spanning_tree_role = roles.remove(&status.name));
    }
    Ok(statuses)
}

fn port_status(host: &impl Host, switch: &Switch, port: &Port, links: &[Link]) -> Result<PortStatus, Refused> {
    let of_port = links.iter().find(|link| link.name == port.name);
    let link = match of_port {
        None => LinkState::Gone,
        Some(link) if !link.is_up() => LinkState::Off,
        Some(link) if !link.has_carrier() => LinkState::NoLink,
        Some(_) => LinkState::Up,
    };
    let mut status = PortStatus {
        name: port.name.clone(),
        link,
        spanning_tree: of_port.filter(|_| switch.stp.is_on()).and_then(|link| link.info.bridge_port.state.clone()),
        spanning_tree_role: None,
        queueing: String::new(),
        admin: None,
        oper: None,
        classes: Vec::new(),
        interface: InterfaceCount::default(),
        refused: 0,
        preemption: None,
        driver: Vec::new(),
    };
    if link == LinkState::Gone {
        return Ok(status);
    }
    let qdiscs = qdiscs(host, &port.name)?;
    let root = root_of(&qdiscs);
    status.queueing = root.and_then(|root| root["kind"].as_str()).unwrap_or("none").to_owned();
    let Ok(lanes) = lanes_of(host, switch, port) else { return Ok(status) };
    if let Some(shown) = root.and_then(TaprioState::of) {
        let gates = |times: Times| Times {
            entries: times.entries.iter().map(|(mask, ns)| (u64::from(lanes.open(*mask)), *ns)).collect(),
            ..times
        };
        (status.admin, status.oper) = (shown.admin.map(gates), shown.oper.map(gates));
    }
    status.classes = counts(switch, port, &lanes, &qdiscs);
    status.interface = interface(host, &port.name)?;
    // A frame that a class's own queue drops is counted there alone.
    status.refused = root.filter(|_| port.is_by_queue()).and_then(|root| root["drops"].as_u64()).unwrap_or(0);
    status.preemption = port.preemption.as_ref().and_then(|_| host.mac_merge(&port.name).ok());
    status.driver = about_time(&port.name);
    Ok(status)
}

/// The counters of each class's own queueing discipline.
fn counts(switch: &Switch, port: &Port, lanes: &Lanes, qdiscs: &[Value]) -> Vec<ClassCount> {
    let one = |class: usize| {
        let at = lanes.lanes.iter().position(|lane| lane.class == class)?;
        let count = |lane: &Lane| port.transmit_queues_of(lane.class);
        let queues = match port.is_by_queue() {
            true => {
                let first = lanes.lanes[..at].iter().map(count).sum::<u16>();
                first..first + count(&lanes.lanes[at])
            }
            // prio counts its bands from the class that goes first.
            false => {
                let band = (lanes.lanes.len() - at) as u16;
                band - 1..band
            }
        };
        let parents: Vec<String> = queues.map(gates::parent).collect();
        let own = || qdiscs.iter().filter(|qdisc| parents.iter().any(|parent| qdisc["parent"] == **parent));
        own().next()?;
        let of = |qdisc: &Value, key: &str| qdisc[key].as_u64().unwrap_or(0);
        let number = |key: &str| own().map(|qdisc| of(qdisc, key)).sum();
        Some(ClassCount {
            class: switch.classes[class].name.clone(),
            queue: switch.classes[class].queue,
            packets: number("packets"),
            bytes: number("bytes"),
            // A shaper does not count what the queue below it has no room for.
            drops: own().map(|qdisc| of(lowest(qdisc, qdiscs), "drops")).sum(),
            waiting: number("qlen"),
        })
    };
    (0..switch.classes.len()).filter_map(one).collect()
}

/// The queueing discipline that holds the frames of this one.
fn lowest<'a>(of: &'a Value, qdiscs: &'a [Value]) -> &'a Value {
    let child = |qdisc: &&Value| {
        let parent = qdisc["parent"].as_str().and_then(|parent| parent.split_once(':'));
        parent.zip(of["handle"].as_str()).is_some_and(|((major, _), handle)| handle.strip_suffix(':') == Some(major))
    };
    qdiscs.iter().find(child).map_or(of, |below| lowest(below, qdiscs))
}

fn interface(host: &impl Host, port: &str) -> Result<InterfaceCount, Refused> {
    let argv = ["ip", "-s", "-j", "link", "show", "dev", port];
    let shown: Vec<Value> = crate::apply::parsed(&argv, &host.query(&argv)?)?;
    let counts = shown.first().map(|link| if link["stats64"].is_null() { &link["stats"] } else { &link["stats64"] });
    let of = |way: &str, key: &str| counts.and_then(|counts| counts[way][key].as_u64()).unwrap_or(0);
    Ok(InterfaceCount {
        received: of("rx", "packets"),
        not_received: of("rx", "dropped") + of("rx", "errors") + of("rx", "missed_errors"),
        sent: of("tx", "packets"),
        not_sent: of("tx", "dropped") + of("tx", "errors"),
    })
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
