//! A search over settings: which of them help this machine, this load, this job.

pub mod judge;
pub mod sequential;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use judge::{Block, Judge, JudgeError};
pub use sequential::{Differences, Toward};

/// What was searched, how, and what was found. Gains are in percent and positive where something is better: points of
/// a share, or by how much less a time is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Search {
    /// What counted.
    pub judged_by: Judge,
    /// The limit of the share, in ns.
    pub limit_ns: u64,
    /// A gain smaller than this counts as none.
    pub smallest: f64,
    /// The chance, at most, that any effect is claimed that is none, 0 to 1: over all candidates and looks.
    pub error: f64,
    /// The order of blocks by chance follows from it.
    pub seed: u64,
    /// The time that it was given, in ns.
    pub time_ns: u64,
    /// The time that blocks took, in ns.
    pub spent_ns: u64,
    /// Length of a block, in ns.
    pub block_ns: u64,
    /// Period of the job, in ns.
    pub interval_ns: u64,
    /// What the job is in the blocks of the base: method, policy, CPU.
    pub job: String,
    /// What ran beside it.
    pub load: String,
    /// The profile of the settings.
    pub profile: String,
    /// Comparisons that were measured: groups of four blocks, or pairs of boots.
    pub quartets: u64,
    /// Those of them that count for no side, as the hypervisor took more than [`steal_limit`](Self::steal_limit) in one
    /// of their blocks.
    pub set_aside: u64,
    /// The part of the CPUs' time that it may take, 0 to 1.
    pub steal_limit: f64,
    /// The middle figure of all blocks of the base: percent, or ns.
    pub base: Option<f64>,
    /// Each candidate alone against the base, the best first.
    pub effects: Vec<Effect>,
    /// Candidates that could not be tried, or that made the machine unusable.
    #[serde(default)]
    pub skipped: Vec<Skipped>,
    /// Of a search by restarts, what it took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boots: Option<Boots>,
    /// The candidates that help and are set together.
    pub set: Vec<String>,
    /// The whole set against the base, where it has several members.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub together: Option<Effect>,
    /// Each member: what it adds to the others of the set.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<Effect>,
}

/// What a search by restarts took.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Boots {
    /// Boots that were measured.
    pub measured: u64,
    /// As many as it was given.
    pub most: u64,
    /// Rounds of boots that are complete, each with one of the base and one of every candidate that was open.
    pub rounds: u64,
    /// Blocks in each boot.
    pub blocks: u64,
    /// The time since its start after which a boot was measured, in ns.
    pub settle_ns: u64,
}

/// What a setting does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Effect {
    /// The candidate.
    pub name: String,
    /// What is concluded.
    pub verdict: Verdict,
    /// The middle gain; `None` where nothing was measured.
    pub gain: Option<f64>,
    /// The gain is at least this, with the error of the whole search; `None` where nothing bounds it.
    pub low: Option<f64>,
    /// And at most this.
    pub high: Option<f64>,
    /// The middle gain of all quartets, those that were set aside included.
    pub gain_of_all: Option<f64>,
    /// Quartets that count.
    pub quartets: u64,
    /// Quartets that were set aside.
    pub set_aside: u64,
    /// About how much more time would settle it, in ns, if what comes is as what came; `None` where it is settled, and
    /// where no time would do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wants_ns: Option<u64>,
}

/// What is concluded of a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It gains something.
    Helps,
    /// It loses something.
    Hurts,
    /// Whatever it gains is too little to be worth it.
    NoEffect,
    /// No effect was seen, and more time could show one.
    Unsettled,
}

/// A candidate that could not be judged here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Skipped {
    /// The candidate.
    pub name: String,
    /// Why.
    pub why: String,
}

impl Search {
    /// The candidates of a verdict.
    pub fn that(&self, verdict: Verdict) -> impl Iterator<Item = &Effect> {
        self.effects.iter().filter(move |effect| effect.verdict == verdict)
    }

    /// About how many more boots would settle everything that is not, where it is a search by restarts.
    pub fn wants_boots(&self) -> Option<u64> {
        let boots = self.boots.as_ref()?;
        let each_ns = self.spent_ns.checked_div(boots.measured).filter(|ns| *ns > 0)?;
        self.wants_ns().map(|ns| ns.div_ceil(each_ns))
    }

    /// About how much more time would settle everything that is not, in ns.
    pub fn wants_ns(&self) -> Option<u64> {
        let all = self.effects.iter().chain(&self.together).chain(&self.members);
        let wants: Vec<u64> = all.filter_map(|effect| effect.wants_ns).collect();
        (!wants.is_empty()).then(|| wants.iter().fold(0u64, |sum, ns| sum.saturating_add(*ns)))
    }
}
