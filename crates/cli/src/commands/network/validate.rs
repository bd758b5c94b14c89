//! `ontick network validate`

use std::path::PathBuf;

use clap::Args;
use ontick_report::text::fitted;
use ontick_switch::files;
use ontick_tsn::network::Network;
use ontick_tsn::validate::{MOST_MESSAGES, Schedule, ValidationInput, Verdict, validate};
use ontick_units::{count, exact, show};
use serde_json::json;

use super::network_flags::NetworkFlags;
use super::plan::{read_plan, tsnkit_names};
use super::timing_flags::TimingFlags;
use crate::failure::{Failure, Outcome};
use crate::terminal;

/// Validate a schedule: send every message of the common period through a model of the network.
///
/// The validator shares nothing with the planner, and also takes schedules of other planners. It detects messages that
/// are lost, late (from the beginning of their period, the talker's wait included) or duplicated; windows that overlap,
/// are empty or cross the end of the cycle; messages of two streams in one queue; streams that a switch cannot tell
/// apart; and what the ports cannot do.
///
/// Exit status: 0 valid, 1 not valid, 2 validation was not possible.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  ontick network validate network.toml plan.json\n  ontick network validate --task task.csv --topo topo.csv \\\n      --tsnkit results/cell --payload-only\n  ontick network validate network.toml plan.json --target user \\\n      --calibration here.json"
)]
pub struct Validate {
    /// The file that describes the network
    #[arg(required_unless_present = "task", value_name = "FILE")]
    first: Option<PathBuf>,
    /// The plan, as `plan --out` writes it
    #[arg(required_unless_present_any = ["tsnkit", "task"], value_name = "PLAN")]
    second: Option<PathBuf>,
    #[command(flatten)]
    network: NetworkFlags,
    /// The schedule as tsnkit's tables: PREFIX-GCL.csv and its siblings, in place of PLAN
    #[arg(long, value_name = "PREFIX")]
    tsnkit: Option<PathBuf>,
    #[command(flatten)]
    timing: TimingFlags,
    /// Largest number of entries of a gate control list, overriding the target
    #[arg(long, value_name = "N")]
    max_entries: Option<usize>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Validate {
    pub fn run(self) -> Result<Outcome, Failure> {
        // With tables for the network, the one file is the plan.
        let (file, plan) = match (&self.network.task, &self.first, &self.second) {
            (Some(_), Some(plan), None) => (None, Some(plan)),
            (_, first, second) => (first.as_ref(), second.as_ref()),
        };
        let timing = self.timing.read()?;
        let network = timing.apply(self.network.read(file)?);
        let schedule = self.schedule(&network, plan)?;
        let mut target = *timing.target;
        // A plan is carried out by files that have them; other planners' tables stand for themselves.
        let guard_bands = self.tsnkit.is_none() && !target.length_aware;
        target.most_entries = self.max_entries.unwrap_or(target.most_entries);
        let input = ValidationInput {
            network: &network,
            schedule: &schedule,
            target: &target,
            guard_bands,
            most_messages: MOST_MESSAGES,
        };
        let verdict = validate(&input);
        let text = match self.json {
            true => json(&network, &verdict)?,
            false => text(&network, &verdict),
        };
        terminal::print(&text)?;
        Ok(if verdict.holds() { Outcome::Met } else { Outcome::NotMet })
    }

    fn schedule(&self, network: &Network, plan: Option<&PathBuf>) -> Result<Schedule, Failure> {
        match (plan, &self.tsnkit) {
            (Some(file), None) => {
                let wrong = |error| Failure::new(format!("{}: {error}", file.display()));
                read_plan(file)?.schedule(network).map_err(wrong)
            }
            (None, Some(prefix)) => {
                tsnkit_names(network)?;
                files::tsnkit_schedule(prefix, network).map_err(Failure::new)
            }
            _ => Err(Failure::new("name a plan, or --tsnkit PREFIX, and not both (see --help)")),
        }
    }
}

fn text(network: &Network, verdict: &Verdict) -> String {
    let followed = exact(verdict.followed_ns);
    let whole =
        if verdict.complete { "twice the time after which all begins again" } else { "a part of its common period" };
    let followed = format!("followed  {} messages through {followed}, {whole}\n", count(verdict.messages));
    let mut text = fitted(&followed, &terminal::style());
    if let Some(slowest) = verdict.delays.iter().max_by_key(|delay| delay.most_ns) {
        text += &format!(
            "delays    up to {} ({} to {})\n",
            show(slowest.most_ns),
            network.streams[slowest.stream].name,
            network.nodes[slowest.listener].name
        );
    }
    if verdict.holds() {
        let partly = if verdict.complete { "" } else { ", as far as it was followed" };
        return text + &format!("holds     every message arrives once and in time{partly}\n");
    }
    for (kind, count) in &verdict.counts {
        text += &format!("{count:>8}  {kind}\n");
        for fault in verdict.faults.iter().filter(|fault| fault.kind() == *kind).take(5) {
            text += &format!("          {}\n", fault.in_words(network));
        }
    }
    text
}

fn json(network: &Network, verdict: &Verdict) -> Result<String, Failure> {
    let delay = |delay: &ontick_tsn::validate::Delay| {
        json!({
            "stream": network.streams[delay.stream].name,
            "listener": network.nodes[delay.listener].name,
            "least_ns": delay.least_ns,
            "most_ns": delay.most_ns,
            "received": delay.received,
        })
    };
    let faults: Vec<_> =
        verdict.faults.iter().map(|fault| json!({ "kind": fault.kind(), "what": fault.in_words(network) })).collect();
    let value = json!({
        "holds": verdict.holds(),
        "counts": verdict.counts,
        "faults": faults,
        "messages": verdict.messages,
        "followed_ns": verdict.followed_ns,
        "complete": verdict.complete,
        "delays": verdict.delays.iter().map(delay).collect::<Vec<_>>(),
    });
    Ok(serde_json::to_string_pretty(&value)? + "\n")
}
