//! Which machine is looked at or changed, and what it is wanted for.

use std::io::Read;
use std::path::{Path, PathBuf};

use clap::Args;
use ontick_machine::own_setting::same_file;
use ontick_machine::profile_file::{self, ProfileFile};
use ontick_machine::{Facts, Profile, Remedy, Root, Target, TargetError, WantedCpus, knobs};
use ontick_units::CpuList;

use super::placement::unnamed;
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

    /// Whether a folder was named instead of the running machine.
    pub fn is_folder(&self) -> bool {
        self.folder.is_some()
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
pub fn typed(word: &str) -> String {
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

/// Which network interfaces count, too.
#[derive(Args, Debug, Clone, Default)]
pub struct InterfaceFlag {
    /// Also the settings of this network interface and of its card (repeatable)
    #[arg(long = "interface", value_name = "IF")]
    names: Vec<String>,
}

impl InterfaceFlag {
    /// Their names.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// As they were given.
    pub fn words(&self) -> Vec<String> {
        self.names.iter().flat_map(|name| ["--interface".into(), name.clone()]).collect()
    }

    /// What mends a finding, as the command that does it.
    pub fn remedy(&self, root: &RootFlag, remedy: &Remedy) -> String {
        match remedy {
            Remedy::Knob(name) if is_of_interfaces(name) => {
                let words: String = self.words().iter().map(|word| format!(" {word}")).collect();
                root.command(&format!("ontick tune apply {name}{words}"))
            }
            other => root.remedy(other),
        }
    }

    /// Refuses settings of interfaces where none is named.
    pub fn check(&self, knobs: &[String]) -> Result<(), Failure> {
        match knobs.iter().find(|name| self.names.is_empty() && is_of_interfaces(name)) {
            Some(name) => {
                Err(Failure::new(format!("{name} is a setting of a network interface: name it with --interface IF")))
            }
            None => Ok(()),
        }
    }

    /// Adds them to what is known.
    pub fn look(&self, root: &Root, facts: &mut Facts) -> Result<(), Failure> {
        facts.look_at_interfaces(root, &self.names).map_err(Failure::new)
    }
}

fn is_of_interfaces(knob: &str) -> bool {
    knobs::named(knob).is_ok_and(knobs::is_of_interfaces)
}

/// Which the CPUs for timed programs are on a machine.
pub fn cpus_of(wanted: &WantedCpus, facts: &Facts) -> Result<CpuList, Failure> {
    wanted.of(facts).map_err(|none| {
        Failure::new(format!("{none}: name CPUs (--cpu 1-3), or isolate some (`ontick tune plan --boot`)"))
    })
}

/// What the machine is wanted for.
#[derive(Args, Debug, Clone)]
pub struct TargetFlags {
    /// CPUs for timed programs: a list such as 3 or 2-3, isolated, or all but the first (all) [default: those isolated, else
    /// one without fixed interrupts]
    #[arg(long, value_name = "LIST|isolated|all", value_parser = str::parse::<WantedCpus>)]
    cpu: Option<WantedCpus>,
    /// dedicated-core (one core for one program), low-latency (all cores answer quickly) or throughput-safe
    /// (only what costs the others nothing); or a file, as `tune search --out` writes it, which may have settings of your own
    #[arg(long, value_name = "PROFILE|FILE", default_value = "dedicated-core", value_parser = profile)]
    profile: Chosen,
}

/// A profile by its name, or one that was found and written to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Chosen {
    Named(Profile),
    File(PathBuf),
}

/// A name of a profile has no dot and no slash, a file mostly has.
fn profile(text: &str) -> Result<Chosen, String> {
    match text.parse() {
        Ok(profile) => Ok(Chosen::Named(profile)),
        Err(_) if text.contains(['.', '/']) => Ok(Chosen::File(text.into())),
        Err(error) => Err(format!("{error}, and a file is written with its ending or folder: ./{text}")),
    }
}

fn read_profile(path: &Path) -> Result<ProfileFile, Failure> {
    let failed = |error: &dyn std::fmt::Display| Failure::new(format!("--profile {}: {error}", path.display()));
    let file = std::fs::File::open(path).map_err(|e| failed(&e))?;
    let mut text = String::new();
    file.take(profile_file::LARGEST as u64).read_to_string(&mut text).map_err(|e| failed(&e))?;
    ProfileFile::parse(&text).map_err(|e| failed(&e))
}

impl TargetFlags {
    /// As they were given.
    pub fn words(&self) -> Vec<String> {
        let cpu = self.cpu.iter().flat_map(|cpus| ["--cpu".into(), cpus.to_string()]);
        let profile = match &self.profile {
            Chosen::Named(Profile::DedicatedCore) => None,
            Chosen::Named(profile) => Some(profile.name().to_owned()),
            Chosen::File(path) => Some(typed(&path.display().to_string())),
        };
        cpu.chain(profile.into_iter().flat_map(|profile| ["--profile".into(), profile])).collect()
    }

    /// The CPUs that were named one by one.
    pub fn cpus(&self) -> Option<&CpuList> {
        self.cpu.as_ref().and_then(WantedCpus::listed)
    }

    pub fn target(&self, root: &Root, facts: &Facts) -> Result<Target, Failure> {
        let named = self.cpu.as_ref().map(|cpus| cpus_of(cpus, facts)).transpose()?;
        match &self.profile {
            Chosen::Named(profile) => target(root, facts, named, *profile),
            Chosen::File(path) => {
                let ProfileFile { profile, cpus, knobs, arguments, set } = read_profile(path)?;
                if let Some([first, second]) = same_file(root, &set) {
                    return Err(Failure::new(format!(
                        "--profile {}: set: {} and {} are one file here: leave one of them out",
                        path.display(),
                        first.path,
                        second.path
                    )));
                }
                let target = target(root, facts, named.or(cpus), profile)?;
                Ok(Target { only: knobs, only_arguments: Some(arguments), own: set, ..target })
            }
        }
    }

    /// The CPU of a target that is measured: where none was named, the one that the measuring commands take.
    pub fn measured(&self, root: &Root, target: &Target) -> u32 {
        let usual = (self.cpu.is_none() && root.is_live()).then(|| unnamed().cpu);
        let first = target.cpus.iter().next().unwrap_or_default();
        usual.filter(|cpu| target.cpus.contains(*cpu)).unwrap_or(first)
    }

    /// As [`target`](Self::target), where a profile must be one by its name.
    pub fn named(&self, root: &Root, facts: &Facts) -> Result<Target, Failure> {
        match &self.profile {
            Chosen::Named(_) => self.target(root, facts),
            Chosen::File(path) => Err(Failure::new(format!(
                "--profile {}: the candidates are those of a profile by its name, or name them",
                path.display()
            ))),
        }
    }
}

/// What the machine is wanted for. Where no CPU is named and none is isolated, the running machine's is the one that the
/// measuring commands take, too: what is tuned is what is then measured.
pub fn target(root: &Root, facts: &Facts, named: Option<CpuList>, profile: Profile) -> Result<Target, Failure> {
    let chosen = root.is_live() && Target::kept_apart(facts).is_none();
    let as_measured = || chosen.then(|| CpuList::one(unnamed().cpu));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_none_is_isolated_the_option_is_named() {
        let mut facts = Facts::default();
        let none = cpus_of(&WantedCpus::Isolated, &facts).unwrap_err().to_string();
        assert!(none.starts_with("no CPU of this machine is isolated: name CPUs (--cpu 1-3)"), "{none}");
        facts.cpus.isolated = "3".parse().unwrap();
        assert_eq!(cpus_of(&WantedCpus::Isolated, &facts).unwrap().to_string(), "3");
    }
}
