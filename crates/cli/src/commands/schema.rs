//! `ontick schema`

use clap::Args;
use ontick_record::Run;

use crate::failure::{Failure, Outcome};
use crate::terminal;

/// Print the JSON Schema of the records that ontick writes.
#[derive(Args)]
#[command(after_help = "Example:\n  ontick schema > ontick-run.schema.json")]
pub struct Schema {}

impl Schema {
    pub fn run(self) -> Result<Outcome, Failure> {
        let text = serde_json::to_string_pretty(&Run::schema())?;
        terminal::print(&format!("{text}\n"))?;
        Ok(Outcome::Met)
    }
}
