//! What the machine is wanted for: which CPUs, in which manner.

use ontick_rt::cpus::choose;
use ontick_units::CpuList;
use serde::{Deserialize, Serialize};

use crate::facts::Facts;

/// A set of settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// One core for one program that must never wait, as the sources do it: everything else is steered off it.
    DedicatedCore,
    /// All cores answer quickly; programs go on sharing them.
    LowLatency,
    /// Only what costs the other programs nothing.
    ThroughputSafe,
}

impl Profile {
    /// All profiles.
    pub const ALL: [Self; 3] = [Self::DedicatedCore, Self::LowLatency, Self::ThroughputSafe];

    /// As it is written on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::DedicatedCore => "dedicated-core",
            Self::LowLatency => "low-latency",
            Self::ThroughputSafe => "throughput-safe",
        }
    }
}

impl std::str::FromStr for Profile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|p| p.name() == text)
            .ok_or_else(|| format!("there is no profile \"{text}\" (dedicated-core, low-latency, throughput-safe)"))
    }
}

/// The CPUs to prepare and how: what a plan is made for.
#[derive(Debug, Clone, Serialize)]
pub struct Target {
    /// The CPUs for timed programs.
    pub cpus: CpuList,
    /// The CPUs for everything else; all of them where the machine has only one.
    pub others: CpuList,
    /// How.
    pub profile: Profile,
    /// Whether other programs' tasks may be moved and sibling CPUs switched off.
    pub isolate: bool,
    /// Only these knobs, whatever the profile; empty for the profile's.
    pub only: Vec<String>,
}

impl Target {
    /// Without `cpus`, the one that [`choose`] finds.
    pub fn new(facts: &Facts, cpus: Option<CpuList>, profile: Profile) -> Result<Self, String> {
        let online = &facts.cpus.online;
        if online.is_empty() {
            return Err("no CPU was found (is this the root of a machine?)".into());
        }
        let cpus = cpus.unwrap_or_else(|| CpuList::one(chosen(facts)));
        if cpus.is_empty() {
            return Err("no CPU was named".into());
        }
        if !cpus.within(online) {
            let missing = cpus.without(online);
            return Err(format!("CPU {missing} is not online (this machine runs CPU {online})"));
        }
        let others = online.without(&cpus);
        if others.is_empty() && online.len() > 1 {
            return Err(format!("CPU {cpus} is the whole machine: leave at least one CPU for everything else"));
        }
        let others = if others.is_empty() { online.clone() } else { others };
        Ok(Self { cpus, others, profile, isolate: false, only: Vec::new() })
    }

    /// Whether the machine has a CPU to spare, so that one can be kept for one program.
    pub fn can_dedicate(&self) -> bool {
        !self.others.meets(&self.cpus)
    }
}

/// The CPU for a timed program where nobody named one.
fn chosen(facts: &Facts) -> u32 {
    let online: Vec<u32> = facts.cpus.online.iter().collect();
    let isolated: Vec<u32> = facts.cpus.isolated.with(&facts.cgroups.isolated()).iter().collect();
    let interrupts: Vec<_> = facts.interrupts.list.iter().map(|interrupt| interrupt.for_choice()).collect();
    choose(&online, &online, &isolated, &interrupts).cpu
}
