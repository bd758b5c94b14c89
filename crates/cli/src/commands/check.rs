//! `ontick check`

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use clap::Args;
use ontick_machine::ownership::{Ownership, watch};
use ontick_machine::{Facts, Profile, Root, Target, check};
use ontick_record::findings::{Finding, any_bad};
use ontick_report::text;
use ontick_rt::thread::set_affinity;
use ontick_units::CpuList;
use serde::Serialize;

use super::ownership;
use crate::failure::{Failure, Outcome};
use crate::flags::{self, BoardFlag, RootFlag};
use crate::{stop, terminal};

/// Check what prevents good timing on this machine, worst first; changes nothing.
///
/// Exit status 1 if there is a bad finding.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  ontick check\n  ontick check --cpu 3        what runs on CPU 3, and what may run there\n  ontick check --all --json"
)]
pub struct Check {
    /// Also watch this CPU: which tasks and interrupts run there, for how long, and which of them can be moved
    #[arg(long, value_name = "N")]
    cpu: Option<u32>,
    /// How long to watch that CPU
    #[arg(long, value_name = "TIME", default_value = "3s", value_parser = flags::time, requires = "cpu")]
    duration: u64,
    /// Show also what is well, and every reason with its source
    #[arg(long)]
    all: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    root: RootFlag,
    #[command(flatten)]
    board: BoardFlag,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Checked {
    #[serde(rename = "aim")]
    target: Target,
    findings: Vec<Finding>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ownership: Option<Ownership>,
}

impl Check {
    pub fn run(self) -> Result<Outcome, Failure> {
        let root = self.root.open()?;
        let cpu = self.cpu.map(CpuList::one);
        let facts = self.board.facts(&root, cpu.as_ref())?;
        let target = flags::target(&root, &facts, cpu, Profile::DedicatedCore)?;
        let ownership = self.cpu.map(|cpu| self.watch(&root, &facts, cpu)).transpose()?;
        let found = check(&facts, &target, &|remedy| self.root.remedy(remedy));
        let bad = any_bad(&found);
        if self.json {
            let checked = Checked { target, findings: found, ownership };
            terminal::print(&(serde_json::to_string_pretty(&checked)? + "\n"))?;
        } else {
            terminal::print(&self.render((&facts, root.is_live()), &target, &found, ownership.as_ref()))?;
        }
        Ok(if bad { Outcome::NotMet } else { Outcome::Met })
    }

    fn watch(&self, root: &Root, facts: &Facts, cpu: u32) -> Result<Ownership, Failure> {
        // In a folder nothing runs: only who may run there can be known.
        let time = if root.is_live() { Duration::from_nanos(self.duration) } else { Duration::ZERO };
        let stop = stop::on_signal()?;
        // Who watches must not be who is seen.
        let elsewhere: Vec<u32> = facts.cpus.online.iter().filter(|other| *other != cpu).collect();
        if root.is_live() && !elsewhere.is_empty() {
            // Not allowed everywhere, and then it is seen.
            let _ = set_affinity(&elsewhere);
        }
        watch(root, facts, cpu, time, || !stop.load(Relaxed)).map_err(Failure::new)
    }

    fn render(
        &self,
        (facts, live): (&Facts, bool),
        target: &Target,
        found: &[Finding],
        ownership: Option<&Ownership>,
    ) -> String {
        let style = terminal::style();
        let mut shown = text::machine(&facts.environment(target.cpus.last()), &style) + "\n";
        if let Some(ownership) = ownership {
            shown += &ownership::render(ownership, self.all, &style);
            shown += "\n";
        }
        shown += &text::findings(found, self.all, &style);
        let boot = !live && found.iter().any(|f| f.boot.is_some());
        if boot || found.iter().any(|f| f.knob.is_some()) {
            let words: String = self.board.words().iter().map(|word| format!(" {word}")).collect();
            let plan = self.root.command(&format!("ontick tune plan{}{words}", if boot { " --boot" } else { "" }));
            shown += &format!("What would be changed for CPU {}, and why:\n  {plan}\n", target.cpus);
        }
        shown
    }
}
