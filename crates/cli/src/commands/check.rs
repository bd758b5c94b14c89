//! `ontick check`

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use clap::Args;
use ontick_machine::ownership::{Ownership, watch};
use ontick_machine::{Facts, Profile, Root, Target, WantedCpus, check};
use ontick_record::findings::{Finding, any_bad};
use ontick_report::text;
use ontick_rt::thread::set_affinity;
use ontick_units::CpuList;
use serde::Serialize;

use super::ownership;
use crate::failure::{Failure, Outcome};
use crate::flags::{self, BoardFlag, InterfaceFlag, RootFlag};
use crate::{stop, terminal};

/// Check what prevents good timing on this machine, worst first; changes nothing.
///
/// Exit status 1 if there is a bad finding.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  ontick check\n  ontick check --cpu 3        what runs on CPU 3, and what may run there\n  ontick check --cpu isolated --duration 10s\n  ontick check --interface eth1       and what of its card holds frames up\n  ontick check --all --json"
)]
pub struct Check {
    /// Also watch this CPU, or each of several (a list such as 2-3, isolated, or all but one): which tasks and interrupts run
    /// there, for how long, and which of them can be moved
    #[arg(long, value_name = "LIST|isolated|all", value_parser = str::parse::<WantedCpus>)]
    cpu: Option<WantedCpus>,
    /// How long to watch those CPUs
    #[arg(long, value_name = "TIME", default_value = "3s", value_parser = flags::duration, requires = "cpu")]
    duration: u64,
    /// Show also what is well, and every reason with its source
    #[arg(long)]
    all: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    interface: InterfaceFlag,
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
    /// Of one CPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    ownership: Option<Ownership>,
    /// Of several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ownerships: Vec<Ownership>,
}

impl Check {
    pub fn run(self) -> Result<Outcome, Failure> {
        let root = self.root.open()?;
        let mut facts = self.board.facts(&root, self.cpu.as_ref().and_then(WantedCpus::listed))?;
        self.interface.look(&root, &mut facts)?;
        let cpus = self.cpu.as_ref().map(|cpus| flags::cpus_of(cpus, &facts)).transpose()?;
        let target = flags::target(&root, &facts, cpus.clone(), Profile::DedicatedCore)?;
        let mut owned = cpus.map_or(Ok(Vec::new()), |cpus| self.watch(&root, &facts, &cpus))?;
        let mut found = check(&facts, &target, &|remedy| self.interface.remedy(&self.root, remedy));
        // On a card nothing runs that could be changed: only the next boot can.
        if !root.is_live() && !root.exists("/proc/sys") {
            found.iter_mut().for_each(|finding| finding.now = None);
        }
        let bad = any_bad(&found);
        if self.json {
            let ownership = if owned.len() == 1 { owned.pop() } else { None };
            let checked = Checked { target, findings: found, ownership, ownerships: owned };
            terminal::print(&(serde_json::to_string_pretty(&checked)? + "\n"))?;
        } else {
            terminal::print(&self.render((&facts, root.is_live()), &target, &found, &owned))?;
        }
        Ok(if bad { Outcome::NotMet } else { Outcome::Met })
    }

    fn watch(&self, root: &Root, facts: &Facts, cpus: &CpuList) -> Result<Vec<Ownership>, Failure> {
        // In a folder nothing runs: only who may run there can be known.
        let time = if root.is_live() { Duration::from_nanos(self.duration) } else { Duration::ZERO };
        let stop = stop::on_signal()?;
        // Who watches must not be who is seen.
        let elsewhere: Vec<u32> = facts.cpus.online.without(cpus).iter().collect();
        if root.is_live() && !elsewhere.is_empty() {
            // Not allowed everywhere, and then it is seen.
            let _ = set_affinity(&elsewhere);
        }
        watch(root, facts, cpus, time, || !stop.load(Relaxed)).map_err(Failure::new)
    }

    fn render(&self, (facts, live): (&Facts, bool), target: &Target, found: &[Finding], owned: &[Ownership]) -> String {
        let style = terminal::style();
        let mut shown = text::machine(&facts.environment(target.cpus.last()), &style) + "\n";
        for ownership in owned {
            shown += &ownership::render(ownership, self.all, &style);
            shown += "\n";
        }
        shown += &text::findings(found, self.all, &style);
        let boot = !live && found.iter().any(|f| f.boot.is_some());
        if boot || found.iter().any(|f| f.knob.is_some()) {
            let cpus = self.cpu.iter().flat_map(|_| ["--cpu".to_owned(), target.cpus.to_string()]);
            let words = cpus.chain(self.board.words());
            // Settings of interfaces are not those of each boot.
            let words = words.chain(if boot { Vec::new() } else { self.interface.words() });
            let words: String = words.map(|word| format!(" {word}")).collect();
            let plan = self.root.command(&format!("ontick tune plan{}{words}", if boot { " --boot" } else { "" }));
            shown += &format!("What would be changed for CPU {}, and why:\n  {plan}\n", target.cpus);
        }
        shown
    }
}
