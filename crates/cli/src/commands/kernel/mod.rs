//! `ontick kernel …`

mod build;
mod check;
mod config_flags;
mod configure;
mod errors;
mod evaluate;
mod install;
mod keep;
mod list;
mod progress;
mod rollback;
mod uses;

use clap::Subcommand;

use crate::failure::{Failure, Outcome};
use crate::lazily::Lazily;

/// Check, find, build and install real-time kernels, with a way back.
#[derive(Subcommand)]
pub enum Kernel {
    Check(Lazily<check::Check>),
    List(Lazily<list::List>),
    Configure(Lazily<configure::Configure>),
    Build(Lazily<build::Build>),
    Install(Lazily<install::Install>),
    Keep(Lazily<keep::Keep>),
    Rollback(Lazily<rollback::Rollback>),
    Evaluate(Lazily<evaluate::Evaluate>),
}

impl Kernel {
    /// Whether it measures, which tracing that a killed run left behind would slow down.
    pub fn meets_the_machine(&self) -> bool {
        matches!(self, Kernel::Evaluate(_))
    }

    pub fn run(self) -> Result<Outcome, Failure> {
        match self {
            Kernel::Check(Lazily(check)) => check.run(),
            Kernel::List(Lazily(list)) => list.run(),
            Kernel::Configure(Lazily(configure)) => configure.run(),
            Kernel::Build(Lazily(build)) => build.run(),
            Kernel::Install(Lazily(install)) => install.run(),
            Kernel::Keep(Lazily(keep)) => keep.run(),
            Kernel::Rollback(Lazily(rollback)) => rollback.run(),
            Kernel::Evaluate(Lazily(evaluate)) => evaluate.run(),
        }
    }
}
