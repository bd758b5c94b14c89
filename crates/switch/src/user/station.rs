//! A station's own frames: the machine sends by an interface of the station's name, whose other end is a port of a switch
//! with two ports; the second one has the gates and leads to the wire.

use crate::apply::{Act, Expect, Iface, Link, Step, Undo};
use ontick_tsn::model::{Forwarding, Offload, Plane, Port, Role, Switch};

/// Behind the station's name, for the end that the core has.
const INNER: &str = "-core";
/// Of an interface's name.
const LONGEST_NAME: usize = 15;

/// What the core does for this model: of a station on the user data plane, the switch with an inner port; of any other, the
/// model itself.
pub fn served(switch: Switch) -> Switch {
    if !is_station(&switch) {
        return switch;
    }
    let inner = Port {
        name: inner(&switch.name),
        rate: switch.ports[0].rate,
        offload: Offload::None,
        transmit_queues: Vec::new(),
        idle_slopes: Vec::new(),
        preemption: None,
        max_sdu: vec![None; switch.classes.len()],
        gates: None,
    };
    let ports = [vec![inner], switch.ports].concat();
    Switch { role: Role::Bridge, ports, forwarding: Forwarding::default(), ..switch }
}

/// The inverse of [`served`]: the station of whose own frames this switch is the server; of any other, the switch itself.
pub fn asked(switch: Switch) -> Switch {
    let is_inner = |port: &Port| port.name == inner(&switch.name);
    if switch.role != Role::Bridge || switch.ports.len() != 2 || !is_inner(&switch.ports[0]) {
        return switch;
    }
    let station = Switch { role: Role::Station, ports: switch.ports[1..].to_vec(), ..switch.clone() };
    // A bridge may have a port of that name.
    if served(station.clone()) == switch { station } else { switch }
}

fn is_station(switch: &Switch) -> bool {
    switch.role == Role::Station && switch.plane == Plane::User && switch.ports.len() == 1
}

fn inner(name: &str) -> String {
    name.chars().take(LONGEST_NAME - INNER.len()).chain(INNER.chars()).collect()
}

/// Why a station cannot be served.
pub(super) fn unfit(switch: &Switch, links: &[Link]) -> Vec<String> {
    if switch.role != Role::Station {
        return Vec::new();
    }
    let mut reasons = Vec::new();
    if switch.ports.len() != 1 {
        reasons.push(format!(
            "the user data plane serves a station with one port, and {} has {}: write a file for each, or plane = \"kernel\"",
            switch.name,
            switch.ports.len()
        ));
    }
    if switch.classes.iter().flat_map(|class| &class.rules).any(|rule| rule.socket_priority.is_some()) {
        reasons.push("`socket-priority` is not in the frame, so only the kernel knows it (plane = \"kernel\")".into());
    }
    let taken = [switch.name.clone(), inner(&switch.name)];
    reasons.extend(taken.iter().filter(|name| links.iter().any(|link| link.name == **name)).map(|name| {
        format!("there is an interface {name} already, as one of the station's would be called: give it another name")
    }));
    reasons
}

/// Makes the pair of interfaces; both go at the end.
pub(super) fn pair(switch: &Switch, links: &[Link]) -> Option<Step> {
    if switch.role != Role::Station {
        return None;
    }
    let (name, inner) = (&switch.name, inner(&switch.name));
    // Numbers of our own choice, so that what is removed later can only be what was made here.
    let index = links.iter().map(|link| link.index).max().unwrap_or(0) + 1;
    let other = index + 1;
    let silent = format!("/proc/sys/net/ipv6/conf/{inner}/disable_ipv6");
    let step = Step::new(format!("interface {name}, by which this machine sends"))
        .act(Act::run(format!("ip link add name {name} index {index} type veth peer name {inner} index {other}")))
        .undo(Undo::Pair { interface: Iface::made(name, index) });
    // A kernel without IPv6 has no such file.
    let step = if std::path::Path::new("/proc/sys/net/ipv6").exists() {
        step.act(Act::Write { path: silent, value: "1".into() })
    } else {
        step
    };
    let step = step
        .act(Act::run(format!("ip link set dev {inner} up")))
        .act(Act::run(format!("ip link set dev {name} up")))
        .expect(Expect::Up { port: inner })
        .expect(Expect::Up { port: name.clone() });
    Some(step)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ontick_tsn::config;

    const STATION: &str = r#"
[switch]
name = "NAME"
role = "station"
plane = "user"

[[class]]
name = "blue"
queue = 0

[[class]]
name = "red"
queue = 1
match = [{ pcp = 6 }]

[[port]]
name = "eth0"
rate = "1Gbit"
max-sdu = { red = 300 }
idle-slope = { red = "20Mbit" }

[port.gates]
entries = [{ open = ["blue"], for = "800us" }, { open = ["red"], for = "200us" }]
"#;

    fn station(name: &str) -> Switch {
        config::read(&STATION.replace("NAME", name)).unwrap().switch
    }

    #[test]
    fn a_served_station_is_known_again() {
        for name in ["camera", "cam-on-the-left"] {
            let station = station(name);
            let served = served(station.clone());
            assert_eq!((served.role, served.ports.len()), (Role::Bridge, 2));
            // As it is kept while it is set up.
            let kept = config::read(&config::write(&served)).unwrap().switch;
            assert_eq!(asked(kept), station);
            assert_eq!(asked(station.clone()), station);
        }
    }

    #[test]
    fn a_bridge_with_a_port_of_that_name_stays_one() {
        let bridge = served(station("camera"));
        let mut gated = bridge.clone();
        gated.ports[0].gates = gated.ports[1].gates.clone();
        let mut other = bridge.clone();
        other.ports[0].name = "eth1".into();
        let mut three = bridge.clone();
        three.ports.push(Port { name: "eth1".into(), ..bridge.ports[1].clone() });
        let kernel = Switch { plane: Plane::Kernel, ..bridge };
        for switch in [gated, other, three, kernel] {
            assert_eq!(asked(switch.clone()), switch);
        }
    }
}
