//! `ontick switch …`

mod apply;
pub(super) mod background;
mod calibrate;
mod causes;
mod check;
mod confirm;
pub(super) mod daemon;
mod data_path;
mod demo;
mod explaining;
mod export;
pub(super) mod file;
mod forwarding;
mod gates;
mod guardian;
mod import;
pub mod judging;
pub(super) mod measured;
mod netconf;
pub(super) mod plan;
mod proving;
pub(super) mod release;
pub(super) mod revert;
mod run;
pub(super) mod status;
mod status_user;
mod streams;
mod synchronised;
pub(super) mod target_flags;
pub(super) mod together;
mod unit;
mod verify;
mod watched;

use clap::Subcommand;

pub use target_flags::abandoned;
pub use watched::watched;

use crate::failure::{Failure, Outcome};
use crate::lazily::Lazily;

/// Make a time-aware switch (IEEE 802.1Q, enhancements for scheduled traffic) of this machine's network ports.
#[derive(Subcommand)]
pub enum Switch {
    Check(Lazily<check::Check>),
    Calibrate(Lazily<calibrate::Calibrate>),
    Plan(Lazily<plan::PlanCommand>),
    Apply(Lazily<apply::Apply>),
    Confirm(Lazily<confirm::Confirm>),
    Revert(Lazily<revert::Revert>),
    Status(Lazily<status::Status>),
    Run(Lazily<run::Run>),
    Unit(Lazily<unit::Unit>),
    Demo(Lazily<demo::Demo>),
    Verify(Lazily<verify::Verify>),
    Export(Lazily<export::Export>),
    Import(Lazily<import::Import>),
    Netconf(Lazily<netconf::Netconf>),
}

impl Switch {
    /// Whether it has to do with the running machine, not with files alone.
    pub fn meets_the_machine(&self) -> bool {
        match self {
            Switch::Check(_)
            | Switch::Apply(_)
            | Switch::Confirm(_)
            | Switch::Revert(_)
            | Switch::Status(_)
            | Switch::Run(_) => true,
            Switch::Plan(Lazily(plan)) => plan.meets_the_machine(),
            Switch::Calibrate(_) | Switch::Demo(_) | Switch::Verify(_) | Switch::Netconf(_) => true,
            Switch::Unit(_) | Switch::Export(_) | Switch::Import(_) => false,
        }
    }

    pub fn run(self) -> Result<Outcome, Failure> {
        match self {
            Switch::Check(Lazily(check)) => check.run(),
            Switch::Calibrate(Lazily(calibrate)) => calibrate.run(),
            Switch::Plan(Lazily(plan)) => plan.run(),
            Switch::Apply(Lazily(apply)) => apply.run(),
            Switch::Confirm(Lazily(confirm)) => confirm.run(),
            Switch::Revert(Lazily(revert)) => revert.run(),
            Switch::Status(Lazily(status)) => status.run(),
            Switch::Run(Lazily(run)) => run.run(),
            Switch::Unit(Lazily(unit)) => unit.run(),
            Switch::Demo(Lazily(demo)) => demo.run(),
            Switch::Verify(Lazily(verify)) => verify.run(),
            Switch::Export(Lazily(export)) => export.run(),
            Switch::Import(Lazily(import)) => import.run(),
            Switch::Netconf(Lazily(netconf)) => netconf.run(),
        }
    }
}
