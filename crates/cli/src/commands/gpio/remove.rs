//! `ontick gpio remove`

use clap::Args;
use ontick_gpio::list::ChipName;
use ontick_gpio::{Backend, sim};
use serde::Serialize;

use super::render;
use crate::failure::{Failure, Outcome};

/// Remove a simulated chip with its wires; the next use creates it again.
#[derive(Args)]
#[command(after_help = "Example:\n  ontick gpio remove sim:bench")]
pub struct Remove {
    /// The chip
    #[arg(value_name = "sim:CHIP")]
    chip: ChipName,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Removed {
    chip: String,
    backend: &'static str,
}

impl Remove {
    pub fn run(self) -> Result<Outcome, Failure> {
        let ChipName::Sim(chip) = &self.chip else {
            return Err(Failure::new(format!("{} is a real chip: only simulated ones can be removed", self.chip)));
        };
        sim::remove(chip)?;
        if self.json {
            render::document(&Removed { chip: self.chip.to_string(), backend: Backend::Simulated.name() })?;
        }
        Ok(Outcome::Met)
    }
}
