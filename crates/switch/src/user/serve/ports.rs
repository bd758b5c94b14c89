//! The ports of a switch: opened before its core runs, and what is known of each from outside of the core.

use std::time::Instant;

use ontick_tsn::model::{Base, Port, Switch};
use ontick_tsn::schedule::Schedule;

use super::ServeError;
use crate::link::{self, Watch};
use crate::user::bpf::NO_QUEUE;
use crate::user::core::PortConfig;
use crate::user::either::EitherPort;
use crate::user::loop_probe;
use crate::{ethtool, loops};

/// Rate of a link that reports none, in bits per second.
pub const USUAL_RATE: u64 = 1_000_000_000;

/// The ports of a switch, open, before its core runs.
pub struct OpenPorts {
    pub watch: Watch,
    pub ports: Vec<Watched>,
    pub base_ns: u64,
    pub attachments: Vec<PortConfig<EitherPort>>,
}

impl OpenPorts {
    pub fn new(switch: &Switch) -> Result<Self, ServeError> {
        let names: Vec<&str> = switch.ports.iter().map(|port| port.name.as_str()).collect();
        let watch = Watch::begin()?;
        let links: Vec<link::Link> = watch.links().cloned().collect();
        if let Some(found) = loops::known(&links, &names, None).into_iter().next() {
            return Err(ServeError::Loop(found));
        }
        if let Some(found) = loop_probe::probe(&names, loop_probe::LISTEN)?.loops.into_iter().next() {
            return Err(ServeError::Loop(found));
        }
        let mut opened = Vec::new();
        let mut joined = Vec::new();
        for name in &names {
            let mut open = EitherPort::open(name, switch.socket)?;
            joined.push(keep_whole(&mut open, name, &watch));
            opened.push(open);
        }
        let base_ns = base_ns(switch);
        let mut ports = Vec::new();
        let mut attachments = Vec::new();
        for ((port, open), joined) in switch.ports.iter().zip(opened).zip(joined) {
            let link = watch.named(&port.name).is_some_and(|link| link.carrier);
            let rate = rate(port);
            ports.push(Watched {
                index: Some(open.index()),
                link,
                rate,
                base_ns,
                ahead_ns: 0,
                refused: (0, None),
                joined,
                put_back: 0,
                said: None,
            });
            attachments.push(PortConfig {
                port: Some(open),
                rate,
                schedule: Schedule::of(switch, port, base(port, base_ns), rate),
            });
        }
        Ok(Self { watch, ports, base_ns, attachments })
    }
}

/// A port, as it is seen from outside of the core.
pub struct Watched {
    /// Index of the interface that is open.
    pub index: Option<u32>,
    pub link: bool,
    /// Bits per second that the core reckons with.
    pub rate: u64,
    /// When the cycles of its gates began, where they begin with a second.
    pub base_ns: u64,
    /// So much earlier frames are handed over, in ns.
    pub ahead_ns: u64,
    /// Frames that its interface had refused when that was said last, and when.
    pub refused: (u64, Option<Instant>),
    /// Why its other end may join frames, which are lost then.
    pub joined: Option<String>,
    /// Times that a setting was put back which another program had changed.
    pub put_back: u64,
    /// What was said of it last.
    pub said: Option<String>,
}

/// Has the other end of a virtual Ethernet pair send single frames; why it may not.
pub fn keep_whole(open: &mut EitherPort, name: &str, watch: &Watch) -> Option<String> {
    if watch.named(name).and_then(|link| link.kind.as_deref()) != Some("veth") {
        return None;
    }
    let error = open.keep_whole().err()?;
    let why = match error.raw_os_error() {
        Some(NO_QUEUE) => format!("it sends by more queues than {name} receives by, so that no program stops it"),
        _ => error.to_string(),
    };
    Some(format!(
        "port {name}: the other end of this pair may join frames, which are dropped then ({why}): switch that off there \
         (ethtool -K INTERFACE tso off gso off)"
    ))
}

/// One second for all ports that begin with the next one.
pub fn base_ns(switch: &Switch) -> u64 {
    Base::NextSecond.resolve(crate::clock::now_ns(switch.clock))
}

pub fn base(port: &Port, next_second_ns: u64) -> u64 {
    port.gates.as_ref().map_or(next_second_ns, |gates| gates.base.at_second(next_second_ns))
}

/// Bits per second of a port's link: what the file says, what the interface says, or what is usual.
pub fn rate(port: &Port) -> u64 {
    port.rate.or_else(|| ethtool::rate(&port.name)).unwrap_or(USUAL_RATE)
}
