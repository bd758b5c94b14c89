//! What is known of a switch that is served: a document that its status reads.

use std::sync::Arc;

use ontick_rt::clock::ClockId;
use ontick_tsn::config;
use ontick_tsn::model::{GateOverride, Port};
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
    /// When the first cycle began, on the switch's clock, in ns.
    pub base_ns: u64,
    /// What its gates are in place of their lists, as the network's time is lost.
    #[serde(default)]
    pub forced: Option<GateOverride>,
    /// Where the core runs.
    pub cpu: Option<u32>,
    /// Other CPUs on which it was found: its own was unplugged or taken from it.
    #[serde(default)]
    pub strayed_to: Vec<u32>,
    /// How.
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
        };
        Report {
            pid: std::process::id(),
            at_ns: ClockId::Monotonic.now_ns(),
            counting_since: self.counting_since.clone(),
            configuration: config::write(&self.switch),
            base_ns: self.base_ns,
            forced: self.forced,
            cpu: self.place.cpu,
            strayed_to: self.running.strayed_to().to_vec(),
            policy: self.place.policy.to_string(),
            refused: self
                .running
                .refused()
                .iter()
                .chain(self.ports.iter().filter_map(|port| port.joined.as_ref()))
                .cloned()
                .collect(),
            rests: self.running.rests(),
            ports: self.switch.ports.iter().zip(&self.ports).enumerate().map(port).collect(),
            counters: self.running.counters().clone(),
        }
    }
}
