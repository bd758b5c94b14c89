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

/// Check, find, build and install real-time kernels, with a way back.
#[derive(Subcommand)]
pub enum Kernel {
    Check(check::Check),
    List(list::List),
    Configure(configure::Configure),
    Build(build::Build),
    Install(install::Install),
    Keep(keep::Keep),
    Rollback(rollback::Rollback),
    Evaluate(evaluate::Evaluate),
}

impl Kernel {
    /// Whether it measures, which tracing that a killed run left behind would slow down.
    pub fn meets_the_machine(&self) -> bool {
        matches!(self, Kernel::Evaluate(_))
    }

    pub fn run(self) -> Result<Outcome, Failure> {
        match self {
            Kernel::Check(check) => check.run(),
            Kernel::List(list) => list.run(),
            Kernel::Configure(configure) => configure.run(),
            Kernel::Build(build) => build.run(),
            Kernel::Install(install) => install.run(),
            Kernel::Keep(keep) => keep.run(),
            Kernel::Rollback(rollback) => rollback.run(),
            Kernel::Evaluate(evaluate) => evaluate.run(),
        }
    }
}
