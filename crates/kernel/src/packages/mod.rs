//! The real-time kernels that a system's own package manager has. Installing one spares a build.

mod apt;
mod others;
mod system;

use ontick_machine::Root;
use ontick_machine::facts::{Facts, Preemption};
use serde::Serialize;

use crate::command::CommandError;

pub use apt::read_policy;

/// A kernel that can be installed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// The version to be had.
    pub version: String,
    /// Where that comes from: `bookworm-backports`; empty where it is not known.
    pub suite: String,
    /// The version that is installed, if any.
    pub installed: Option<String>,
    /// Whether the kernel of this package runs right now.
    pub running: bool,
    /// The command that installs it.
    pub install: String,
}

/// What is known of a system.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Listed {
    /// The system, as it names itself.
    pub system: String,
    /// The package manager that was asked; empty where none is known here.
    pub manager: String,
    /// The running kernel, if the machine runs.
    pub running: String,
    /// Whether that is real-time already.
    pub running_is_real_time: bool,
    /// What can be installed, the best first.
    pub packages: Vec<Package>,
    /// What is known of this system beside.
    pub notes: Vec<String>,
}

impl Listed {
    /// Whether a build is spared: something can be installed, or is there.
    pub fn spares_a_build(&self) -> bool {
        self.running_is_real_time || !self.packages.is_empty()
    }
}

/// Why the package manager was not asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ListError {
    /// It knows only the machine that it runs on.
    #[error("what {0} has can only be asked on the machine itself, not of a folder")]
    OnlyRunning(&'static str),
    /// The system in the folder has apt, this one does not.
    #[error("this machine has no apt-cache to read the package lists with")]
    NoApt,
    /// The folder.
    #[error("{0}")]
    Folder(std::io::Error),
    /// It failed.
    #[error(transparent)]
    Command(CommandError),
}

/// Asks the package manager. Nothing is fetched and nothing changes.
pub fn list(root: &Root) -> Result<Listed, ListError> {
    let facts = Facts::gather(root);
    let release = if root.is_live() { facts.kernel.release.clone() } else { String::new() };
    let system = system::System::detect(root);
    let (manager, mut packages) = match apt::is_there(root) {
        true => ("apt", apt::list(root, &release)?),
        false => others::list(root)?,
    };
    packages.sort_by_key(|package| !package.running);
    Ok(Listed {
        notes: system.notes(&packages, manager),
        system: facts.kernel.system.clone(),
        manager: manager.into(),
        running_is_real_time: root.is_live() && facts.kernel.preemption == Preemption::Rt,
        running: release,
        packages,
    })
}
