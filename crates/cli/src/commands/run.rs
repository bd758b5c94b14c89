//! `ontick run`

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use clap::Args;
use ontick_machine::{Facts, Journal, Profile, Root, Target, isolate};
use ontick_rt::cpus;
use ontick_rt::cpus::claim::{Occupancy, claim};
use ontick_rt::thread::Policy;
use ontick_units::{CpuList, exact};

use super::tune::errors::not_isolated;
use crate::failure::{Failure, Outcome};
use crate::flags::{self, Cpu};
use crate::launch::{Account, Launch, LaunchError};
use crate::temporary_settings::{self, TemporarySettings};

/// What the kernel sends to a program that runs at real-time priority for too long.
const SIGXCPU: i32 = 24;

/// Run any program on time: on its own CPU, at real-time priority.
///
/// Input, output, signals and exit status are the program's own (128 + N where signal N ended it,
/// 127 where there is no such program, 126 where it cannot be run). Called through
/// sudo, it runs as the user who called sudo, with the scheduling that only root may give. Its settings are undone when
/// it ends, for whatever reason. If ontick itself is killed, the program gets SIGTERM, and a second later SIGKILL with
/// every process that it started.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  sudo ontick run -- ./controller --port 3\n  sudo ontick run --cpu 3 --policy fifo:80 --lock --no-cstates -- ./controller\n  sudo ontick run --cpu 3 --isolate -- ./controller"
)]
pub struct Run {
    /// CPU of the program, or "any" to leave it to the scheduler [default: one isolated, else one without fixed interrupts]
    #[arg(long, value_name = "N|any", value_parser = flags::cpu)]
    cpu: Option<Cpu>,
    /// Scheduling: other, fifo:PRIORITY, rr:PRIORITY or deadline:RUNTIME/DEADLINE/PERIOD. For fifo and rr a limit
    /// (RLIMIT_RTPRIO, as the group ontick has it) does as well as CAP_SYS_NICE
    #[arg(long, default_value = "fifo:80")]
    policy: Policy,
    /// Let the program lock its memory without privileges; it must call mlockall itself
    #[arg(long)]
    lock: bool,
    /// Keep all CPUs out of power states that take time to leave
    #[arg(long)]
    no_cstates: bool,
    /// Keep the CPU from idling, by a thread of the lowest policy: it is then back at once when a timer fires
    #[arg(long, conflicts_with = "isolate")]
    keep_awake: bool,
    /// Reserve the CPU for the program until it ends: moves other programs' tasks away
    #[arg(long)]
    isolate: bool,
    /// End the program (SIGXCPU, a second later SIGKILL) if it runs this long at fifo or rr priority without sleeping;
    /// "off" for a program that is meant to spin
    #[arg(long, value_name = "TIME|off", default_value = "10s", value_parser = runaway)]
    runaway_after: Runaway,
    /// Run the program as root, also when called through sudo
    #[arg(long)]
    keep_root: bool,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// When a program has run away.
#[derive(Debug, Clone, Copy)]
struct Runaway(Option<Duration>);

fn runaway(text: &str) -> Result<Runaway, String> {
    match text {
        "off" => Ok(Runaway(None)),
        time => match flags::time(time)? {
            0..1_000_000 => Err("the shortest is 1ms; \"off\" sets no limit".into()),
            ns => Ok(Runaway(Some(Duration::from_nanos(ns)))),
        },
    }
}

impl Run {
    pub fn run(self) -> Result<Outcome, Failure> {
        let cpu = Cpu::choose(self.cpu, self.policy);
        if let Some(cpu) = cpu.filter(|cpu| self.policy.is_real_time() && cpus::online().contains(cpu)) {
            // Until the program ends, and this supervisor with it.
            claim(cpu, if self.runaway_after.0.is_some() { Occupancy::Rests } else { Occupancy::Spins })
                .map_err(|held| Failure::new(held.to_string()))?
                .keep();
        }
        if self.keep_awake && cpu.is_none() {
            return Err(Failure::new("--keep-awake keeps one CPU from idling: name it with --cpu N"));
        }
        let user = if self.keep_root { None } else { Account::behind_sudo()? };
        let (held, group) = match (self.isolate, cpu) {
            (false, _) => (None, None),
            (true, Some(cpu)) => isolated(cpu).map(|(held, group)| (held, Some(group)))?,
            (true, None) => return Err(Failure::new("--isolate keeps one CPU for the program: name it with --cpu N")),
        };
        let launch = Launch {
            cpu,
            policy: self.policy,
            may_lock: self.lock,
            runaway_after: self.runaway_after.0,
            no_deep_idle: self.no_cstates,
            keep_awake: self.keep_awake,
            group,
            user,
        };
        let mut command = Command::new(&self.command[0]);
        command.args(&self.command[1..]);
        let began = Instant::now();
        let status = launch.run(command).map_err(|error| match error {
            LaunchError::Program { status, .. } => Failure::new(error).with_status(status),
            _ => Failure::new(error),
        })?;
        held.map(TemporarySettings::restore).transpose()?;
        self.explain(status, began.elapsed());
        Ok(Outcome::Ended(passed_on(status)))
    }

    /// Only one end needs a word: that which ontick itself arranged for. The kernel counts time at real-time priority alone.
    fn explain(&self, status: ExitStatus, ran: Duration) {
        let limit = self.runaway_after.0.filter(|limit| self.policy.is_real_time() && ran >= *limit);
        if let (Some(SIGXCPU), Some(limit)) = (status.signal(), limit) {
            let (program, limit) = (self.command[0].to_string_lossy(), exact(limit.as_nanos() as u64));
            crate::terminal::say(&format!(
                "ontick: {program} ran for {limit} at real-time priority without sleeping and was ended (--runaway-after off allows it)"
            ));
        }
    }
}

/// Keeps a CPU for one program; the file lets a process into the group that has it.
fn isolated(cpu: u32) -> Result<(Option<TemporarySettings>, File), Failure> {
    let root = Root::live();
    flags::needs_root(&root, "run --isolate")?;
    temporary_settings::put_back_abandoned()?;
    if let Some(group) = standing(&root, cpu)? {
        return Ok((None, entrance(&group)?));
    }
    let facts = Facts::gather(&root);
    let mut target = Target::new(&facts, Some(CpuList::one(cpu)), Profile::DedicatedCore).map_err(Failure::new)?;
    target.isolate = true;
    let mut held = TemporarySettings::begin()?;
    let done = isolate::isolate(&root, &facts, &target, held.journal()).map_err(|e| Failure::new(not_isolated(e)))?;
    let group = match (done.refused, done.group) {
        (None, Some(group)) => group,
        (why, _) => {
            let why = why.unwrap_or_else(|| "there is no control group".into());
            return Err(Failure::new(format!("CPU {cpu} cannot be isolated: {why}")));
        }
    };
    Ok((Some(held), entrance(&group)?))
}

/// The group that `ontick tune apply --isolate` made, if it did.
fn standing(root: &Root, cpu: u32) -> Result<Option<String>, Failure> {
    let journal = Journal::read(root)?;
    let Some(group) = isolate::standing(&journal) else { return Ok(None) };
    let cpus = isolate::cpus(root, &group).unwrap_or_default();
    match cpus.contains(cpu) {
        true => Ok(Some(group)),
        false => Err(Failure::new(format!(
            "CPU {cpus} is isolated, not CPU {cpu}: name it with --cpu, or revert that first (sudo ontick tune revert)"
        ))),
    }
}

fn entrance(group: &str) -> Result<File, Failure> {
    let path = format!("{group}/cgroup.procs");
    OpenOptions::new().write(true).open(&path).map_err(|e| Failure::new(format!("{path}: {e}")))
}

/// As shells count: the program's own status, or 128 and the number of the signal that ended it.
fn passed_on(status: ExitStatus) -> u8 {
    let status = status.code().or(status.signal().map(|signal| 128 + signal)).unwrap_or(2);
    status as u8
}
