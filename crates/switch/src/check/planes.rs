//! Which data plane fits a port, and why the other one does not.

use serde::Serialize;

use super::Port;
use crate::kernel;
use crate::ports::{Interface, Machine};
use crate::user::plan;
use ontick_tsn::config::Terms;
use ontick_tsn::model::{self, Bridge, Classifier, Datapath, Offload, Plane, Role, Socket, SpanningTree, Switch};

/// Drivers that open and close gates by themselves (`TC_SETUP_QDISC_TAPRIO` in Linux 6.12). Ports of a switch chip all
/// call their driver `dsa`, whose chips differ in it.
const FULL: [&str; 7] = ["igc", "st_gmac", "fsl_enetc", "am65-cpsw-nuss", "icssg-prueth", "lan966x-switch", "tsnep"];
/// Drivers that send a frame at a given time by themselves (`TC_SETUP_QDISC_ETF`).
const TXTIME: [&str; 4] = ["igb", "igc", "st_gmac", "fsl_enetc"];

/// What a port can serve.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Planes {
    /// The kernel's data plane, gates in software or as the file asks.
    pub kernel: Fits,
    /// The user data plane.
    pub user: Fits,
    /// The port sends frames at given times.
    pub txtime: Fits,
    /// The port opens and closes gates by itself.
    pub full: Fits,
    /// The port preempts frames.
    pub preemption: Fits,
}

/// Whether something can be had.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fits {
    /// It can.
    pub fits: bool,
    /// How, or all reasons why not.
    pub why: Vec<String>,
}

impl Fits {
    fn unless(reasons: Vec<String>, how: impl Into<String>) -> Self {
        if reasons.is_empty() { Self { fits: true, why: vec![how.into()] } } else { Self { fits: false, why: reasons } }
    }

    /// In one line.
    pub fn words(&self) -> String {
        self.why.join("; ")
    }
}

/// The data plane of a whole switch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Chosen {
    /// `kernel`, `user`, or nothing where neither does.
    pub plane: Option<&'static str>,
    /// Why this one, or why none.
    pub why: String,
}

/// Why an interface cannot be a port at all.
pub(super) fn not_a_port(interface: &Interface) -> Option<String> {
    match interface.kind.as_deref() {
        _ if !interface.ethernet => Some("it is no Ethernet interface".into()),
        _ if interface.wireless => Some("an access point takes no frames that come from others".into()),
        Some(kind @ ("bridge" | "bond" | "team" | "openvswitch" | "vrf" | "dummy" | "ifb")) => {
            Some(format!("a {kind} is no port; name the interfaces that belong to it"))
        }
        _ => None,
    }
}

pub(super) fn of(
    machine: &Machine,
    interface: &Interface,
    switch: Option<&Switch>,
    port: Option<&model::Port>,
) -> Planes {
    let driver = interface.driver.as_ref().map_or("", |driver| driver.name.as_str());
    let known = |list: &[&str], what: &str| {
        let not = (!list.contains(&driver)).then(|| format!("{driver} is not known to {what}"));
        let clock = interface.stamps.clock.is_none().then(|| "the port has no PTP hardware clock".to_owned());
        Fits::unless(not.into_iter().chain(clock).collect(), format!("by {driver}"))
    };
    Planes {
        kernel: kernel(machine, interface, switch, port),
        user: user(machine, interface, switch, port),
        txtime: known(&TXTIME, "send at given times"),
        full: known(&FULL, "open gates by itself"),
        preemption: Fits::unless(no_preemption(interface).into_iter().collect(), format!("by {driver}")),
    }
}

/// Why a port does not preempt frames.
fn no_preemption(interface: &Interface) -> Option<String> {
    interface.mac_merge.is_none().then(|| kernel::no_preemption(&interface.no_mac_merge))
}

fn kernel(machine: &Machine, interface: &Interface, switch: Option<&Switch>, port: Option<&model::Port>) -> Fits {
    let mut reasons: Vec<String> = not_a_port(interface).into_iter().collect();
    let mut parts = Vec::new();
    let classes = switch.map_or(2, |switch| switch.classes.len());
    // Without a file gates are asked for: they are what a switch of this kind is for.
    let gated = port.is_none_or(|port| port.gates.is_some());
    let preempts = port.is_some_and(|port| port.preemption.is_some());
    match switch.map_or(Bridge::Linux, |switch| switch.bridge) {
        Bridge::Linux if switch.is_none_or(|switch| switch.role == Role::Bridge) => parts.push("bridge"),
        Bridge::OpenVswitch(Datapath::System) => parts.push("openvswitch"),
        Bridge::Linux | Bridge::OpenVswitch(Datapath::Netdev) => {}
    }
    match gated {
        true => parts.push("taprio"),
        false if preempts => parts.push("mqprio"),
        false if classes > 1 => parts.push("prio"),
        false => {}
    }
    if port.is_some_and(model::Port::is_shaped) {
        // Also between taprio and cbs.
        if !parts.contains(&"prio") {
            parts.push("prio");
        }
        parts.push("cbs");
    }
    if port.is_some_and(|port| matches!(port.offload, Offload::TxTime { .. })) {
        parts.push("etf");
    }
    parts.extend(switch.map(crate::kernel::policing_parts).unwrap_or_default());
    reasons.extend(lacks(machine, &parts));
    if port.is_some_and(|port| port.offload == Offload::Full) && interface.stamps.clock.is_none() {
        reasons.push("full offload needs a PTP hardware clock, and the port has none".into());
    }
    let classes_have: usize =
        (0..classes).map(|class| port.map_or(1, |port| usize::from(port.transmit_queues_of(class)))).sum();
    if (gated || preempts) && (interface.transmit_queues as usize) < classes_have.max(2) {
        let have = match interface.transmit_queues {
            1 => "one transmit queue".to_owned(),
            several => format!("{several} transmit queues"),
        };
        reasons.push(format!(
            "{} needs {}, and the port has {have}",
            if gated { "taprio" } else { "mqprio" },
            match classes_have == classes {
                true => format!("a transmit queue for each of {classes} classes"),
                false => format!("{classes_have} transmit queues for {classes} classes"),
            }
        ));
    }
    reasons.extend(no_preemption(interface).filter(|_| preempts));
    if switch.is_some_and(|switch| matches!(switch.stp, SpanningTree::Rstp(_))) && !machine.tools.has("mstpctl") {
        reasons.push(kernel::NO_DAEMON.into());
    }
    if !["ip", "tc"].iter().all(|tool| machine.tools.has(tool)) {
        reasons.push("ip and tc are needed (package iproute2)".into());
    }
    reasons.extend(switch.into_iter().flat_map(crate::kernel::unfit_entries));
    reasons.extend(switch.zip(port).and_then(|(switch, port)| crate::kernel::unshaped(switch, port)));
    reasons.extend(switch.and_then(|switch| crate::kernel::unpoliced(switch, Terms::File)));
    reasons.extend(open_vswitch(machine, switch));
    let classifier = match classifier(machine, switch) {
        Ok(classifier) => classifier,
        Err(why) => {
            reasons.push(why);
            ""
        }
    };
    let gates = if gated { "gates by taprio" } else { "no gates" };
    let preemption = if preempts { ", preemption by the port" } else { "" };
    Fits::unless(reasons, format!("{gates}{preemption}, classes by {classifier}"))
}

fn open_vswitch(machine: &Machine, switch: Option<&Switch>) -> Option<String> {
    let Bridge::OpenVswitch(_) = switch?.bridge else { return None };
    let tools = ["ovs-vsctl", "ovs-ofctl", "ovs-appctl"];
    match machine.open_vswitch {
        _ if !tools.iter().all(|tool| machine.tools.has(tool)) => {
            Some(format!("{} are needed (package openvswitch-switch)", tools.join(", ")))
        }
        // Only root is answered.
        Some(false) if machine.may_change_network => {
            Some("ovs-vswitchd does not answer (systemctl start openvswitch-switch)".into())
        }
        _ => None,
    }
}

fn lacks(machine: &Machine, parts: &[&str]) -> Option<String> {
    let missing = machine.parts.missing(parts);
    (!missing.is_empty()).then(|| format!("the kernel lacks {}", missing.join(", ")))
}

/// The classifier that will do, or why none does.
fn classifier(machine: &Machine, switch: Option<&Switch>) -> Result<&'static str, String> {
    let wanted = switch.map_or(Classifier::Auto, |switch| switch.classifier);
    let one = |name: &'static str, parts: &[&str], tool: &str| {
        let tool_ = (!machine.tools.has(tool)).then(|| format!("the program {tool}"));
        let missing: Vec<String> = machine.parts.missing(parts).into_iter().chain(tool_).collect();
        if missing.is_empty() { Ok(name) } else { Err(format!("{name} lacks {}", missing.join(", "))) }
    };
    let flower = || one("flower", &["clsact", "flower", "skbedit"], "tc");
    let nft = || one("nft", &["nftables", "nftables-bridge"], "nft");
    let iptables = || one("iptables", &["br_netfilter", "iptables-classify"], "iptables");
    if let Some(Bridge::OpenVswitch(datapath)) = switch.map(|switch| switch.bridge) {
        let by_flows = datapath == Datapath::System
            && wanted == Classifier::Auto
            && switch.is_some_and(|switch| switch.ports.iter().all(|port| port.gates.is_some()));
        return flower().or_else(|why| if by_flows { Ok("flows") } else { Err(why) });
    }
    match wanted {
        Classifier::Flower => flower(),
        Classifier::Nft => nft(),
        Classifier::Iptables => iptables(),
        Classifier::Auto => flower().or_else(|first| {
            nft().or_else(|second| {
                iptables().map_err(|third| format!("no classifier is there: {first}, {second}, {third}"))
            })
        }),
    }
}

fn user(machine: &Machine, interface: &Interface, switch: Option<&Switch>, port: Option<&model::Port>) -> Fits {
    let mut reasons: Vec<String> = not_a_port(interface).into_iter().collect();
    let socket = match switch.map(|switch| switch.socket) {
        Some(Socket::Xdp) => "af_xdp",
        _ => "af_packet",
    };
    reasons.extend(lacks(machine, &[socket]));
    if switch.is_some_and(|switch| switch.role == Role::Station && switch.ports.len() > 1) {
        reasons.push("of a station with several ports the own frames go by the kernel".into());
    }
    if switch.is_some_and(|switch| switch.bridge != Bridge::Linux) {
        reasons.push("Open vSwitch is a bridge of the kernel's data plane (plane = \"kernel\")".into());
    }
    reasons.extend(switch.zip(port).and_then(|(switch, port)| plan::too_large(switch, port)));
    reasons.extend(switch.and_then(plan::spanning_tree).map(str::to_owned));
    reasons.extend(port.and_then(plan::preempts));
    let how = if machine.cpus.len() > 1 { "on a CPU of its own" } else { "on the only CPU, shared with all else" };
    Fits::unless(reasons, how)
}

/// Which data plane the whole switch has: the file's, or the kernel's where it fits every port, or else the user's.
pub(super) fn choose(switch: &Switch, ports: &[Port]) -> Chosen {
    let missing = ports.len() < switch.ports.len();
    let kernel = against(ports, |planes| &planes.kernel);
    let user = against(ports, |planes| &planes.user);
    let chosen = |plane, why: String| Chosen { plane, why };
    match switch.plane {
        _ if missing => chosen(None, "not all ports are there".into()),
        Plane::Kernel if kernel.is_empty() => chosen(Some("kernel"), "the file says so, and it fits".into()),
        Plane::User if user.is_empty() => chosen(Some("user"), "the file says so, and it fits".into()),
        Plane::Auto if kernel.is_empty() => chosen(Some("kernel"), "it fits every port".into()),
        Plane::Auto if user.is_empty() => {
            chosen(Some("user"), format!("the kernel's does not fit: {}", kernel.join("; ")))
        }
        Plane::Kernel => chosen(None, kernel.join("; ")),
        Plane::User => chosen(None, user.join("; ")),
        Plane::Auto => chosen(None, {
            format!("the kernel's does not fit: {}; nor the user's: {}", kernel.join("; "), user.join("; "))
        }),
    }
}

/// What speaks against a data plane: each reason once, with the ports for which it holds where that is not all of them.
fn against(ports: &[Port], fits: impl Fn(&Planes) -> &Fits) -> Vec<String> {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for port in ports.iter().filter(|port| !fits(&port.planes).fits) {
        for why in &fits(&port.planes).why {
            let name = port.interface.name.as_str();
            match reasons.iter_mut().find(|(known, _)| known == why) {
                Some((_, names)) => names.push(name),
                None => reasons.push((why, vec![name])),
            }
        }
    }
    let words = |(why, names): (&str, Vec<&str>)| match names.len() == ports.len() {
        true => why.to_owned(),
        false => format!("{}: {why}", names.join(", ")),
    };
    reasons.into_iter().map(words).collect()
}
