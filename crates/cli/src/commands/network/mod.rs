//! `ontick network …`

mod applied_flags;
mod apply;
mod base_time;
mod check;
mod confirm;
mod generate;
mod listen;
mod network_flags;
mod node_flags;
mod plan;
mod planned;
mod prove;
mod proven;
mod revert;
mod show;
mod station_flags;
mod status;
mod talk;
mod time;
mod timing_flags;
mod validate;

use std::path::Path;

use clap::Subcommand;
use ontick_switch::files::{self, FileError};
use ontick_tsn::network::Network as Model;

use crate::failure::{Failure, Outcome};

/// Plan a network of time-aware switches and its streams, validate the plan, prove each stream, and be one of its switches
/// or stations.
#[derive(Subcommand)]
pub enum Network {
    Plan(plan::PlanCommand),
    Validate(validate::Validate),
    Prove(prove::Prove),
    Show(show::Show),
    Generate(generate::Generate),
    Check(check::Check),
    Apply(apply::Apply),
    Confirm(confirm::Confirm),
    Status(status::Status),
    Revert(revert::Revert),
    BaseTime(base_time::BaseTime),
    Talk(talk::Talk),
    Listen(listen::Listen),
    #[command(subcommand)]
    Time(time::Time),
}

impl Network {
    pub fn run(self) -> Result<Outcome, Failure> {
        match self {
            Network::Plan(plan) => plan.run(),
            Network::Validate(validate) => validate.run(),
            Network::Prove(prove) => prove.run(),
            Network::Show(show) => show.run(),
            Network::Generate(generate) => generate.run(),
            Network::Check(check) => check.run(),
            Network::Apply(apply) => apply.run(),
            Network::Confirm(confirm) => confirm.run(),
            Network::Status(status) => status.run(),
            Network::Revert(revert) => revert.run(),
            Network::BaseTime(base_time) => base_time.run(),
            Network::Talk(talk) => talk.run(),
            Network::Listen(listen) => listen.run(),
            Network::Time(time) => time.run(),
        }
    }
}

/// Reads the file that describes a network.
fn read(file: &Path) -> Result<Model, Failure> {
    // A pipe can be read only once.
    let is_switch = || file.is_file() && files::switch(file).is_ok();
    files::network(file).map_err(|error| match error {
        FileError::Wrong { .. } if is_switch() => Failure::new(format!(
            "{} describes a switch, not a network: `ontick switch plan {0}` shows how it would be set up",
            file.display()
        )),
        FileError::Wrong { .. } => Failure::list(error),
        other => Failure::new(other),
    })
}
