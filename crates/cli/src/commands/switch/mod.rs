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

/// Make a time-aware switch (IEEE 802.1Q, enhancements for scheduled traffic) of this machine's network ports.
#[derive(Subcommand)]
pub enum Switch {
    Check(check::Check),
    Calibrate(calibrate::Calibrate),
    Plan(plan::PlanCommand),
    Apply(apply::Apply),
    Confirm(confirm::Confirm),
    Revert(revert::Revert),
    Status(status::Status),
    Run(run::Run),
    Unit(unit::Unit),
    Demo(demo::Demo),
    Verify(verify::Verify),
    Export(export::Export),
    Import(import::Import),
    Netconf(netconf::Netconf),
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
            Switch::Plan(plan) => plan.meets_the_machine(),
            Switch::Calibrate(_) | Switch::Demo(_) | Switch::Verify(_) | Switch::Netconf(_) => true,
            Switch::Unit(_) | Switch::Export(_) | Switch::Import(_) => false,
        }
    }

    pub fn run(self) -> Result<Outcome, Failure> {
        match self {
            Switch::Check(check) => check.run(),
            Switch::Calibrate(calibrate) => calibrate.run(),
            Switch::Plan(plan) => plan.run(),
            Switch::Apply(apply) => apply.run(),
            Switch::Confirm(confirm) => confirm.run(),
            Switch::Revert(revert) => revert.run(),
            Switch::Status(status) => status.run(),
            Switch::Run(run) => run.run(),
            Switch::Unit(unit) => unit.run(),
            Switch::Demo(demo) => demo.run(),
            Switch::Verify(verify) => verify.run(),
            Switch::Export(export) => export.run(),
            Switch::Import(import) => import.run(),
            Switch::Netconf(netconf) => netconf.run(),
        }
    }
}
