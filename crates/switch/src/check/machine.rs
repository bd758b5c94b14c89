//! What keeps a machine from being a switch.

use ontick_record::{Finding, Severity};
use ontick_tsn::model::Clock;

use super::planes::Chosen;
use super::{Port, finding, fine};
use crate::ports::Machine;
use ontick_tsn::model::{Base, Classifier, Switch};

pub(super) fn findings(
    machine: &Machine,
    switch: Option<&Switch>,
    ports: &[Port],
    plane: Option<&Chosen>,
) -> Vec<Finding> {
    let mut found = vec![parts(machine), clock(machine, switch), synchronised(machine, switch), privileges(machine)];
    match (plane, ports) {
        // Whichever port is not there is a finding of its own.
        (Some(_), ports) if switch.is_some_and(|switch| ports.len() < switch.ports.len()) => {}
        (Some(plane), _) => found.push(chosen(plane)),
        (None, []) => {
            let why = "frames come and go by ports";
            found.push(finding("ports", Severity::Bad, "there is no Ethernet port", "two or more", why));
        }
        (None, ports) => found.push(possible(ports)),
    }
    found.extend(iptables(machine, switch, plane));
    found.extend(cpu(machine, switch, plane));
    found.extend(clocks(switch, ports));
    found
}

fn chosen(plane: &Chosen) -> Finding {
    match plane.plane {
        Some(name) => fine("data-plane", format!("{name}: {}", plane.why)),
        None => finding(
            "data-plane",
            Severity::Bad,
            plane.why.clone(),
            "one that fits all ports",
            "nobody would carry the switch out",
        ),
    }
}

/// Without a file: whether any data plane fits any port.
fn possible(ports: &[Port]) -> Finding {
    let kernel = ports.iter().filter(|port| port.planes.kernel.fits).count();
    let user = ports.iter().filter(|port| port.planes.user.fits).count();
    let of = ports.len();
    match (kernel, user) {
        (0, 0) => {
            let why = ports.first().map(|port| port.planes.user.words()).unwrap_or_default();
            finding("data-plane", Severity::Bad, "neither data plane fits any port", "one that does", why)
        }
        (0, user) => {
            let why = ports.first().map(|port| port.planes.kernel.words()).unwrap_or_default();
            fine("data-plane", format!("the user's fits {user} of {of} ports; the kernel's fits none ({why})"))
        }
        (kernel, user) => fine("data-plane", format!("the kernel's fits {kernel} of {of} ports, the user's {user}")),
    }
}

fn parts(machine: &Machine) -> Finding {
    let words = |usable: bool| -> Vec<String> {
        let parts = machine.parts.iter().filter(|(_, presence)| presence.usable() == usable);
        parts.map(|(name, presence)| format!("{name} {}", presence.words())).collect()
    };
    let (there, not) = (words(true), words(false));
    let not = if not.is_empty() { String::new() } else { format!("; {}", not.join(", ")) };
    let mut parts = fine("kernel-parts", format!("{}{not}", there.join(", ")));
    parts.source = "modules.builtin, modules.dep, the kernel's configuration, /proc/modules".into();
    parts
}

fn clock(machine: &Machine, switch: Option<&Switch>) -> Finding {
    let offset = machine.tai_offset_s;
    let tai = switch.is_none_or(|switch| switch.clock == Clock::Tai);
    if offset != 0 || !tai {
        return fine("tai-offset", format!("TAI is {offset} s before UTC"));
    }
    let absolute = switch.is_some_and(|switch| {
        switch.ports.iter().filter_map(|port| port.gates.as_ref()).any(|gates| matches!(gates.base, Base::At(_)))
    });
    let severity = if absolute { Severity::Bad } else { Severity::Warn };
    let mut finding = finding(
        "tai-offset",
        severity,
        "0: CLOCK_TAI shows UTC",
        "37 s (since 2017)",
        "a base time in TAI is met 37 s late; cycles that divide a second stand where they should all the same",
    );
    finding.source = "adjtimex(2), ADJ_TAI".into();
    finding.now = Some("let ptp4l and phc2sys set it, or chrony with `leapsectz right/UTC`".into());
    finding
}

fn synchronised(machine: &Machine, switch: Option<&Switch>) -> Finding {
    let (id, should) = ("ptp", "ptp4l and phc2sys, where other devices' gates must fit these");
    let running = machine.ptp.running.join(" and ");
    let why =
        "gates follow this machine's own clock, which drifts from others' by a microsecond in a tenth of a second";
    // A clock that counts from the machine's start is nobody else's.
    if switch.is_some_and(|switch| switch.clock == Clock::Monotonic) {
        return fine(id, "the gates follow a clock of this machine alone");
    }
    match &machine.ptp.state {
        Some(state) if state.is_grandmaster() => fine(id, format!("{running}: this machine is the grandmaster")),
        Some(state) if state.is_shared() => {
            let offset = state.offset_ns.map(|ns| format!(", {ns} ns from it")).unwrap_or_default();
            fine(id, format!("{running}: follows the grandmaster{offset}"))
        }
        Some(state) => finding(
            id,
            Severity::Warn,
            format!("{running}: not synchronised (port {})", state.ports.join(", ")),
            should,
            why,
        ),
        None if running.is_empty() => {
            finding(id, Severity::Warn, "nothing keeps the clock in time by PTP", should, why)
        }
        None => {
            let hint = if machine.tools.has("pmc") { "it does not answer pmc" } else { "pmc is not installed" };
            finding(id, Severity::Unknown, format!("{running} runs; {hint}"), "synchronised", why)
        }
    }
}

fn privileges(machine: &Machine) -> Finding {
    if machine.may_change_network {
        return fine("privileges", "this user may change the network");
    }
    let why = "looking needs none; setting up does";
    finding(
        "privileges",
        Severity::Warn,
        "this user may not change the network",
        "root (sudo) to apply and to run",
        why,
    )
}

/// Frames of the user data plane pass by no bridge of the kernel's.
fn iptables(machine: &Machine, switch: Option<&Switch>, plane: Option<&Chosen>) -> Option<Finding> {
    let id = "br_netfilter";
    if plane.and_then(|plane| plane.plane) == Some("user") {
        return None;
    }
    match (machine.bridge_calls_iptables?, switch.map(|switch| switch.classifier)) {
        (true, Some(Classifier::Iptables)) => {
            Some(fine(id, "bridged frames go through iptables, as the classifier needs"))
        }
        (true, _) => {
            let why = "each bridged frame costs more, and a firewall's rules may drop it";
            let mut finding = finding(id, Severity::Warn, "bridged frames go through iptables", "off", why);
            finding.source = "/proc/sys/net/bridge/bridge-nf-call-iptables".into();
            finding.now = Some("sysctl net.bridge.bridge-nf-call-iptables=0".into());
            Some(finding)
        }
        (false, _) => Some(fine(id, "bridged frames do not go through iptables")),
    }
}

/// The user data plane's CPU.
fn cpu(machine: &Machine, switch: Option<&Switch>, plane: Option<&Chosen>) -> Option<Finding> {
    let named = switch.map_or(&[][..], |switch| &switch.cpus);
    if let Some(cpu) = named.iter().find(|cpu| !machine.cpus.contains(cpu)) {
        let online: Vec<String> = machine.cpus.iter().map(u32::to_string).collect();
        let seen = format!("CPU {cpu} is not online");
        return Some(finding("cpu", Severity::Bad, seen, format!("one of {}", online.join(", ")), "the file names it"));
    }
    if plane.and_then(|plane| plane.plane) != Some("user") {
        return None;
    }
    if machine.cpus.len() == 1 {
        let why =
            "gates open late whenever something else runs: a program on the same CPU holds them up for milliseconds";
        return Some(finding("cpu", Severity::Warn, "the machine has one CPU", "two or more", why));
    }
    if machine.cpus.iter().all(|cpu| named.contains(cpu)) {
        let why = "cores that spin leave no CPU to the rest of the system, so that the switch does not begin";
        return Some(finding("cpu", Severity::Bad, "the file names every CPU", "one CPU left out", why));
    }
    let taken = match named.len() {
        0 | 1 => "one of which the user data plane takes".into(),
        several => format!("{several} of which the user data plane takes"),
    };
    Some(fine("cpu", format!("{} CPUs, {taken}", machine.cpus.len())))
}

/// Ports that open their gates by clocks of their own must have the same time.
fn clocks(switch: Option<&Switch>, ports: &[Port]) -> Option<Finding> {
    let full = |port: &&Port| {
        let wanted = switch.and_then(|switch| switch.ports.iter().find(|wanted| wanted.name == port.interface.name));
        wanted.is_some_and(|wanted| wanted.offload == ontick_tsn::model::Offload::Full)
    };
    let mut clocks: Vec<u32> = ports.iter().filter(full).filter_map(|port| port.interface.stamps.clock).collect();
    clocks.sort_unstable();
    clocks.dedup();
    let names: Vec<String> = clocks.iter().map(|clock| format!("/dev/ptp{clock}")).collect();
    (clocks.len() > 1).then(|| {
        let why = "each port opens its gates by its own clock";
        let mut finding = finding("clocks", Severity::Warn, names.join(", "), "all kept to one time", why);
        finding.now = Some(format!("phc2sys -s {} -c {} -O 0 (one for each further clock)", names[0], names[1]));
        finding
    })
}
