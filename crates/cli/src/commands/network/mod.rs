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
use crate::lazily::Lazily;

/// Plan a network of time-aware switches and its streams, validate the plan, prove each stream, and be one of its switches
/// or stations.
#[derive(Subcommand)]
pub enum Network {
    Plan(Lazily<plan::PlanCommand>),
    Validate(Lazily<validate::Validate>),
    Prove(Lazily<prove::Prove>),
    Show(Lazily<show::Show>),
    Generate(Lazily<generate::Generate>),
    Check(Lazily<check::Check>),
    Apply(Lazily<apply::Apply>),
    Confirm(Lazily<confirm::Confirm>),
    Status(Lazily<status::Status>),
    Revert(Lazily<revert::Revert>),
    BaseTime(Lazily<base_time::BaseTime>),
    Talk(Lazily<talk::Talk>),
    Listen(Lazily<listen::Listen>),
    #[command(subcommand)]
    Time(Lazily<time::Time>),
}

impl Network {
    pub fn run(self) -> Result<Outcome, Failure> {
        match self {
            Network::Plan(Lazily(plan)) => plan.run(),
            Network::Validate(Lazily(validate)) => validate.run(),
            Network::Prove(Lazily(prove)) => prove.run(),
            Network::Show(Lazily(show)) => show.run(),
            Network::Generate(Lazily(generate)) => generate.run(),
            Network::Check(Lazily(check)) => check.run(),
            Network::Apply(Lazily(apply)) => apply.run(),
            Network::Confirm(Lazily(confirm)) => confirm.run(),
            Network::Status(Lazily(status)) => status.run(),
            Network::Revert(Lazily(revert)) => revert.run(),
            Network::BaseTime(Lazily(base_time)) => base_time.run(),
            Network::Talk(Lazily(talk)) => talk.run(),
            Network::Listen(Lazily(listen)) => listen.run(),
            Network::Time(Lazily(time)) => time.run(),
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
