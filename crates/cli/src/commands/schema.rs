//! `ontick schema`

use clap::{Args, ValueEnum};
use ontick_record::Run;
use ontick_tsn::{config, network, planning};

use crate::failure::{Failure, Outcome};
use crate::terminal;

/// Print the JSON Schema of the records that ontick writes, or of the files that it reads.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  ontick schema > ontick-run.schema.json\n  ontick schema switch > ontick-switch.schema.json"
)]
pub struct Schema {
    /// Of what
    #[arg(value_enum, default_value = "run")]
    of: Of,
}

#[derive(Clone, Copy, ValueEnum)]
enum Of {
    /// Records: what --record and --json write
    Run,
    /// The file that describes a switch
    Switch,
    /// The file that describes a network and its streams
    Network,
    /// Plans: what `network plan --out` writes
    Plan,
}

impl Schema {
    pub fn run(self) -> Result<Outcome, Failure> {
        let schema = match self.of {
            Of::Run => Run::schema(),
            Of::Switch => config::schema(),
            Of::Network => network::schema(),
            Of::Plan => planning::Document::schema(),
        };
        terminal::print(&(serde_json::to_string_pretty(&schema)? + "\n"))?;
        Ok(Outcome::Met)
    }
}
