//! `ontick tune plan`

use clap::Args;
use serde_json::json;

use super::{Wanted, print_json, render};
use crate::failure::{Failure, Outcome};
use crate::terminal;

/// Show every change that would be made, as current → wanted, with the reason; change nothing.
#[derive(Args)]
#[command(
    name = "plan",
    after_help = "Examples:\n  ontick tune plan\n  ontick tune plan --cpu 3 --profile low-latency\n  ontick tune plan --interface eth1   with those of a network card\n  ontick tune plan --boot             with the edits of the boot files\n  ontick tune plan governor --all"
)]
pub struct PlanCommand {
    #[command(flatten)]
    wanted: Wanted,
    /// Show also what stays as it is, and why
    #[arg(long)]
    all: bool,
}

impl PlanCommand {
    pub fn run(self) -> Result<Outcome, Failure> {
        let prepared = self.wanted.prepare(self.wanted.root.open()?)?;
        if self.wanted.json {
            print_json(&json!({ "plan": prepared.plan, "boot": prepared.boot }))?;
            return Ok(Outcome::Met);
        }
        let style = terminal::style();
        let (all, live) = (self.all || !self.wanted.knobs.is_empty(), prepared.root.is_live());
        let mut text = render::plan(&prepared.plan, all, live, &style);
        if let Some(boot) = &prepared.boot {
            text += &render::boot_plan(boot, &style);
        }
        if prepared.plan.changes().next().is_some() || prepared.boot.is_some_and(|b| !b.edits.is_empty()) {
            text += &format!("\nNothing is changed yet. This does it: {}\n", self.wanted.apply_command());
        }
        terminal::print(&text)?;
        Ok(Outcome::Met)
    }
}
