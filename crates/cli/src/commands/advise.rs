//! `ontick advise`

use std::path::{Path, PathBuf};

use clap::Args;
use ontick_record::store;
use ontick_report::advice::{self, Evidence, PulseRequest};

use crate::failure::{Failure, Outcome};
use crate::{flags, terminal};

/// Which mechanism makes pulses exactly enough? The answer rests on what the sources measured on boards, and on records of
/// `ontick pulse`.
///
/// Exit status 1 if nothing that was measured keeps every pulse within the error.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  ontick advise --width 100us --within 5us\n  sudo ontick pulse --width 100us --method all --record here.json\n  ontick advise --width 100us --within 5us here.json"
)]
pub struct Advise {
    /// How wide the pulses should be
    #[arg(long, value_name = "TIME", value_parser = flags::time)]
    width: u64,
    /// How much too wide or too narrow each pulse may be
    #[arg(long, value_name = "TIME", value_parser = flags::time)]
    within: u64,
    /// Print the rows that the answer rests on as JSON
    #[arg(long)]
    json: bool,
    /// Records of ontick pulse
    #[arg(value_name = "RECORD")]
    records: Vec<PathBuf>,
}

impl Advise {
    pub fn run(self) -> Result<Outcome, Failure> {
        let asked = PulseRequest { width_ns: self.width, within_ns: self.within };
        let mut evidence = advice::of_sources(asked);
        for file in &self.records {
            evidence.extend(self.of_record(file, asked)?);
        }
        match self.json {
            true => terminal::print(&(serde_json::to_string_pretty(&evidence)? + "\n"))?,
            false => terminal::print(&advice::text(&evidence, asked, &terminal::style()))?,
        }
        Ok(if advice::is_kept(&evidence, asked) { Outcome::Met } else { Outcome::NotMet })
    }

    fn of_record(&self, file: &Path, asked: PulseRequest) -> Result<Vec<Evidence>, Failure> {
        let name = file.display().to_string();
        let found = advice::of_run(&name, &store::read_any(file)?, asked);
        if found.is_empty() {
            return Err(Failure::new(format!(
                "{name} has no pulses of about this width: measure them (ontick pulse --width … --record FILE)"
            )));
        }
        Ok(found)
    }
}
