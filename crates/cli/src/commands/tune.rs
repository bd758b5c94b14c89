//! `ontick tune …`

mod apply;
mod done;
mod plan;
pub mod render;
mod revert;
mod status;

use clap::{Args, Subcommand};
use ontick_machine::boot::{self, BootPlan};
use ontick_machine::{Facts, Plan, Root, Target, service_unit};
use serde::Serialize;

use crate::failure::{Failure, Outcome};
use crate::flags::{RootFlag, TargetFlags};
use crate::terminal;

/// Change this machine's settings for good timing, and put them back.
#[derive(Subcommand)]
pub enum Tune {
    Plan(plan::PlanCommand),
    Apply(apply::Apply),
    Status(status::Status),
    Revert(revert::Revert),
}

impl Tune {
    pub fn run(self) -> Result<Outcome, Failure> {
        match self {
            Tune::Plan(plan) => plan.run(),
            Tune::Apply(apply) => apply.run(),
            Tune::Status(status) => status.run(),
            Tune::Revert(revert) => revert.run(),
        }
    }
}

/// What `plan` and `apply` take.
#[derive(Args)]
struct Wanted {
    /// Only these settings, whatever the profile
    #[arg(value_name = "KNOB")]
    knobs: Vec<String>,
    #[command(flatten)]
    target: TargetFlags,
    /// Keep the CPUs for timed programs: moves other programs' tasks off them, switches SMT siblings off
    #[arg(long)]
    isolate: bool,
    /// Apply at every boot: kernel arguments, firmware settings, a systemd unit for the rest
    #[arg(long, conflicts_with = "knobs")]
    boot: bool,
    /// Use the changed boot files for one boot only (Raspberry Pi 4 and later), so that a bad argument does no harm
    #[arg(long, requires = "boot")]
    tryboot: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    root: RootFlag,
}

/// Everything that would be done.
struct Prepared {
    root: Root,
    facts: Facts,
    target: Target,
    plan: Plan,
    boot: Option<BootPlan>,
}

impl Wanted {
    /// The same wishes as they are written on the command line.
    fn words(&self) -> String {
        let mut words: Vec<String> = self.knobs.clone();
        words.extend(self.target.words());
        for (flag, given) in [("--isolate", self.isolate), ("--boot", self.boot), ("--tryboot", self.tryboot)] {
            words.extend(given.then(|| flag.into()));
        }
        words.extend(self.root.words());
        words.iter().map(|word| format!(" {word}")).collect()
    }

    fn prepare(&self, root: Root) -> Result<Prepared, Failure> {
        let facts = Facts::gather(&root);
        let mut target = self.target.target(&root, &facts)?;
        (target.only, target.isolate) = (self.knobs.clone(), self.isolate);
        let plan = Plan::make(&root, &facts, &target).map_err(Failure::new)?;
        let boot = self.boot.then(|| self.boot_plan(&root, &facts, &target)).transpose()?;
        Ok(Prepared { root, facts, target, plan, boot })
    }

    fn boot_plan(&self, root: &Root, facts: &Facts, target: &Target) -> Result<BootPlan, Failure> {
        let mut plan = boot::plan(root, facts, target, self.tryboot).map_err(Failure::new)?;
        let (cpus, profile) = (target.cpus.to_string(), target.profile.name());
        let mut command = vec!["tune", "apply", "--cpu", &cpus, "--profile", profile];
        command.extend(target.isolate.then_some("--isolate"));
        match (self.tryboot, boot::unit::is_read(root)) {
            (true, _) => plan.notes.push("settings of the running kernel are not part of the trial".into()),
            (false, true) => boot::unit::add_to(&mut plan, root, &program(root)?, &command).map_err(Failure::new)?,
            (false, false) => {
                let line = command.join(" ");
                plan.notes.push(format!("no systemd here: let this run at each boot (/etc/rc.local): ontick {line}"));
            }
        }
        Ok(plan)
    }
}

/// Where systemd will find ontick.
fn program(root: &Root) -> Result<String, Failure> {
    if !root.is_live() {
        return Ok("/usr/bin/ontick".into());
    }
    service_unit::own_program().map_err(Failure::new)
}

fn print_json(document: &impl Serialize) -> Result<(), Failure> {
    terminal::print(&(serde_json::to_string_pretty(document)? + "\n"))
}
