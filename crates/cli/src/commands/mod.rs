//! One file for each command.

mod check;
mod compare;
mod import;
mod latency;
mod measuring;
mod ownership;
mod prove;
mod pulse;
mod report;
mod run;
mod schema;
mod tune;
mod tuned;

use clap::Subcommand;

use crate::failure::{Failure, Outcome};

/// The command tree.
#[derive(Subcommand)]
pub enum Command {
    Check(check::Check),
    #[command(subcommand)]
    Tune(tune::Tune),
    Run(run::Run),
    Prove(prove::Prove),
    #[command(subcommand)]
    Latency(latency::Latency),
    Pulse(pulse::Pulse),
    Report(report::Report),
    Compare(compare::Compare),
    Import(import::Import),
    Schema(schema::Schema),
}

impl Command {
    pub fn run(self) -> Result<Outcome, Failure> {
        match self {
            Command::Check(check) => check.run(),
            Command::Tune(tune) => tune.run(),
            Command::Run(run) => run.run(),
            Command::Prove(prove) => prove.run(),
            Command::Latency(latency) => latency.run(),
            Command::Pulse(pulse) => pulse.run(),
            Command::Report(report) => report.run(),
            Command::Compare(compare) => compare.run(),
            Command::Import(import) => import.run(),
            Command::Schema(schema) => schema.run(),
        }
    }
}
