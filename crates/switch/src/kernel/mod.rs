//! The kernel data plane: a bridge, a classifier, and taprio at each port's way out.
//!
//! | model | kernel |
//! |---|---|
//! | role bridge | `ip link add … type bridge`, the ports in it |
//! | rules of classes | a priority of the frame's socket buffer: tc flower, nft or iptables |
//! | queue of a class | traffic class and transmit queue of taprio, or band of prio |
//! | gates | `sched-entry` of taprio |
//! | idle slope of a class | cbs below its queue |
//! | streams | flower with police and gate at the ways in |
//! | preemptible classes | `fp` of taprio or mqprio, and the port's MAC Merge sublayer |

mod bridge;
mod classify;
mod clock;
mod elsewhere;
mod found;
mod gates;
#[cfg(test)]
mod groups_test;
mod hook;
mod metrics;
mod openvswitch;
#[cfg(test)]
mod paper;
mod policing;
mod preemption;
#[cfg(test)]
mod preemption_test;
mod priority_map;
pub mod probe;
pub mod reconcile;
mod reconfigure;
mod shaper;
#[cfg(test)]
mod shaper_test;
mod spanning_tree;
#[cfg(test)]
mod spanning_tree_test;
pub mod status;
mod tally;
pub mod time_loss;

use std::collections::BTreeSet;

use crate::apply::port::{self, PortError};
use crate::apply::{Host, Link, Plan, Refused, Snapshot, Step, links};
use crate::features;
use ontick_tsn::model::{Bridge, Port, Role, Switch};

pub use elsewhere::{AnotherMachine, PlanElsewhere, Release, plan_elsewhere};
pub use metrics::text as metrics;
pub use policing::{StreamChange, StreamCount, parts as policing_parts, unpoliced};
pub use preemption::missing as no_preemption;
pub use priority_map::{First, Lane, Lanes, NoPriorityLeft};
pub use reconcile::{Options, ReconcileEnd};
pub use reconfigure::{Regated, regate, rejoin};
pub use shaper::unshaped;
pub use spanning_tree::NO_DAEMON;
pub use status::{Status, status};
pub use tally::Tally;

pub use bridge::unfit as unfit_entries;
use classify::ClassifierInput;
use found::PortState;
use policing::Policing;

/// The kernel cannot do this, or ontick could not restore what there is now.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", reasons.join("; "))]
pub struct CannotPlan {
    /// Every reason, one sentence each.
    pub reasons: Vec<String>,
}

impl From<Refused> for CannotPlan {
    fn from(refused: Refused) -> Self {
        Self { reasons: vec![refused.to_string()] }
    }
}

/// Looks at everything that would be changed, and says what is to be done. `now_ns` is the time of the switch's clock.
pub fn plan(host: &impl Host, switch: &Switch, now_ns: u64) -> Result<Plan, CannotPlan> {
    let host = &Snapshot::of(host);
    let links = links(host)?;
    let mut reasons = Vec::new();
    let mut found = Vec::new();
    for port in &switch.ports {
        match find(host, port, &links) {
            Ok(port) => found.push(port),
            Err(why) => reasons.push(why.to_string()),
        }
    }
    let in_the_way = match switch.bridge {
        Bridge::Linux => Vec::new(),
        Bridge::OpenVswitch(_) => openvswitch::obstacles(host, switch),
    };
    if !in_the_way.is_empty() {
        reasons.extend(in_the_way);
    } else if switch.role == Role::Bridge && links.iter().any(|link| link.name == switch.name) {
        reasons.push(format!(
            "there is an interface {} already, as the bridge would be called: give the switch another name",
            switch.name
        ));
    }
    reasons.extend(bridge::unfit(switch));
    reasons.extend(spanning_tree::missing(host, switch));
    if switch.transparent_clock {
        reasons
            .push("transparent-clock: bridges of the kernel do not correct PTP's messages (plane = \"user\")".into());
    }
    let mut plan = Plan { name: switch.name.clone(), ..Plan::default() };
    for steps in
        [ready(host, &found), forward(switch, &found, &links), shape(host, switch, &found, now_ns, &mut plan.notes)]
    {
        match steps {
            Ok(steps) => plan.steps.extend(steps),
            Err(why) => reasons.extend(why),
        }
    }
    if switch.role == Role::Bridge {
        match start(switch, &found, &mut plan.notes) {
            Ok(steps) => plan.steps.extend(steps),
            Err(why) => reasons.push(why),
        }
        for name in found.iter().map(|port| &port.port.name) {
            if let Some(note) = lost_addresses(host, &switch.name, name) {
                plan.notes.push(note);
                plan.disconnects.push(name.clone());
            }
        }
    }
    if reasons.is_empty() { Ok(plan) } else { Err(CannotPlan { reasons: once(reasons) }) }
}

/// What the machine cannot do is found anew at each port.
fn once(mut reasons: Vec<String>) -> Vec<String> {
    let mut known = BTreeSet::new();
    reasons.retain(|reason| known.insert(reason.clone()));
    reasons
}

fn find<'a>(host: &impl Host, port: &'a Port, links: &'a [Link]) -> Result<PortState<'a>, PortError> {
    let (name, link) = (&port.name, port::usable(&port.name, links)?);
    Ok(PortState { port, link, queues: host.transmit_queues(name).or(Some(link.queues)), rate: host.rate(name) })
}

type Steps = Result<Vec<Step>, Vec<String>>;

fn ready(host: &impl Host, found: &[PortState]) -> Steps {
    let mut steps = Vec::new();
    let mut reasons = Vec::new();
    for found in found {
        let offloads = port::offloads_off(host, found.link, "no offloads that merge frames", features::breaks_shaping);
        match offloads {
            Ok(step) => steps.extend(step),
            Err(refused) => reasons.push(refused.to_string()),
        }
        steps.extend(port::up(found.link));
    }
    if reasons.is_empty() { Ok(steps) } else { Err(reasons) }
}

fn forward(switch: &Switch, found: &[PortState], links: &[Link]) -> Steps {
    if switch.role == Role::Station {
        return Ok(Vec::new());
    }
    let mut steps = vec![match switch.bridge {
        Bridge::Linux => bridge::make(switch, links),
        Bridge::OpenVswitch(datapath) => openvswitch::make(switch, datapath),
    }];
    steps.extend(spanning_tree::step(switch));
    steps.extend(found.iter().map(|found| join(switch, found.link)));
    Ok(steps)
}

/// Puts a port into the bridge.
fn join(switch: &Switch, link: &Link) -> Step {
    match switch.bridge {
        Bridge::Linux => bridge::join(switch, link),
        Bridge::OpenVswitch(_) => openvswitch::join(switch, link),
    }
}

/// Lets the bridge forward.
fn start(switch: &Switch, found: &[PortState], notes: &mut Vec<String>) -> Result<Vec<Step>, String> {
    if let Bridge::OpenVswitch(_) = switch.bridge {
        let lanes = Lanes::new(switch, First::Highest).map_err(|error| error.to_string())?;
        return Ok(vec![openvswitch::start(&ClassifierInput { switch, lanes: &lanes, ports: &[] })?]);
    }
    notes.extend(bridge::groups_note(switch));
    let mut steps = vec![bridge::start(switch)];
    steps.extend(found.iter().filter_map(|found| bridge::groups(switch, found.link)));
    Ok(steps)
}

/// Filters at the ways in.
fn policed(
    host: &impl Host,
    switch: &Switch,
    found: &[PortState],
    now_ns: u64,
    before: &[Step],
) -> Result<Vec<Step>, String> {
    let policing = Policing::plan(host, switch, now_ns)?;
    let steps = found.iter().map(|found| policing.step(host, found.link, before));
    Ok(steps.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
}

/// Filters first: software taprio stands still for ever if clsact is added after it.
fn shape(host: &impl Host, switch: &Switch, found: &[PortState], now_ns: u64, notes: &mut Vec<String>) -> Steps {
    let one = |error: NoPriorityLeft| vec![error.to_string()];
    // Priorities are the same on all ports, whichever way round their queues are.
    let lanes = Lanes::new(switch, First::Highest).map_err(one)?;
    let ports: Vec<Link> = found.iter().map(|found| found.link.clone()).collect();
    let mut reasons = Vec::new();
    let mut steps = Vec::new();
    match classify::steps(host, &ClassifierInput { switch, lanes: &lanes, ports: &ports }, notes) {
        Ok(classifier) => steps.extend(classifier),
        Err(why) => reasons.push(why),
    }
    match policed(host, switch, found, now_ns, &steps) {
        Ok(policed) => steps.extend(policed),
        Err(why) => reasons.push(why),
    }
    for found in found {
        let lanes = lanes_of(host, switch, found.port).map_err(one)?;
        match preemption::step(host, found) {
            Ok(step) => steps.extend(step),
            Err(why) => reasons.push(why),
        }
        match gates::step(host, switch, found, &lanes, gates::When::Now(now_ns), notes) {
            Ok(step) => steps.extend(step),
            Err(why) => reasons.push(why),
        }
    }
    if reasons.is_empty() { Ok(steps) } else { Err(reasons) }
}

/// The first two numbers of the kernel's release.
fn release(host: &impl Host) -> (u32, u32) {
    let release = host.read("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|n| n.parse::<u32>().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

/// The ways of the classes at one port.
pub fn lanes_of(host: &impl Host, switch: &Switch, port: &Port) -> Result<Lanes, NoPriorityLeft> {
    let first = if port.is_by_queue() { gates::first(host, port) } else { First::Highest };
    Lanes::new(switch, first)
}

fn lost_addresses(host: &impl Host, bridge: &str, port: &str) -> Option<String> {
    let addresses = port::addresses(host, port).ok()?;
    let given: Vec<String> = addresses.iter().filter(|address| address.is_given()).map(|a| a.to_string()).collect();
    let plural = if given.len() == 1 { "does not answer" } else { "do not answer" };
    (!given.is_empty()).then(|| {
        format!(
            "port {port} has {}: while it is in bridge {bridge} that {plural}, and a connection over it stops",
            given.join(" and ")
        )
    })
}

#[cfg(test)]
mod tests;
