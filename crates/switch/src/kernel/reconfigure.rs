//! Changes to an applied switch: other gates, idle slopes and streams, and a port that has come back.

use crate::apply::{Act, Entry, Expect, Host, Plan, Refused, Step, links, openvswitch, port};
use crate::features;
use ontick_tsn::model::{Bridge, Gates, Plane, Port, Role, Switch};

use super::classify::{self, ClassifierInput};
use super::found::{PortState, gone};
use super::gates;
use super::policing::{Policing, StreamChange};
use super::priority_map::{First, Lanes};
use super::{CannotPlan, bridge, join, lanes_of, preemption};

/// What other gates, idle slopes and streams take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Regated {
    /// The plan with them.
    pub plan: Plan,
    /// What is to be done on ports whose gates or idle slopes differ.
    pub acts: Vec<Act>,
    /// And to go back to those before.
    pub back: Vec<Act>,
    /// On how many ports gates change.
    pub gates_on: usize,
    /// What is to be done for streams, if they differ.
    pub streams: Option<StreamChange>,
}

impl Regated {
    /// Whether there is nothing to be done.
    pub fn is_empty(&self) -> bool {
        self.acts.is_empty() && self.streams.is_none()
    }

    /// What sets the gates anew of ports at which filters came to be, which stop software taprio.
    pub fn again(&self) -> Vec<Act> {
        let hooked: Vec<&str> = self.streams.iter().flat_map(StreamChange::hooked).collect();
        let expects = self.plan.steps.iter().flat_map(|step| &step.expects);
        let gates = expects.filter_map(|expect| match expect {
            Expect::Taprio { port, taprio } if hooked.contains(&port.as_str()) => Some(gates::replace(port, taprio)),
            _ => None,
        });
        gates.collect()
    }
}

/// The plan with other gates, idle slopes and streams; none if the configurations differ in more, or some port has gates,
/// or some class an idle slope, in one of them only.
pub fn regate(
    host: &impl Host,
    (plan, journal): (&Plan, &[Entry]),
    before: &Switch,
    after: &Switch,
    now_ns: u64,
) -> Result<Option<Regated>, CannotPlan> {
    // What stands has chosen already.
    let plane = if after.plane == Plane::Auto { before.plane } else { after.plane };
    if parts(before) != parts(after) || before.fixed() != (Switch { plane, ..after.fixed() }) {
        return Ok(None);
    }
    let links = links(host)?;
    let mut regated = Regated { plan: plan.clone(), acts: Vec::new(), back: Vec::new(), gates_on: 0, streams: None };
    let mut reasons = Vec::new();
    for (old, new) in before.ports.iter().zip(&after.ports) {
        if old.gates == new.gates && old.idle_slopes == new.idle_slopes {
            continue;
        }
        let Some(link) = links.iter().find(|link| link.name == new.name) else {
            reasons.push(gone(&new.name));
            continue;
        };
        let found = PortState { port: new, link, queues: host.transmit_queues(&new.name), rate: host.rate(&new.name) };
        let lanes = match lanes_of(host, after, new) {
            Ok(lanes) => lanes,
            Err(why) => {
                reasons.push(why.to_string());
                continue;
            }
        };
        let port = Changed { host, switch: after, found: &found, lanes, now_ns };
        let gates = new.gates.as_ref().filter(|_| old.gates != new.gates);
        reasons.extend(port.change(gates, &mut regated).err());
    }
    if before.streams != after.streams {
        match StreamChange::plan(host, journal, &mut regated.plan, (before, after), now_ns) {
            Ok(change) => regated.streams = Some(change),
            Err(why) => reasons.push(why),
        }
    }
    if reasons.is_empty() { Ok(Some(regated)) } else { Err(CannotPlan { reasons }) }
}

/// A port whose gates or idle slopes are to be others.
struct Changed<'a, H> {
    host: &'a H,
    switch: &'a Switch,
    found: &'a PortState<'a>,
    lanes: Lanes,
    now_ns: u64,
}

impl<H: Host> Changed<'_, H> {
    /// Shapers first: attaching anything below taprio stops it.
    fn change(&self, gates: Option<&Gates>, regated: &mut Regated) -> Result<(), String> {
        if self.found.port.is_shaped() {
            self.reshape(regated)?;
        }
        gates.map_or(Ok(()), |gates| self.replace(gates, regated))
    }

    /// A cbs that stands takes other slopes, and keeps the frames that wait in it. Its hiCredit follows the gates, too.
    fn reshape(&self, regated: &mut Regated) -> Result<(), String> {
        let when = gates::When::Now(self.now_ns);
        let wanted = gates::disciplines(self.host, self.switch, self.found, &self.lanes, when, &mut Vec::new())?;
        let Some(wanted) = wanted else { return Ok(()) };
        let wanted_at = |place: &str| {
            let cbs = wanted.expects.iter().find_map(|expect| match expect {
                Expect::Cbs { parent, cbs, .. } if parent == place => Some(*cbs),
                _ => None,
            })?;
            Some((cbs, &wanted.acts[gates::attaching(&wanted.acts, place)?]))
        };
        for step in regated.plan.steps.iter_mut().filter(|step| self.is_of(step)) {
            for expect in &mut step.expects {
                let Expect::Cbs { parent, cbs: standing, .. } = expect else { continue };
                let Some((cbs, new)) = wanted_at(parent).filter(|(cbs, _)| cbs != standing) else { continue };
                let Some(at) = gates::attaching(&step.acts, parent) else { continue };
                regated.back.push(std::mem::replace(&mut step.acts[at], new.clone()));
                regated.acts.push(new.clone());
                *standing = cbs;
            }
        }
        Ok(())
    }

    fn replace(&self, gates: &Gates, regated: &mut Regated) -> Result<(), String> {
        let (when, notes) = (gates::When::Now(self.now_ns), &mut regated.plan.notes);
        let taprio = gates::taprio(self.host, self.switch, self.found, gates, &self.lanes, when, notes)?;
        let new = gates::replace(&self.found.port.name, &taprio);
        regated.gates_on += 1;
        for step in regated.plan.steps.iter_mut().filter(|step| self.is_of(step)) {
            for expect in &mut step.expects {
                let Expect::Taprio { port, taprio: standing } = expect else { continue };
                let old = gates::replace(port, standing);
                step.acts.iter_mut().filter(|act| **act == old).for_each(|act| *act = new.clone());
                regated.acts.push(new.clone());
                regated.back.push(old);
                *standing = taprio.clone();
            }
        }
        Ok(())
    }

    fn is_of(&self, step: &Step) -> bool {
        step.port.as_deref() == Some(&self.found.port.name)
    }
}

/// Whether each port has gates, and which of its classes are shaped: what the kernel has parts for.
fn parts(switch: &Switch) -> Vec<(bool, Vec<bool>)> {
    let shaped = |port: &Port| (0..switch.classes.len()).map(|class| port.shapes(class)).collect();
    switch.ports.iter().map(|port| (port.gates.is_some(), shaped(port))).collect()
}

/// What sets up a port anew that had gone and has come back, with the gates of the applied plan.
pub fn rejoin(host: &impl Host, switch: &Switch, plan: &Plan, name: &str) -> Result<Vec<Step>, CannotPlan> {
    let one = |why: String| CannotPlan { reasons: vec![why] };
    let Some(port) = switch.ports.iter().find(|port| port.name == name) else { return Ok(Vec::new()) };
    let links = links(host)?;
    let Some(link) = links.iter().find(|link| link.name == name) else {
        return Err(one(format!("there is no port {name}")));
    };
    let own = if switch.bridge == Bridge::Linux { switch.name.as_str() } else { openvswitch::MASTER };
    if let Some(master) = link.master.as_ref().filter(|master| *master != own) {
        return Err(one(format!("port {name} belongs to {master} now")));
    }
    let found = PortState { port, link, queues: host.transmit_queues(name), rate: host.rate(name) };
    let reported = |e: Refused| one(e.to_string());
    let mut steps: Vec<Step> = Vec::new();
    let offloads = port::offloads_off(host, link, "no offloads that merge frames", features::breaks_shaping);
    steps.extend(offloads.map_err(reported)?);
    steps.extend(port::up(link));
    let lanes = Lanes::new(switch, First::Highest).map_err(|e| one(e.to_string()))?;
    // One that looks at the way out of the whole switch sees the port by its name.
    if plan
        .steps
        .iter()
        .any(|step| step.expects.iter().any(|expect| matches!(expect, Expect::Filters { port, .. } if port == name)))
    {
        let ports = [link.clone()];
        steps.extend(
            classify::flower_steps(host, &ClassifierInput { switch, lanes: &lanes, ports: &ports }).map_err(one)?,
        );
    }
    if let Some(policing) = Policing::again(host, switch, plan) {
        steps.extend(policing.step(host, link, &steps).map_err(one)?);
    }
    let lanes = lanes_of(host, switch, port).map_err(|e| one(e.to_string()))?;
    steps.extend(preemption::step(host, &found).map_err(one)?);
    let mut notes = Vec::new();
    steps.extend(gates::step(host, switch, &found, &lanes, base_of(plan, name), &mut notes).map_err(one)?);
    if switch.role == Role::Bridge {
        steps.push(join(switch, link));
        if switch.bridge == Bridge::Linux {
            steps.extend(bridge::groups(switch, link));
        }
    }
    Ok(steps)
}

/// The base time in force: what "the next second" came to.
fn base_of(plan: &Plan, name: &str) -> gates::When {
    let expects = plan.steps.iter().flat_map(|step| &step.expects);
    let mut bases = expects.filter_map(|expect| match expect {
        Expect::Taprio { port, taprio } if port == name => Some(taprio.base_ns),
        _ => None,
    });
    bases.next().map_or(gates::When::Now(0), gates::When::Base)
}
