//! Options of whoever sends requests: by what, to whom, how often.

use std::hash::{BuildHasher, Hasher, RandomState};

use clap::Args;
use ontick_network::roundtrip::{Job, Waiting};
use ontick_units::exact;

use super::way::{Responder, WayFlags};
use crate::failure::Failure;
use crate::flags;

/// The way of requests and how they are sent.
#[derive(Args, Debug, Clone)]
pub struct RequestFlags {
    #[command(flatten)]
    pub way: WayFlags,
    /// Time between requests, as a time or a rate, from 100us to 1s
    #[arg(long, alias = "interval", value_name = "TIME|RATE", default_value = "1ms", value_parser = flags::interval)]
    pub period: u64,
    /// An answer is late after this, from when its request was to be sent [default: the period]
    #[arg(long, value_name = "TIME", value_parser = flags::time)]
    pub deadline: Option<u64>,
}

/// Shortest and longest period, in ns.
const PERIODS_NS: std::ops::RangeInclusive<u64> = 100_000..=1_000_000_000;

impl RequestFlags {
    /// Refuses times that do not fit together.
    pub fn check(&self) -> Result<(), Failure> {
        if !PERIODS_NS.contains(&self.period) {
            let period = exact(self.period);
            return Err(Failure::new(format!("the period must be from 100us to 1s, and {period} is not")));
        }
        match self.deadline {
            Some(0) => Err(Failure::new("a deadline of 0 is over before anything is sent")),
            Some(ns) if ns > self.period => Err(Failure::new(format!(
                "the deadline {} is beyond the period {}: an answer that comes after the next request is missed anyway",
                exact(ns),
                exact(self.period)
            ))),
            _ => Ok(()),
        }
    }

    /// So many requests, as a run of its own.
    pub fn job(&self, waiting: Waiting, count: u64) -> Job {
        let (deadline_ns, size) = (self.deadline_ns(), self.way.size());
        Job { period_ns: self.period, deadline_ns, count, size, run: run_number(), waiting }
    }

    /// An answer is late after this, in ns.
    pub fn deadline_ns(&self) -> u64 {
        self.deadline.unwrap_or(self.period)
    }

    /// What would mend that nobody answers.
    pub fn explained(&self, none: &str) -> String {
        match (&self.way.to, self.way.vlan.unwrap_or(0)) {
            (Some(Responder::Host(host)), _) => {
                let port = host.rsplit_once(':').map_or("PORT", |(_, port)| port);
                format!(
                    "{none}: run `ontick latency roundtrip --respond --udp 0.0.0.0:{port}` at the other end first, and see \
                     that what is between lets UDP to this port through"
                )
            }
            (_, vlan) => format!(
                "{none}: run `ontick latency roundtrip --interface IF --respond` at the other end first, and see that \
                 what is between carries frames of EtherType 0x88b6{}",
                if vlan > 0 { " in this VLAN" } else { "" }
            ),
        }
    }
}

/// A number that no other run has, most probably.
fn run_number() -> u32 {
    // The standard library seeds each with chance.
    RandomState::new().build_hasher().finish() as u32
}
