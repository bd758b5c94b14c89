//! `ontick switch plan`: what setting a switch up would do.

mod elsewhere;
pub mod setup;

use std::path::Path;

use clap::Args;
use ontick_switch::files;

use super::measured::CalibrationFlag;
use super::target_flags::FileFlags;
use crate::failure::{Failure, Outcome};

/// Print what `apply` would do; nothing is changed.
///
/// With --for-another-machine, prints the commands that `apply` would run there, whatever this machine has.
///
/// Exit status: 0 planned, 2 planning was not possible.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  sudo ontick switch plan cell4.toml\n  ontick switch plan cell4.toml --for-another-machine \\\n      --kernel-version 6.12 --driver igc --queues 4"
)]
pub struct PlanCommand {
    #[command(flatten)]
    file: FileFlags,
    #[command(flatten)]
    elsewhere: elsewhere::ElsewhereFlags,
    #[command(flatten)]
    calibration: CalibrationFlag,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl PlanCommand {
    pub fn run(self) -> Result<Outcome, Failure> {
        refuse_network(&self.file.file)?;
        match self.elsewhere.for_another_machine {
            true => self.elsewhere.run(&self.file.file, self.file.plane, self.json),
            false => setup::run(&self.file, self.calibration.read()?.as_ref(), self.json),
        }
    }

    /// Whether it is about the running machine.
    pub fn meets_the_machine(&self) -> bool {
        !self.elsewhere.for_another_machine
    }
}

/// No description of a network is longer.
const LARGEST: u64 = 64 << 20;

/// What cannot be read is reported by its reader, and a pipe can be read only once. Not everything in JSON is a network:
/// records are, too.
fn refuse_network(file: &Path) -> Result<(), Failure> {
    let is_meant = |text: String| match text.trim_start().starts_with('{') {
        true => files::network(file).is_ok(),
        false => ontick_tsn::network::is_meant(&text),
    };
    match file.is_file() && files::read_text(file, LARGEST, "").is_ok_and(is_meant) {
        true => Err(Failure::new(format!(
            "{} describes a network, not a switch: use `ontick network plan {0}`",
            file.display()
        ))),
        false => Ok(()),
    }
}
