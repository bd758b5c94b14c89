//! What is known of a switch that is served: a document that its status reads.

use std::sync::Arc;

use ontick_rt::clock::ClockId;
use ontick_tsn::config;
use ontick_tsn::model::{GateOverride, Port};
use ontick_units::CpuList;
use serde::{Deserialize, Serialize};

use super::Service;
use super::ports::Watched;
use crate::user::counters::Counters;

/// What is known of it, for `ontick switch status`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Report {
    /// The process.
    pub pid: u32,
    /// When this was written, on the monotonic clock, in ns.
    pub at_ns: u64,
    /// Since when it counts, in UTC (RFC 3339).
    #[serde(default)]
    pub counting_since: String,
    /// The configuration that is in force.
    pub configuration: String,
    /// The configuration that was to be in force and is not, and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused_change: Option<(String, String)>,
    /// When the first cycle began, on the switch's clock, in ns.
    pub base_ns: u64,
    /// What its gates are in place of their lists, as the network's time is lost.
    #[serde(default)]
    pub forced: Option<GateOverride>,
    /// Where the core runs, or the first of several.
    pub cpu: Option<u32>,
    /// Where several cores run, in the order of their numbers.
    #[serde(default)]
    pub cpus: Vec<u32>,
    /// Other CPUs on which it was found: its own was unplugged or taken from it.
    #[serde(default)]
    pub strayed_to: Vec<u32>,
    /// How: the policy that it obtained.
    pub policy: String,
    /// What it asked for and did not get.
    pub refused: Vec<String>,
    /// Whether it sleeps now and then, as real-time throttling is on.
    pub rests: bool,
    /// The ports, in the order of the file.
    pub ports: Vec<PortReport>,
    /// What was counted; ports are in the same order.
    pub counters: Arc<Counters>,
}

/// What is known of a port.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PortReport {
    /// Its name.
    pub name: String,
    /// Whether its interface is there, and open.
    pub open: bool,
    /// Whether it has a link.
    pub link: bool,
    /// Whether it is closed because it made a loop.
    pub closed: bool,
    /// When the first cycle of its gates began, on the switch's clock, in ns; absent: with that of the switch.
    #[serde(default)]
    pub base_ns: Option<u64>,
    /// So much before a gate opens its first frame is handed over, in ns: less than the kernel takes until a frame is on
    /// its link.
    #[serde(default)]
    pub ahead_ns: u64,
    /// Times that its settings were put back, which another program had changed.
    #[serde(default)]
    pub put_back: u64,
    /// The number of its core.
    #[serde(default)]
    pub core: usize,
}

impl Report {
    /// Where the cores run, in words.
    pub fn place(&self) -> String {
        match (self.cpus.as_slice(), self.cpu) {
            ([_, _, ..], _) => format!("CPUs {}", self.cpus.iter().copied().collect::<CpuList>()),
            (_, Some(cpu)) => format!("CPU {cpu}"),
            (_, None) => "any CPU".into(),
        }
    }
}

impl Service {
    /// What is known of it.
    pub fn report(&self) -> Report {
        let port = |(at, (port, watched)): (usize, (&Port, &Watched))| PortReport {
            name: port.name.clone(),
            open: watched.index.is_some(),
            link: watched.link,
            closed: self.guard.is_closed(at),
            base_ns: Some(watched.base_ns),
            ahead_ns: watched.ahead_ns,
            put_back: watched.put_back,
            core: self.running.spread().core_of(at),
        };
        Report {
            pid: std::process::id(),
            at_ns: ClockId::Monotonic.now_ns(),
            counting_since: self.counting_since.clone(),
            configuration: config::write(&self.switch),
            refused_change: None,
            base_ns: self.base_ns,
            forced: self.forced,
            cpu: self.places[0].cpu,
            cpus: self.places.iter().filter_map(|place| place.cpu).collect(),
            strayed_to: self.running.strayed_to(),
            policy: self.running.policy().to_string(),
            refused: self
                .running
                .refused()
                .into_iter()
                .chain(self.ports.iter().filter_map(|port| port.joined.clone()))
                .collect(),
            rests: self.running.rests(),
            ports: self.switch.ports.iter().zip(&self.ports).enumerate().map(port).collect(),
            counters: self.running.counters().clone(),
        }
    }
}
