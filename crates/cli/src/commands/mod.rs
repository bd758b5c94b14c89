//! One file for each command.

mod compare;
mod import;
mod latency;
mod prove;
mod report;
mod run;
mod schema;

use clap::Subcommand;

use crate::failure::{Failure, Outcome};

/// The command tree.
#[derive(Subcommand)]
pub enum Command {
    Prove(prove::Prove),
    #[command(subcommand)]
    Latency(latency::Latency),
    Report(report::Report),
    Compare(compare::Compare),
    Import(import::Import),
    Schema(schema::Schema),
}

impl Command {
    pub fn run(self) -> Result<Outcome, Failure> {
        match self {
            Command::Prove(prove) => prove.run(),
            Command::Latency(latency) => latency.run(),
            Command::Report(report) => report.run(),
            Command::Compare(compare) => compare.run(),
            Command::Import(import) => import.run(),
            Command::Schema(schema) => schema.run(),
        }
    }
}
