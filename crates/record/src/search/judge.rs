//! What a search goes by: one figure of each block.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What of a block counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Judge {
    /// The share of the cycles within a limit.
    Share,
    /// The 99.9th percentile.
    #[serde(rename = "p99.9")]
    P99_9,
    /// Missed cycles.
    Missed,
    /// The largest latency.
    Max,
}

/// A name that is none of them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is nothing to judge by (share, p99.9, missed, max)")]
pub struct JudgeError(String);

impl FromStr for Judge {
    type Err = JudgeError;

    fn from_str(text: &str) -> Result<Self, JudgeError> {
        Self::ALL.into_iter().find(|judge| judge.name() == text).ok_or_else(|| JudgeError(text.into()))
    }
}

impl fmt::Display for Judge {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What was seen in a block: all that any judge asks for, so that a search can be judged anew.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Block {
    /// Cycles, those that were missed included.
    pub cycles: u64,
    /// Those within the limit.
    pub in_time: u64,
    /// The 99.9th percentile, in ns.
    pub p99_9_ns: u64,
    /// The largest latency, in ns.
    pub max_ns: u64,
    /// Missed cycles.
    pub missed: u64,
    /// The part of all CPUs' time that the hypervisor took, 0 to 1.
    pub steal: f64,
    /// How long it took with everything around it, in ns.
    pub took_ns: u64,
}

impl Judge {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Share, Self::P99_9, Self::Missed, Self::Max];

    /// As it is written on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Share => "share",
            Self::P99_9 => "p99.9",
            Self::Missed => "missed",
            Self::Max => "max",
        }
    }

    /// The fewest cycles of a block that has such a figure.
    pub fn fewest_cycles(self) -> u64 {
        if self == Self::P99_9 { 1_000 } else { 20 }
    }

    /// A gain smaller than this is not worth a setting, where nobody says otherwise: in percent.
    pub fn smallest(self) -> f64 {
        match self {
            Self::Share => 0.1,
            Self::Missed => 0.01,
            Self::P99_9 | Self::Max => 5.0,
        }
    }

    /// Whether gains are times and no differences.
    fn is_time(self) -> bool {
        matches!(self, Self::P99_9 | Self::Max)
    }

    /// The figure of a block, the larger the better: in percent, or for a time its logarithm.
    pub fn value(self, block: &Block) -> f64 {
        let percent = |part: u64| 100.0 * part as f64 / block.cycles.max(1) as f64;
        let time = |ns: u64| -(ns.max(1) as f64).ln();
        match self {
            Self::Share => percent(block.in_time),
            Self::Missed => -percent(block.missed),
            Self::P99_9 => time(block.p99_9_ns),
            Self::Max => time(block.max_ns),
        }
    }

    /// A difference of such figures as a gain in percent: in points, or by how much less a time is.
    pub fn gain(self, difference: f64) -> f64 {
        if self.is_time() { -100.0 * (-difference).exp_m1() } else { difference }
    }

    /// The other way round.
    pub fn difference(self, gain: f64) -> f64 {
        if self.is_time() { -(-gain / 100.0).ln_1p() } else { gain }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back() {
        for judge in Judge::ALL {
            assert_eq!(judge.name().parse(), Ok(judge));
            assert_eq!(serde_json::to_string(&judge).unwrap(), format!("\"{judge}\""));
        }
        assert!("p99".parse::<Judge>().unwrap_err().to_string().contains("p99.9"));
    }

    #[test]
    fn larger_is_better_and_gains_turn_round() {
        let slow =
            Block { cycles: 1_000, in_time: 900, p99_9_ns: 20_000, max_ns: 90_000, missed: 5, ..Block::default() };
        let fast = Block { in_time: 990, p99_9_ns: 10_000, max_ns: 45_000, missed: 1, ..slow };
        let gain = |judge: Judge| judge.gain(judge.value(&fast) - judge.value(&slow));
        let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
        assert!(near(gain(Judge::Share), 9.0) && near(gain(Judge::Missed), 0.4));
        assert!(near(gain(Judge::P99_9), 50.0) && near(gain(Judge::Max), 50.0));
        for judge in Judge::ALL {
            assert!([-30.0, 0.0, 12.5].into_iter().all(|g| near(judge.gain(judge.difference(g)), g)));
        }
    }

    #[test]
    fn a_block_without_cycles_is_no_fault() {
        assert!(Judge::ALL.into_iter().all(|judge| judge.value(&Block::default()).is_finite()));
    }
}
