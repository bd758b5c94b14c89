//! Who holds a CPU, and in what manner, as the names of claims say.

use std::fmt;
use std::fs;
use std::path::Path;

use crate::cpus::command_line::shortened;

/// How a thread uses its CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Occupancy {
    /// It leaves the CPU in each period, so that another such thread can be there, too.
    Rests,
    /// It keeps the CPU as good as all the time.
    Spins,
}

impl Occupancy {
    fn name(self) -> &'static str {
        match self {
            Self::Rests => "rests",
            Self::Spins => "spins",
        }
    }

    fn named(name: &str) -> Option<Self> {
        [Self::Rests, Self::Spins].into_iter().find(|occupancy| occupancy.name() == name)
    }
}

/// Another process that holds a CPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// The CPU.
    pub cpu: u32,
    /// The process.
    pub pid: u32,
    /// How it uses the CPU.
    pub occupancy: Occupancy,
}

impl Holder {
    pub(super) fn file_name(&self) -> String {
        format!("{}.{}.{}", self.cpu, self.pid, self.occupancy.name())
    }

    fn named(name: &str) -> Option<Self> {
        let mut parts = name.split('.');
        let (cpu, pid, occupancy) = (parts.next()?, parts.next()?, parts.next()?);
        let holder = Self { cpu: cpu.parse().ok()?, pid: pid.parse().ok()?, occupancy: Occupancy::named(occupancy)? };
        (holder.file_name() == name).then_some(holder)
    }

    /// The beginning of its command line.
    fn command(&self) -> String {
        shortened(&fs::read(format!("/proc/{}/cmdline", self.pid)).unwrap_or_default())
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.command() {
            command if command.is_empty() => write!(f, "process {}", self.pid),
            command => write!(f, "{command} (process {})", self.pid),
        }
    }
}

/// Claims in a folder, by the names of its files.
pub(super) fn listed(folder: &Path) -> Vec<Holder> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| Holder::named(entry.file_name().to_str()?)).collect()
}

#[cfg(test)]
mod tests {
    use super::Occupancy::{Rests, Spins};
    use super::*;

    #[test]
    fn names_of_files_read_back_and_others_are_passed_over() {
        for (cpu, occupancy) in [(0, Rests), (127, Spins)] {
            let holder = Holder { cpu, pid: 4_000_000 + cpu, occupancy };
            assert_eq!(Holder::named(&holder.file_name()), Some(holder));
        }
        for other in [".lock", "1.2", "1.2.sleeps", "01.2.rests", "1.2.rests.3", "-1.2.rests"] {
            assert_eq!(Holder::named(other), None, "{other}");
        }
    }

    #[test]
    fn a_holder_is_shown_by_the_beginning_of_its_command() {
        let own = Holder { cpu: 0, pid: std::process::id(), occupancy: Rests };
        let program = std::env::current_exe().unwrap();
        let program = program.file_name().unwrap().to_str().unwrap();
        assert!(own.to_string().starts_with(program), "{own}");
        assert!(own.to_string().ends_with(&format!(" (process {})", own.pid)), "{own}");
    }
}
