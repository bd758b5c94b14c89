//! `ontick schema`

use crate::failure::{Failure, Outcome};
use crate::terminal;
use clap::{Args, ValueEnum};

/// Print the JSON Schema of the records and documents that ontick writes, or of the files that it reads.
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
    /// What `inspect --record` and `inspect --json` write
    Inspect,
    /// The file that describes a switch
    Switch,
    /// The file that describes a network and its streams
    Network,
    /// Plans: what `network plan --out` writes
    Plan,
    /// What `network time status --json` writes
    NetworkTime,
    /// What `network check --json` writes
    NetworkCheck,
}

impl Schema {
    pub fn run(self) -> Result<Outcome, Failure> {
        terminal::print(self.of.text())?;
        Ok(Outcome::Met)
    }
}

impl Of {
    /// The schema, made of the types when they change: to make it in the program would cost ten times its text.
    fn text(self) -> &'static str {
        match self {
            Of::Run => include_str!("../../schemas/ontick-run.schema.json"),
            Of::Inspect => include_str!("../../schemas/ontick-inspect.schema.json"),
            Of::Switch => include_str!("../../schemas/ontick-switch.schema.json"),
            Of::Network => include_str!("../../schemas/ontick-network.schema.json"),
            Of::NetworkTime => include_str!("../../schemas/ontick-network-time.schema.json"),
            Of::NetworkCheck => include_str!("../../schemas/ontick-network-check.schema.json"),
            Of::Plan => include_str!("../../schemas/ontick-plan.schema.json"),
        }
    }
}

#[cfg(test)]
mod tests {
    use ontick_record::inspection::Inspection;
    use ontick_record::{NetworkCheck, Run, TimeStatus};
    use ontick_tsn::{config, network, planning};

    use super::*;

    /// `ONTICK_WRITE_SCHEMAS=1 cargo test -p ontick --lib schema` writes them anew.
    #[test]
    fn each_schema_is_that_of_its_type() {
        for (of, schema) in [
            (Of::Run, Run::schema()),
            (Of::Inspect, Inspection::schema()),
            (Of::Switch, config::schema()),
            (Of::Network, network::schema()),
            (Of::NetworkTime, TimeStatus::schema()),
            (Of::NetworkCheck, NetworkCheck::schema()),
            (Of::Plan, planning::Document::schema()),
        ] {
            let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
            let name = of.to_possible_value().unwrap().get_name().to_owned();
            let file = format!("{}/schemas/ontick-{name}.schema.json", env!("CARGO_MANIFEST_DIR"));
            if std::env::var_os("ONTICK_WRITE_SCHEMAS").is_some() {
                std::fs::write(&file, &text).unwrap();
            } else {
                assert!(of.text() == text, "{file} is not what the types say: ONTICK_WRITE_SCHEMAS=1 makes it anew");
            }
        }
    }
}
