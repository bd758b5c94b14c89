//! What a search was asked for: the first line of its journal, so that it goes on by the same options.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use ontick_machine::Profile;
use ontick_measure::search::{self, Plan};
use ontick_measure::timer::{Job, Method};
use ontick_measure::{Load, Placement};
use ontick_record::search::{self as record, Judge, Skipped};
use ontick_rt::cpus;
use ontick_rt::phase::Phase;
use ontick_rt::thread::Policy;
use ontick_units::{CpuList, exact};
use serde::{Deserialize, Serialize};

use super::Search;
use super::asked_boots::AskedBoots;
use super::candidates::Candidate;
use crate::failure::Failure;

/// Where nothing else is asked for, in ns.
const TIME_NS: u64 = 1_200_000_000_000;
const BLOCK_NS: u64 = 500_000_000;
/// What a block needs beside its length before one was measured, in ns.
const BESIDE_NS: u64 = 100_000_000;
/// The chance that anything is claimed of a setting that does nothing.
pub const ERROR: f64 = 0.05;

/// The options of a search, and what it began with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// Those that can be tried, as they are written.
    pub candidates: Vec<String>,
    pub skipped: Vec<Skipped>,
    pub cpus: String,
    pub cpu: u32,
    pub profile: Profile,
    pub time_ns: u64,
    pub judge: Judge,
    pub limit_ns: u64,
    pub smallest: f64,
    pub interval_ns: u64,
    pub method: String,
    pub policy: String,
    pub block_ns: u64,
    pub load: String,
    pub steal: f64,
    pub seed: u64,
    pub undo_after_ns: u64,
    pub phase_ns: Option<u64>,
    /// The machine's settings that the candidates change, as they were: file and value.
    pub base: BTreeMap<String, String>,
    /// Of a search by restarts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boots: Option<AskedBoots>,
}

impl Asked {
    /// As the options have it; candidates are not looked at yet.
    pub fn of(
        flags: &Search,
        candidates: Vec<String>,
        profile: Profile,
        cpu: u32,
        cpus: &CpuList,
    ) -> Result<Self, Failure> {
        let least_ns = flags.judge.fewest_cycles().saturating_mul(flags.interval);
        let block_ns = flags.block.unwrap_or(BLOCK_NS.max(least_ns));
        if block_ns < least_ns {
            return Err(Failure::new(format!(
                "--block {}: {} of a block needs {} cycles, {} at least",
                exact(block_ns),
                flags.judge,
                flags.judge.fewest_cycles(),
                exact(least_ns)
            )));
        }
        let asked = Self {
            candidates,
            skipped: Vec::new(),
            cpus: cpus.to_string(),
            cpu,
            profile,
            time_ns: flags.time.unwrap_or(TIME_NS),
            judge: flags.judge,
            limit_ns: flags.limit,
            smallest: flags.smallest.unwrap_or(flags.judge.smallest()),
            interval_ns: flags.interval,
            method: flags.method.to_string(),
            policy: flags.policy.to_string(),
            block_ns,
            load: flags.load.to_string(),
            steal: flags.steal,
            seed: flags.seed.unwrap_or_else(seed),
            undo_after_ns: flags.undo_after,
            phase_ns: None,
            base: BTreeMap::new(),
            boots: None,
        };
        asked.check_time()?;
        Ok(asked)
    }

    /// A time in which nothing fits is refused.
    pub fn check_time(&self) -> Result<(), Failure> {
        let quartet_ns = self.quartet_ns();
        match self.time_ns < quartet_ns {
            true => Err(Failure::new(format!(
                "--time {} is too short: four blocks of {} take about {}",
                exact(self.time_ns),
                exact(self.block_ns),
                exact(quartet_ns)
            ))),
            false => Ok(()),
        }
    }

    fn quartet_ns(&self) -> u64 {
        self.block_ns.saturating_add(BESIDE_NS).saturating_mul(4)
    }

    /// The candidates, read again.
    pub fn candidates(&self) -> Result<Vec<Candidate>, Failure> {
        self.candidates.iter().map(|text| text.parse().map_err(Failure::new)).collect()
    }

    /// The race that they run.
    pub fn plan(&self, candidates: &[Candidate]) -> Plan {
        let candidate = |of: &Candidate| search::Candidate { name: of.to_string(), combines: of.combines(candidates) };
        self.plan_of(candidates.iter().map(candidate).collect())
    }

    /// As above, whatever they are.
    pub fn plan_of(&self, candidates: Vec<search::Candidate>) -> Plan {
        Plan {
            candidates,
            judge: self.judge,
            smallest: self.smallest,
            error: ERROR,
            most: self.time_ns,
            each: self.quartet_ns(),
            seed: self.seed,
            steal_limit: self.steal,
        }
    }

    /// The job of the base, and where it runs.
    pub fn job(&self) -> Result<(Job, Placement), Failure> {
        let method: Method = self.method.parse().map_err(Failure::new)?;
        let policy: Policy = self.policy.parse().map_err(Failure::new)?;
        let phase = self.phase_ns.map_or(Phase::Chance, Phase::Fixed);
        let placement =
            Placement { cpu: Some(self.cpu), policy, prepared: true, wake_within_us: Some(0), awake: false };
        Ok((Job { phase, ..Job::new(self.interval_ns, method) }, placement))
    }

    pub fn load(&self) -> Result<Load, Failure> {
        self.load.parse().map_err(Failure::new)
    }

    /// Writes down what was searched for, and under which conditions.
    pub fn describe(&self, found: &mut record::Search, simulated: bool) {
        found.limit_ns = self.limit_ns;
        found.block_ns = self.block_ns;
        found.interval_ns = self.interval_ns;
        found.skipped.splice(..0, self.skipped.iter().cloned());
        if simulated {
            found.job = "modelled".into();
            found.load = "none".into();
        } else {
            found.job = format!("CPU {} · {} · {}", self.cpu, self.policy, self.method);
            found.load = self.load.clone();
            found.profile = self.profile.name().into();
        }
    }

    /// How many CPUs share the time that a hypervisor takes.
    pub fn cpus_online() -> usize {
        cpus::online().len()
    }
}

/// By chance, and short enough to be typed again.
fn seed() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |since| since.as_nanos() as u64);
    (now ^ u64::from(std::process::id()) << 20) % 1_000_000
}
