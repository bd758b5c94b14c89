//! Which machine is looked at or changed, and what it is wanted for.

use std::path::PathBuf;

use clap::Args;
use ontick_machine::{Facts, Profile, Root, Target};
use ontick_rt::cpus;
use ontick_units::CpuList;

use crate::failure::Failure;

/// Which machine.
#[derive(Args, Debug, Clone)]
pub struct RootFlag {
    /// Work on the system in this folder (a mounted card) instead of the running one
    #[arg(long = "root", value_name = "DIR")]
    folder: Option<PathBuf>,
}

impl RootFlag {
    /// As it was given.
    pub fn words(&self) -> Vec<String> {
        self.folder.iter().flat_map(|f| ["--root".into(), f.display().to_string()]).collect()
    }

    /// The machine's files.
    pub fn open(&self) -> Result<Root, Failure> {
        let Some(folder) = &self.folder else { return Ok(Root::live()) };
        Root::at(folder).map_err(|e| Failure::new(format!("--root {}: {e}", folder.display())))
    }

    /// As above, to change settings: those of the running machine are root's alone.
    pub fn open_to_change(&self, command: &str) -> Result<Root, Failure> {
        let root = self.open()?;
        needs_root(&root, command)?;
        Ok(root)
    }
}

/// Refuses to change the running machine's settings without the right to.
pub fn needs_root(root: &Root, command: &str) -> Result<(), Failure> {
    match root.is_live() && !rustix::process::geteuid().is_root() {
        true => {
            Err(Failure::new(format!("only root may change this machine's settings: run it as sudo ontick {command}")))
        }
        false => Ok(()),
    }
}

/// What the machine is wanted for.
#[derive(Args, Debug, Clone)]
pub struct TargetFlags {
    /// CPUs for timed programs, as a list such as 3 or 2-3 [default: those isolated, else one without fixed interrupts]
    #[arg(long, value_name = "LIST", value_parser = list)]
    cpu: Option<CpuList>,
    /// dedicated-core (one core for one program), low-latency (all cores answer quickly) or throughput-safe
    /// (only what costs the others nothing)
    #[arg(long, default_value = "dedicated-core")]
    profile: Profile,
}

impl TargetFlags {
    /// As they were given.
    pub fn words(&self) -> Vec<String> {
        let cpu = self.cpu.iter().flat_map(|cpus| ["--cpu".into(), cpus.to_string()]);
        let profile = (self.profile != Profile::DedicatedCore).then_some(["--profile", self.profile.name()]);
        cpu.chain(profile.into_iter().flatten().map(String::from)).collect()
    }

    pub fn target(&self, root: &Root, facts: &Facts) -> Result<Target, Failure> {
        target(root, facts, self.cpu.clone(), self.profile)
    }
}

/// What the machine is wanted for. Where no CPU is named, the running machine's is the one that the measuring commands
/// take, too: what is tuned is what is then measured.
pub fn target(root: &Root, facts: &Facts, named: Option<CpuList>, profile: Profile) -> Result<Target, Failure> {
    let kept_free = facts.cgroups.isolated();
    let as_measured = || (root.is_live() && kept_free.is_empty()).then(|| CpuList::one(cpus::preferred()));
    Target::new(facts, named.or_else(as_measured), profile).map_err(Failure::new)
}

fn list(text: &str) -> Result<CpuList, String> {
    text.parse::<CpuList>().map_err(|e| format!("{e} (write a list of CPUs such as 3 or 2-3)"))
}
