//! What the user data plane changes about its ports before it takes them over, as steps with a way back.

use super::either::largest_sdu;
use super::{spread, station};
use crate::apply::port::{self, PortError};
use crate::apply::{Host, Link, Plan, Snapshot, Step, links};
use crate::features::{self, Features};
use crate::kernel::CannotPlan;
use ontick_tsn::model::{Bridge, Offload, Port, Reserved, Socket, Switch};
use ontick_tsn::shaper::{self, Slopes};

/// Of a link that reports no rate, in bits per second.
const ASSUMED_RATE: u64 = 1_000_000_000;

/// Looks at everything that would be changed, and says what is to be done.
pub fn plan(host: &impl Host, switch: &Switch) -> Result<Plan, CannotPlan> {
    let host = &Snapshot::of(host);
    let links = links(host)?;
    let mut reasons = unfit(switch);
    reasons.extend(station::unfit(switch, &links));
    let mut plan = Plan { name: switch.name.clone(), ..Plan::default() };
    plan.steps.extend(station::pair(switch, &links));
    for port in &switch.ports {
        match port::usable(&port.name, &links).and_then(|link| steps(host, link)) {
            Ok(steps) => plan.steps.extend(steps),
            Err(why) => reasons.push(why.to_string()),
        }
        if switch.socket == Socket::Xdp {
            reasons.extend(host.features(&port.name).ok().and_then(|features| keeps_tags(&port.name, &features)));
        }
        let paired = |link: &Link| link.name == port.name && link.info.kind.as_deref() == Some("veth");
        if links.iter().any(paired) {
            plan.notes.push(format!(
                "port {} is one end of a virtual Ethernet pair; the other end joins no frames (tso, gso) while the switch \
                 works",
                port.name
            ));
        }
        let rate = port.rate.or_else(|| host.rate(&port.name));
        let unkept = shaper::unfit(switch, port, rate);
        reasons.extend(unkept.into_iter().map(|why| format!("port {}: {why}", port.name)));
        plan.notes.extend(shaped(switch, port, rate.unwrap_or(ASSUMED_RATE)));
        if port.rate.is_none() && host.rate(&port.name).is_none() {
            plan.notes.push(format!(
                "port {} does not report the rate of its link; {} is assumed (rate = \"…\" in the file says otherwise)",
                port.name,
                ontick_units::show_bit_rate(ASSUMED_RATE)
            ));
        }
    }
    if reasons.is_empty() { Ok(plan) } else { Err(CannotPlan { reasons }) }
}

/// Of each class of a port that is shaped, its slopes and the bounds of its credit.
fn shaped(switch: &Switch, port: &Port, rate: u64) -> Vec<String> {
    let note = |(class, slopes): (usize, Slopes)| {
        format!("port {}: {} is shaped: {}", port.name, switch.classes[class].name, slopes.words())
    };
    shaper::shaped(switch, port, rate).into_iter().map(note).collect()
}

/// The steps for one port alone, whose interface is there again.
pub(super) fn of_port(host: &impl Host, name: &str) -> Result<Vec<Step>, PortError> {
    let links = links(host)?;
    port::usable(name, &links).and_then(|link| steps(host, link))
}

/// What of the model takes a kernel.
fn unfit(switch: &Switch) -> Vec<String> {
    let mut reasons = Vec::new();
    if switch.bridge != Bridge::Linux {
        reasons.push("Open vSwitch is a bridge of the kernel's data plane (plane = \"kernel\", or no `bridge`)".into());
    }
    reasons.extend(spread::unfit(switch));
    reasons.extend(spanning_tree(switch).map(str::to_owned));
    reasons.extend(switch.ports.iter().filter_map(|port| too_large(switch, port)));
    if switch.socket == Socket::Xdp && switch.forward_reserved != Reserved::default() {
        reasons.push("AF_XDP leaves frames to reserved addresses to the kernel, so that they cannot be forwarded (socket = \"packet\", or no forward-reserved)".into());
    }
    let several = switch.ports.iter().filter(|port| !port.transmit_queues.is_empty());
    reasons.extend(several.map(|port| {
        format!("port {}: a dedicated core has one queue for each class: leave transmit-queues out", port.name)
    }));
    reasons.extend(switch.ports.iter().filter_map(preempts));
    let offloaded = switch.ports.iter().filter(|port| port.offload != Offload::None);
    reasons.extend(offloaded.map(|port| {
        format!("port {}: offload is the kernel data plane's (plane = \"kernel\", or offload = \"none\")", port.name)
    }));
    reasons
}

/// That no core speaks the spanning tree protocol.
pub(crate) fn spanning_tree(switch: &Switch) -> Option<&'static str> {
    let why = "the spanning tree protocol is spoken by the kernel's bridge only (plane = \"kernel\", or stp = false: loops \
               are then looked for by probes, and a port is closed that makes one)";
    switch.stp.is_on().then_some(why)
}

/// That no core preempts a frame.
pub(crate) fn preempts(port: &Port) -> Option<String> {
    port.preemption.as_ref().map(|_| {
        format!(
            "port {}: frames are preempted by the port's hardware, which the kernel's data plane sets up (plane = \
             \"kernel\", or no [port.preemption])",
            port.name
        )
    })
}

/// Why frames of a class are larger than any that the switch takes from a port.
pub fn too_large(switch: &Switch, port: &Port) -> Option<String> {
    let limit = largest_sdu(switch.socket);
    let classes = switch.classes.iter().zip(&port.max_sdu);
    let (class, sdu) = classes.filter_map(|(class, sdu)| Some((&class.name, (*sdu)?))).max_by_key(|(_, sdu)| *sdu)?;
    let socket = if switch.socket == Socket::Xdp { "xdp" } else { "packet" };
    (sdu > limit).then(|| {
        format!(
            "port {}: max-sdu = {{ {class} = {sdu} }} is more than the {limit} octets that the user data plane carries with \
             socket = \"{socket}\" (a smaller max-sdu, or plane = \"kernel\")",
            port.name
        )
    })
}

/// Why AF_XDP would not see the VLAN tags of frames at a port: it keeps them beside the frames, and goes on to.
fn keeps_tags(port: &str, features: &Features) -> Option<String> {
    let fixed = |name: &&str| features.get(*name).is_some_and(|feature| feature.active && !feature.can_change);
    let fixed: Vec<&str> = ["rx-vlan-hw-parse", "rx-vlan-stag-hw-parse"].into_iter().filter(fixed).collect();
    (!fixed.is_empty()).then(|| {
        format!(
            "port {port}: {} cannot be switched off, so frames would come in without their VLAN tags (socket = \"packet\" \
             sees them)",
            fixed.join(" and ")
        )
    })
}

fn steps(host: &impl Host, link: &Link) -> Result<Vec<Step>, PortError> {
    // Frames must come in as they are on the wire, each for itself and with its tag.
    let hiding = port::offloads_off(host, link, "no offloads that merge frames or hide octets", features::hides_octets);
    let silent = port::no_ipv6(host, link)?;
    Ok([hiding?, silent, port::up(link)].into_iter().flatten().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::Feature;

    #[test]
    fn a_port_that_always_takes_tags_out_is_refused_for_af_xdp() {
        let features = |active, can_change| {
            let feature = Feature { active, wanted: active, can_change };
            Features::from([("rx-vlan-hw-parse".into(), feature), ("rx-gro".into(), feature)])
        };
        assert_eq!(keeps_tags("lan1", &features(true, true)), None);
        assert_eq!(keeps_tags("lan1", &features(false, false)), None);
        let why = keeps_tags("lan1", &features(true, false)).unwrap();
        assert!(why.starts_with("port lan1: rx-vlan-hw-parse cannot be switched off"), "{why}");
        assert!(why.contains("socket = \"packet\""), "{why}");
    }
}
