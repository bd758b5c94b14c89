//! What this machine can do for a switch, and what of it a file asks for that cannot be had. Reads only.

mod machine;
mod planes;
mod port;
mod streams;
#[cfg(test)]
mod tests;
mod windows;

use ontick_record::{Finding, Severity};
use serde::Serialize;

use crate::link::Link;
use crate::loops;
use crate::ports::{Interface, Machine};
use ontick_tsn::egress::Calibration;
use ontick_tsn::model::{self, Plane, Role, Switch};

pub use planes::{Chosen, Fits, Planes};
pub use port::route_id;
pub use windows::{ShortWindow, is_of, short as short_windows, windows};

/// What was seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// The machine.
    pub machine: Machine,
    /// The ports of the file that are there; without a file, all that have a socket for a cable.
    pub ports: Vec<Port>,
    /// Which data plane does what the file asks for, and why.
    pub plane: Option<Chosen>,
    /// What is in the way, worst first.
    pub findings: Vec<Finding>,
}

/// A port, and what it can do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Port {
    /// Facts.
    #[serde(flatten)]
    pub interface: Interface,
    /// Which data planes it can serve.
    #[serde(flatten)]
    pub planes: Planes,
}

/// Looks whether a machine with these interfaces can be a switch, or this one. Ports come in the order of the file, and
/// without one in that of the interfaces. `links` are all interfaces with what joins them, which may make a loop.
/// What was `measured` counts in place of what is assumed of the data plane.
pub fn check(
    machine: Machine,
    interfaces: &[Interface],
    links: &[Link],
    switch: Option<&Switch>,
    measured: Option<&Calibration>,
) -> Check {
    let mut findings = Vec::new();
    findings.extend(switch.iter().flat_map(|switch| around(switch, links)));
    let chosen: Vec<(&Interface, Option<&ontick_tsn::model::Port>)> = match switch {
        Some(switch) => {
            let mut found = Vec::new();
            for port in &switch.ports {
                match interfaces.iter().find(|interface| interface.name == port.name) {
                    Some(interface) => found.push((interface, Some(port))),
                    None => findings.push(port::missing(&port.name, interfaces)),
                }
            }
            found
        }
        None => with_sockets(interfaces).into_iter().map(|interface| (interface, None)).collect(),
    };
    let mut ports = Vec::new();
    for (interface, wanted) in chosen {
        let planes = planes::of(&machine, interface, switch, wanted);
        findings.extend(port::findings(interface, switch.zip(wanted), &planes));
        ports.push(Port { interface: interface.clone(), planes });
    }
    let plane = switch.map(|switch| planes::choose(switch, &ports));
    findings.extend(machine::findings(&machine, switch, &ports, plane.as_ref()));
    if let Some(switch) = switch {
        let plane = match plane.as_ref().and_then(|chosen| chosen.plane) {
            Some("kernel") => Plane::Kernel,
            Some("user") => Plane::User,
            // Where none fits, what the file asks for is judged all the same.
            _ => switch.plane,
        };
        let rate = |port: &model::Port| interfaces.iter().find(|one| one.name == port.name).and_then(|one| one.rate);
        findings.extend(windows(switch, plane, rate, measured));
        findings.extend(streams::findings(switch));
    }
    findings.sort_by_key(|finding| finding.severity);
    Check { machine, ports, plane, findings }
}

/// Loops that the machine itself knows of, and that nothing cuts.
fn around(switch: &Switch, links: &[Link]) -> Vec<Finding> {
    if switch.role != Role::Bridge || switch.stp.is_on() {
        return Vec::new();
    }
    let ports: Vec<&str> = switch.ports.iter().map(|port| port.name.as_str()).collect();
    let found = loops::known(links, &ports, Some(&switch.name));
    let why = "a broadcast would go round for ever, and take all of the links";
    found.iter().map(|found| finding("loop", Severity::Bad, found.to_string(), "", why)).collect()
}

/// Those that a cable goes into; where there are none (in a container), all that could be ports.
fn with_sockets(interfaces: &[Interface]) -> Vec<&Interface> {
    let physical: Vec<&Interface> = interfaces.iter().filter(|interface| interface.is_physical()).collect();
    if !physical.is_empty() {
        return physical;
    }
    interfaces.iter().filter(|interface| planes::not_a_port(interface).is_none()).collect()
}

/// A finding without what mends it.
fn finding(
    id: impl Into<String>,
    severity: Severity,
    observed: impl Into<String>,
    should: impl Into<String>,
    why: impl Into<String>,
) -> Finding {
    let (id, observed, should, why) = (id.into(), observed.into(), should.into(), why.into());
    Finding { id, severity, observed, should, why, ..Finding::default() }
}

/// What is as it should be.
fn fine(id: impl Into<String>, observed: impl Into<String>) -> Finding {
    finding(id, Severity::Ok, observed, "", "")
}
