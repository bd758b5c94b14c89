//! Two stations with a cable, a bridge or a switch between them, all in network namespaces of this process.

use ontick_rt::thread::Policy;
use ontick_switch::user::core::PortConfig;
use ontick_switch::user::either::EitherPort;
use ontick_switch::user::{CorePlacement, Running};
use ontick_switch::verify::namespace::{Namespace, NamespaceError};
use ontick_tsn::model::{Class, Classifier, Offload, Plane, Port, Role, Rule, Socket, Switch};

/// Of the switch's links: fast enough not to be what limits it.
pub const RATE: u64 = 10_000_000_000;
/// Frames that each queue holds: more than may be on their way.
const LIMIT: u32 = 2_048;
/// Two ports, two far ends.
pub const PORTS: [&str; 2] = ["port0", "port1"];
pub const FAR: [&str; 2] = ["far0", "far1"];

/// What is between the stations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Between {
    /// Nothing but a cable.
    Cable,
    /// The kernel's bridge.
    Bridge,
    /// The user data plane with eight classes, on a core that never rests, as it is on an isolated CPU.
    User(Socket),
    /// The same on a core that rests for others, as it is by default on a CPU that is not isolated.
    Resting(Socket),
}

impl Between {
    pub fn name(self) -> &'static str {
        match self {
            Between::Cable => "cable",
            Between::Bridge => "kernel bridge",
            Between::User(Socket::Packet) => "ontick, packet sockets",
            Between::User(Socket::Xdp) => "ontick, AF_XDP",
            Between::Resting(Socket::Packet) => "ontick, packet sockets, resting",
            Between::Resting(Socket::Xdp) => "ontick, AF_XDP, resting",
        }
    }
}

/// The stations, and what is between them for as long as this lives.
pub struct Testbed {
    pub stations: [Namespace; 2],
    pub plane: Option<Running<EitherPort>>,
    _here: Option<Namespace>,
}

impl Testbed {
    pub fn new(between: Between, cpu: u32, priority: u8) -> Result<Self, String> {
        let made = || -> Result<Self, Box<dyn std::error::Error>> {
            let stations = [Namespace::new()?, Namespace::new()?];
            if between == Between::Cable {
                stations[0].join(FAR[0], &stations[1], FAR[1])?;
                return Ok(Self { stations, plane: None, _here: None });
            }
            let here = Namespace::new()?;
            for (port, (station, far)) in PORTS.iter().zip(stations.iter().zip(FAR)) {
                here.join(port, station, far)?;
            }
            let plane = match between {
                Between::User(socket) => Some(user(&here, socket, cpu, priority, true)?),
                Between::Resting(socket) => Some(user(&here, socket, cpu, priority, false)?),
                _ => bridge(&here).map(|()| None)?,
            };
            Ok(Self { stations, plane, _here: Some(here) })
        };
        made().map_err(|e| format!("switch: {e}"))
    }
}

impl Testbed {
    /// Frames that have come in at the second station.
    pub fn arrived(&self) -> Result<u64, String> {
        arrived(&self.stations[1])
    }
}

/// Frames that have come in at what is the second station.
pub fn arrived(station: &Namespace) -> Result<u64, String> {
    let reported = station.run("ip", &["-s", "-j", "link", "show", "dev", FAR[1]]).map_err(|e| e.to_string())?;
    let reported: serde_json::Value = serde_json::from_str(&reported).map_err(|e| format!("ip -s -j link: {e}"))?;
    let link = &reported[0];
    let packets = ["stats64", "stats"].iter().find_map(|stats| link[*stats]["rx"]["packets"].as_u64());
    packets.ok_or_else(|| "ip does not tell how many frames arrived".into())
}

fn bridge(here: &Namespace) -> Result<(), NamespaceError> {
    here.ip(&["link", "add", "bridge", "type", "bridge"])?;
    for port in PORTS {
        here.ip(&["link", "set", "dev", port, "master", "bridge"])?;
    }
    here.ip(&["link", "set", "dev", "bridge", "up"])
}

fn user(
    here: &Namespace,
    socket: Socket,
    cpu: u32,
    priority: u8,
    never_rest: bool,
) -> Result<Running<EitherPort>, Box<dyn std::error::Error>> {
    let mut attachments = Vec::new();
    for port in PORTS {
        let port = here.within(|| EitherPort::open(port, socket))??;
        attachments.push(PortConfig { port: Some(port), rate: RATE, schedule: None });
    }
    let place = CorePlacement { cpu: Some(cpu), policy: Policy::Fifo(priority), never_rest };
    Ok(Running::start(&model(socket), attachments, place)?)
}

/// The name of a port.
pub fn port(index: usize) -> String {
    format!("port{index}")
}

/// Eight classes by PCP, two ports without gates.
pub fn model(socket: Socket) -> Switch {
    model_of(socket, PORTS.len(), 1024)
}

/// The same with more ports, and with room for more addresses.
pub fn model_of(socket: Socket, ports: usize, addresses: usize) -> Switch {
    let rules = |pcp: u8| if pcp == 0 { vec![] } else { vec![Rule { pcp: Some(pcp), ..Rule::default() }] };
    let class = |queue: u8| Class { name: format!("class {queue}"), queue, rules: rules(queue), limit: LIMIT };
    let port = |index: usize| Port {
        name: port(index),
        rate: Some(RATE),
        offload: Offload::None,
        transmit_queues: Vec::new(),
        idle_slopes: Vec::new(),
        preemption: None,
        max_sdu: vec![None; 8],
        gates: None,
    };
    Switch {
        name: "bench".into(),
        role: Role::Bridge,
        plane: Plane::User,
        classifier: Classifier::Auto,
        socket,
        cpus: Vec::new(),
        clock: ontick_tsn::model::Clock::Tai,
        ageing_ns: 300_000_000_000,
        addresses,
        stp: Default::default(),
        bridge: ontick_tsn::model::Bridge::Linux,
        forward_reserved: Default::default(),
        transparent_clock: false,
        forwarding: ontick_tsn::model::Forwarding::default(),
        classes: (0..8).map(class).collect(),
        ports: (0..ports).map(port).collect(),
        streams: Vec::new(),
    }
}
