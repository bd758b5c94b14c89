//! What keeps a port from its part of the switch.

use ontick_record::{Finding, Severity};
use ontick_units::show_bit_rate;

use super::planes::{Planes, not_a_port};
use super::{finding, fine};
use crate::ports::Interface;
use ontick_tsn::config::suggest;
use ontick_tsn::model::{self, Offload, Plane, Switch};
use ontick_tsn::shaper;
use ontick_tsn::wire;

/// A port of the file that is not there.
pub(super) fn missing(name: &str, interfaces: &[Interface]) -> Finding {
    let names: Vec<&str> = interfaces.iter().map(|interface| interface.name.as_str()).collect();
    let hint = suggest::among(name, &names);
    finding(
        format!("{name} interface"),
        Severity::Bad,
        format!("there is no interface {name}{hint}"),
        "there",
        "the file names it as a port",
    )
}

/// The finding that connections to this machine may go by an interface.
pub fn route_id(interface: &str) -> String {
    format!("{interface} route")
}

pub(super) fn findings(
    interface: &Interface,
    wanted: Option<(&Switch, &model::Port)>,
    planes: &Planes,
) -> Vec<Finding> {
    let id = |what: &str| format!("{} {what}", interface.name);
    let mut found = Vec::new();
    if let Some(why) = not_a_port(interface) {
        found.push(finding(id("kind"), Severity::Bad, why, "an Ethernet port", "frames of all classes go through it"));
        return found;
    }
    found.push(link(interface, &id("link")));
    found.extend(master(interface, wanted.map(|(switch, _)| switch), id("master")));
    if interface.default_route {
        let mut route = finding(
            route_id(&interface.name),
            Severity::Warn,
            "this machine's default route leaves by it",
            "a port that nobody logs in by",
            "a port that is set up anew takes connections to this machine with it",
        );
        route.now = Some("apply the switch so that it goes back by itself unless you confirm".into());
        found.push(route);
    }
    found.push(offloads(interface, id("offloads")));
    found.push(stamps(interface, id("stamps")));
    if let Some((switch, port)) = wanted {
        found.extend(rate(interface, port, id("rate")));
        found.extend(far_end(interface, switch, planes, id("far-end")));
        found.extend(sizes(interface, switch, port, id("mtu")));
        found.extend(shapers(interface, switch, port));
        found.extend(offload(interface, switch, port, planes, id("offload")));
        found.extend(preemption(port, planes, id("preemption")));
    }
    found
}

fn link(interface: &Interface, id: &str) -> Finding {
    if interface.carrier {
        let rate = interface.rate.map(|rate| format!(" at {}", show_bit_rate(rate))).unwrap_or_default();
        return fine(id, format!("there{rate}"));
    }
    let seen = if interface.up { "nobody is at the other end" } else { "the interface is down" };
    let mut link = finding(id, Severity::Warn, seen, "up", "no frame passes without a link");
    link.now = (!interface.up).then(|| format!("ip link set {} up", interface.name));
    link
}

fn master(interface: &Interface, switch: Option<&Switch>, id: String) -> Option<Finding> {
    let master = interface.master.as_ref()?;
    match switch {
        Some(switch) if switch.name == *master => {
            Some(fine(id, format!("a port of {master}, as the switch is called")))
        }
        _ => {
            let severity = if switch.is_some() { Severity::Bad } else { Severity::Warn };
            let why = "an interface belongs to one bridge or bond at a time";
            let mut master_ = finding(id, severity, format!("it belongs to {master}"), "on its own", why);
            master_.now = Some(format!("ip link set {} nomaster", interface.name));
            Some(master_)
        }
    }
}

fn offloads(interface: &Interface, id: String) -> Finding {
    let acting: Vec<&str> = interface.joins_frames.iter().chain(&interface.hides_octets).map(String::as_str).collect();
    let fixed: Vec<&str> = interface.fixed.iter().map(String::as_str).collect();
    if !fixed.is_empty() {
        let seen = format!("{} cannot be switched off", shortened(&fixed));
        let why = "gates are for single frames as they are on the wire; frames joined to 20 kB may arrive otherwise, too \
                   long to be forwarded";
        return finding(id, Severity::Warn, seen, "off", why);
    }
    if acting.is_empty() {
        return fine(id, "none that breaks shaping");
    }
    // Seen as it is before anything is applied, and mended by applying.
    fine(id, format!("{} will be switched off while the switch runs, and back on after", shortened(&acting)))
}

/// The other end of a virtual Ethernet pair hands over what a wire never carries.
fn far_end(interface: &Interface, switch: &Switch, planes: &Planes, id: String) -> Option<Finding> {
    let user = match switch.plane {
        Plane::User => true,
        Plane::Auto => !planes.kernel.fits,
        Plane::Kernel => false,
    };
    (user && interface.kind.as_deref() == Some("veth"))
        .then(|| fine(id, "a virtual one; it is kept from joining frames (tso, gso) while the switch runs"))
}

/// A few names stand for many.
fn shortened(names: &[&str]) -> String {
    match names {
        [first, second, third, rest @ ..] if !rest.is_empty() => {
            format!("{first}, {second}, {third} and {} more", rest.len())
        }
        names => names.join(", "),
    }
}

fn stamps(interface: &Interface, id: String) -> Finding {
    let stamps = interface.stamps;
    match stamps.clock {
        Some(clock) if stamps.hardware_receive => fine(id, format!("by the port's own clock, /dev/ptp{clock}")),
        Some(clock) => fine(id, format!("by the kernel; the port has a clock, /dev/ptp{clock}")),
        None => fine(id, "by the kernel; the port has no PTP hardware clock"),
    }
}

fn rate(interface: &Interface, port: &model::Port, id: String) -> Option<Finding> {
    // A veth pair says a rate and keeps none.
    let (wanted, is) = (port.rate?, interface.rate.filter(|_| interface.kind.is_none())?);
    if wanted == is {
        return Some(fine(id, format!("{} as the file says", show_bit_rate(is))));
    }
    let (severity, why) = match is < wanted {
        true => (Severity::Bad, "frames take longer than the gates were laid out for"),
        false => (Severity::Warn, "gates are laid out for longer frames than there are"),
    };
    Some(finding(id, severity, format!("the link has {}", show_bit_rate(is)), show_bit_rate(wanted), why))
}

fn sizes(interface: &Interface, switch: &Switch, port: &model::Port, id: String) -> Option<Finding> {
    let limits = switch.classes.iter().zip(&port.max_sdu);
    let (largest, class) = limits.filter_map(|(class, size)| Some(((*size)?, &class.name))).max()?;
    if largest <= interface.mtu {
        return Some(fine(id, format!("{}, and max-sdu is {largest} at most", interface.mtu)));
    }
    let mut mtu = finding(
        id,
        Severity::Bad,
        format!("frames carry {} octets at most", interface.mtu),
        format!("{largest}"),
        format!("max-sdu of {class} lets larger ones through, which the port drops"),
    );
    mtu.now = (largest > wire::LARGEST_SDU).then(|| format!("ip link set {} mtu {largest}", interface.name));
    Some(mtu)
}

/// What its shaped classes are held to, and why that cannot be.
fn shapers(interface: &Interface, switch: &Switch, port: &model::Port) -> Vec<Finding> {
    let rate = port.rate.or(interface.rate);
    let mut found = Vec::new();
    for why in shaper::unfit(switch, port, rate) {
        let id = format!("{} shaper", interface.name);
        found.push(finding(id, Severity::Bad, why, "idle slopes that the link can keep", "classes would have less"));
    }
    if let (true, Some(rate)) = (found.is_empty(), rate) {
        found.extend(shaper::shaped(switch, port, rate).into_iter().map(|(class, slopes)| {
            fine(format!("{} shaper of {}", interface.name, switch.classes[class].name), slopes.words())
        }));
    }
    found
}

/// Whether it preempts the frames that the file says.
fn preemption(port: &model::Port, planes: &Planes, id: String) -> Option<Finding> {
    port.preemption.as_ref()?;
    if planes.preemption.fits {
        return Some(fine(id, planes.preemption.words()));
    }
    let why = "[port.preemption] leaves it to the port to interrupt a frame for another";
    Some(finding(id, Severity::Bad, planes.preemption.words(), "a port that preempts frames", why))
}

/// What the file wants of the port's hardware.
fn offload(interface: &Interface, switch: &Switch, port: &model::Port, planes: &Planes, id: String) -> Option<Finding> {
    if switch.plane == Plane::User {
        return None;
    }
    match port.offload {
        Offload::None => None,
        Offload::Full if planes.full.fits => Some(fine(id, format!("full, {}", planes.full.words()))),
        Offload::Full => {
            let why = "offload = \"full\" leaves the gates to the port";
            // A list of drivers is never complete; applying it tells. Without a clock there is nothing to try.
            let severity = if interface.stamps.clock.is_none() { Severity::Bad } else { Severity::Warn };
            Some(finding(id, severity, planes.full.words(), "a port that opens gates by itself", why))
        }
        Offload::TxTime { .. } if planes.txtime.fits => Some(fine(id, format!("txtime, {}", planes.txtime.words()))),
        // etf sends at given times by itself, less exactly.
        Offload::TxTime { .. } => {
            let why = "etf then sends each frame by a timer of its own, a few microseconds late";
            Some(finding(id, Severity::Warn, planes.txtime.words(), "a port that sends at given times", why))
        }
    }
}
