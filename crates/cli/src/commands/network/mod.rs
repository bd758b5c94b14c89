//! `ontick network …`

mod network_flags;
mod plan;
mod prove;
mod show;
mod timing_flags;
mod validate;

use std::path::Path;

use clap::Subcommand;

use crate::failure::{Failure, Outcome};

/// Plan a network of time-aware switches and its streams, validate the plan, and prove each stream.
#[derive(Subcommand)]
pub enum Network {
    Plan(plan::PlanCommand),
    Validate(validate::Validate),
    Prove(prove::Prove),
    Show(show::Show),
}

impl Network {
    pub fn run(self) -> Result<Outcome, Failure> {
        match self {
            Network::Plan(plan) => plan.run(),
            Network::Validate(validate) => validate.run(),
            Network::Prove(prove) => prove.run(),
            Network::Show(show) => show.run(),
        }
    }
}

/// A file that describes a switch is no network; what cannot be read is reported by its reader.
fn refuse_switch(file: &Path) -> Result<(), Failure> {
    let is_switch = std::fs::read_to_string(file)
        .is_ok_and(|text| !ontick_tsn::network::is_meant(&text) && ontick_tsn::config::read(&text).is_ok());
    match is_switch {
        true => Err(Failure::new(format!(
            "{} describes a switch, not a network: `ontick switch plan {0}` shows how it would be set up",
            file.display()
        ))),
        false => Ok(()),
    }
}
