//! Which machine is looked at or changed, and what it is wanted for.

use std::path::PathBuf;

use clap::Args;
use ontick_machine::{Facts, Profile, Remedy, Root, Target, TargetError};
use ontick_rt::cpus;
use ontick_units::CpuList;

use crate::failure::Failure;

/// Which machine.
#[derive(Args, Debug, Clone, Default)]
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

    /// A command that is to be typed, for the same machine.
    pub fn command(&self, command: &str) -> String {
        std::iter::once(command.to_owned())
            .chain(self.words().iter().map(|word| typed(word)))
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// What mends a finding, as the command that does it.
    pub fn remedy(&self, remedy: &Remedy) -> String {
        match remedy {
            Remedy::Knob(name) => self.command(&format!("ontick tune apply {name}")),
            Remedy::AtBoot(None) => self.command("ontick tune apply --boot"),
            Remedy::AtBoot(Some(what)) => format!("{} ({what})", self.command("ontick tune apply --boot")),
            Remedy::Isolate => self.command("ontick tune apply --isolate"),
            Remedy::Kernel(option) => format!("a kernel with {option} (ontick kernel)"),
            other => other.to_string(),
        }
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

/// A word as a shell takes it.
fn typed(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_-./,:=+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) { word.into() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

/// Which CPUs a mounted system's board has.
#[derive(Args, Debug, Clone)]
pub struct BoardFlag {
    /// The CPUs of the board that the system in DIR is for, as a list such as 0-3 [default: as its device tree says]
    #[arg(long = "board-cpus", value_name = "LIST", value_parser = list, requires = "folder")]
    cpus: Option<CpuList>,
}

impl BoardFlag {
    /// As it was given.
    pub fn words(&self) -> Vec<String> {
        self.cpus.iter().flat_map(|cpus| ["--board-cpus".into(), cpus.to_string()]).collect()
    }

    /// What is so on a machine of which these CPUs are wanted.
    pub fn facts(&self, root: &Root, wanted: Option<&CpuList>) -> Result<Facts, Failure> {
        let mut facts = Facts::gather(root);
        match (&self.cpus, wanted) {
            (Some(_), _) if root.is_live() => {
                return Err(Failure::new("--board-cpus is for a system that does not run: leave it out"));
            }
            (Some(cpus), _) if cpus.is_empty() => return Err(Failure::new("--board-cpus names no CPU")),
            (Some(cpus), _) => facts.cpus.set_online(cpus.clone()),
            (None, Some(wanted)) => facts.cpus.narrow(wanted),
            (None, None) => {}
        }
        Ok(facts)
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

    /// The CPUs that were named.
    pub fn cpus(&self) -> Option<&CpuList> {
        self.cpu.as_ref()
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
    Target::new(facts, named.or_else(as_measured), profile).map_err(|e| match e {
        TargetError::NoCpu | TargetError::Unreadable(_) | TargetError::SeveralBoards(_) if !root.is_live() => {
            Failure::new(format!("{e}; --board-cpus LIST says which CPUs the board has"))
        }
        TargetError::NotOnline { missing, online } if !root.is_live() => {
            Failure::new(format!("CPU {missing} is not one of the board that this system is for (it has CPU {online})"))
        }
        other => Failure::new(other),
    })
}

fn list(text: &str) -> Result<CpuList, String> {
    text.parse::<CpuList>().map_err(|e| format!("{e} (write a list of CPUs such as 3 or 2-3)"))
}
