//! `ontick network time …`

mod asker;
mod changes;
mod condition;
mod config;
mod look;
mod node_flag;
mod on_loss;
mod report;
mod run;
mod sentences;
mod shown;
mod status;
mod status_text;
mod status_view;
mod status_watch;

use clap::Subcommand;

use crate::failure::{Failure, Outcome};
use crate::lazily::Lazily;

/// Keep one time on the nodes of a network, by PTP (linuxptp).
///
/// The network's file says how, in its section [time].
#[derive(Subcommand)]
pub enum Time {
    Config(Lazily<config::Config>),
    Run(Lazily<run::Run>),
    Status(Lazily<status::Status>),
}

impl Time {
    pub fn run(self) -> Result<Outcome, Failure> {
        match self {
            Time::Config(Lazily(config)) => config.run(),
            Time::Run(Lazily(run)) => run.run(),
            Time::Status(Lazily(status)) => status.run(),
        }
    }
}
