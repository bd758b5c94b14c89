//! Whether a schedule holds, whoever made it: its gates are looked at one by one, and every message of the common
//! period is sent through a model of the network, event by event.
//!
//! It shares the network model and the form of a schedule with the planner, and no algorithm.

mod addresses;
mod event;
mod fault;
mod gate;
mod gate_control_list;
mod limits;
mod schedule;
mod simulate;
#[cfg(test)]
mod tests;
pub mod tsnkit;
mod verdict;

use crate::network::Network;

pub use crate::target::{TARGETS, Target, named};
pub use fault::Fault;
pub use limits::beyond_target;
pub use schedule::{Schedule, Send, Window};
pub use verdict::{Delay, Verdict};

/// How a schedule is held against a network.
#[derive(Debug, Clone, Copy)]
pub struct ValidationInput<'a> {
    /// What has to be carried.
    pub network: &'a Network,
    /// What carries it.
    pub schedule: &'a Schedule,
    /// What the ports' hardware can do.
    pub target: &'a Target,
    /// Whether the ports close all gates before a window for as long as the largest frame takes, which a schedule does not
    /// have in it: so do the files that a plan is carried out by, where the target asks for it.
    pub guard_bands: bool,
    /// Frames that pass a link, one by one, at most: a common period that has more is followed as far as that.
    pub most_messages: u64,
}

/// Frames on links that are followed where nothing else is said: some seconds of work.
pub const MOST_MESSAGES: u64 = 20_000_000;

/// What is wrong with the gates, without a message being sent.
pub fn validate_gates(input: &ValidationInput) -> Verdict {
    let mut verdict = Verdict::default();
    gate_control_list::check(input, &mut verdict);
    verdict
}

/// Everything that is wrong with a schedule, and how long messages take in it.
pub fn validate(input: &ValidationInput) -> Verdict {
    let mut verdict = validate_gates(input);
    addresses::check(input, &mut verdict);
    simulate::run(input, &mut verdict);
    verdict
}
