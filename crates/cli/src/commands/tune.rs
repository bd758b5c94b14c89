//! `ontick tune …`

mod apply;
mod done;
pub mod errors;
mod plan;
pub mod render;
mod revert;
mod search;
mod status;

use clap::{Args, Subcommand};
use ontick_machine::boot::{self, BootPlan};
use ontick_machine::{Facts, IrqThreads, Root, Target, TuningPlan, knobs, service_unit};
use serde::Serialize;

use crate::failure::{Failure, Outcome};
use crate::flags::{BoardFlag, InterfaceFlag, RootFlag, TargetFlags};
use crate::lazily::Lazily;
use crate::terminal;

/// Change this machine's settings for good timing, and put them back.
#[derive(Subcommand)]
pub enum Tune {
    Plan(Lazily<plan::PlanCommand>),
    Apply(Lazily<apply::Apply>),
    Status(Lazily<status::Status>),
    Revert(Lazily<revert::Revert>),
    Search(Lazily<Box<search::Search>>),
}

impl Tune {
    pub fn run(self) -> Result<Outcome, Failure> {
        match self {
            Tune::Plan(Lazily(plan)) => plan.run(),
            Tune::Apply(Lazily(apply)) => apply.run(),
            Tune::Status(Lazily(status)) => status.run(),
            Tune::Revert(Lazily(revert)) => revert.run(),
            Tune::Search(Lazily(search)) => search.run(),
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
    /// Policy of the threads that handle interrupts, as fifo:60, or mmc0=fifo:60 for those of one device (repeatable);
    /// with it a timed thread comes before them or after
    #[arg(long, value_name = "[DEVICE=]POLICY")]
    irq_threads: Vec<IrqThreads>,
    #[command(flatten)]
    interface: InterfaceFlag,
    /// Apply at every boot: kernel arguments, firmware settings, a systemd unit for the rest
    #[arg(long, conflicts_with_all = ["knobs", "names"])]
    boot: bool,
    /// Use the changed boot files for one boot only (Raspberry Pi 4 and later), so that a bad argument does no harm
    #[arg(long, requires = "boot")]
    tryboot: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    root: RootFlag,
    #[command(flatten)]
    board: BoardFlag,
}

/// Everything that would be done.
struct Prepared {
    root: Root,
    facts: Facts,
    target: Target,
    plan: TuningPlan,
    boot: Option<BootPlan>,
}

impl Wanted {
    /// `ontick tune apply` with the same options.
    fn apply_command(&self) -> String {
        let mut words: Vec<String> = self.knobs.clone();
        words.extend(self.target.words());
        words.extend(self.irq_threads.iter().flat_map(|wanted| ["--irq-threads".into(), wanted.to_string()]));
        words.extend(self.interface.words());
        for (flag, given) in [("--isolate", self.isolate), ("--boot", self.boot), ("--tryboot", self.tryboot)] {
            words.extend(given.then(|| flag.into()));
        }
        words.extend(self.board.words());
        let words: String = words.iter().map(|word| format!(" {word}")).collect();
        self.root.command(&format!("sudo ontick tune apply{words}"))
    }

    fn prepare(&self, root: Root) -> Result<Prepared, Failure> {
        self.interface.check(&self.knobs)?;
        let mut facts = self.board.facts(&root, self.target.cpus())?;
        self.interface.look(&root, &mut facts)?;
        let mut target = self.target.target(&root, &facts)?;
        if !self.knobs.is_empty() {
            (target.only, target.only_arguments, target.own) = (self.knobs.clone(), None, Vec::new());
        }
        if !self.boot && target.only.is_empty() && target.own.is_empty() && target.only_arguments.is_some() {
            return Err(Failure::new(
                "this profile file is of kernel arguments alone, which take effect at boot: add --boot",
            ));
        }
        if self.isolate {
            knobs::isolate(&mut target, &facts);
        }
        (target.irq_threads, target.interfaces) = (self.irq_threads.clone(), self.interface.names().to_vec());
        let plan = TuningPlan::make(&root, &facts, &target).map_err(Failure::new)?;
        let boot = self.boot.then(|| self.boot_plan(&root, &facts, &target)).transpose()?;
        Ok(Prepared { root, facts, target, plan, boot })
    }

    fn boot_plan(&self, root: &Root, facts: &Facts, target: &Target) -> Result<BootPlan, Failure> {
        let mut plan = boot::plan(root, facts, target, self.tryboot).map_err(errors::no_boot_plan)?;
        let (cpus, profile) = (target.cpus.to_string(), target.profile.name());
        let mut command = vec!["tune", "apply"];
        if target.own.is_empty() {
            command.extend(target.only.iter().map(String::as_str));
        }
        let profile = if target.own.is_empty() { profile } else { boot::unit::PROFILE };
        command.extend(["--cpu", &cpus, "--profile", profile]);
        command.extend(target.isolate.then_some("--isolate"));
        let irq_threads: Vec<String> = target.irq_threads.iter().map(IrqThreads::to_string).collect();
        command.extend(irq_threads.iter().flat_map(|wanted| ["--irq-threads", wanted]));
        let no_settings = target.only.is_empty() && target.own.is_empty() && target.only_arguments.is_some();
        match (self.tryboot, boot::unit::is_read(root)) {
            (true, _) if no_settings => {}
            // A profile file of kernel arguments alone has no settings that would be applied at each boot, and those of an
            // earlier plan go.
            (false, _) if no_settings => {
                boot::unit::keep_profile(&mut plan, root, target)?;
                if boot::unit::empty(&mut plan, root)? {
                    plan.notes.push("no settings are applied at boot any more, as the profile's file has none".into());
                }
            }
            (true, _) => plan.notes.push("settings of the running kernel are not part of the trial".into()),
            (false, true) => {
                boot::unit::keep_profile(&mut plan, root, target)?;
                boot::unit::add_to(&mut plan, root, &program(root)?, &command).map_err(Failure::new)?;
            }
            (false, false) => {
                boot::unit::keep_profile(&mut plan, root, target)?;
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
