//! `ontick switch plan`: what setting a switch up would do, or schedules for a whole network.

mod delivered;
mod elsewhere;
mod pictures;
mod schedule;
mod setup;
mod summary;

use std::path::{Path, PathBuf};

use clap::Args;

use super::network_flags::NetworkFlags;
use super::target_flags::{FileFlags, PlaneFlag, StateFlag};
use crate::failure::{Failure, Outcome};

pub use delivered::read_plan;

/// Print what `apply` would do; or compute the gates of all switches of a network from its streams.
///
/// With the file of a switch, prints the commands that `apply` would run; nothing is changed. With
/// --for-another-machine, those that it would run there, whatever this machine has.
///
/// With the file of a network (switches, stations, links, streams), computes when each message is on which link, so
/// that every message arrives before its deadline, and the gates that follow; or says why there is no such schedule.
///
/// Exit status: 0 planned, 1 there is no such schedule or none was found, 2 planning was not possible.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  sudo ontick switch plan cell4.toml\n  ontick switch plan cell4.toml --for-another-machine \\\n      --kernel-version 6.12 --driver igc --queues 4\n  ontick switch plan network.toml --out plan.json --nodes nodes \\\n      --picture plan.svg\n  ontick switch plan --task task.csv --topo topo.csv --tsnkit results/cell"
)]
pub struct PlanCommand {
    /// The file that describes a switch, or a network with its streams
    #[arg(required_unless_present = "task", conflicts_with = "task")]
    file: Option<PathBuf>,
    /// The data plane, overriding the file (of a switch)
    #[arg(long, value_enum)]
    plane: Option<PlaneFlag>,
    #[command(flatten)]
    state: StateFlag,
    #[command(flatten)]
    elsewhere: elsewhere::ElsewhereFlags,
    #[command(flatten)]
    network: NetworkFlags,
    #[command(flatten)]
    schedule: schedule::ScheduleFlags,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl PlanCommand {
    pub fn run(self) -> Result<Outcome, Failure> {
        match &self.file {
            Some(file) if !is_network(file) && self.elsewhere.for_another_machine => {
                self.elsewhere.run(file, self.plane, self.json)
            }
            Some(file) if !is_network(file) => {
                let flags = FileFlags { file: file.clone(), plane: self.plane, state: self.state };
                setup::run(&flags, self.schedule.timing.calibration.read()?.as_ref(), self.json)
            }
            _ if self.elsewhere.for_another_machine => Err(Failure::new(
                "--for-another-machine is for the file of a switch: a network is planned for its own switches in any case",
            )),
            file => self.schedule.run(&self.network.read(file.as_ref())?, self.json),
        }
    }

    /// Whether it is about the running machine.
    pub fn meets_the_machine(&self) -> bool {
        !self.elsewhere.for_another_machine && self.file.as_ref().is_some_and(|file| !is_network(file))
    }
}

/// What cannot be read is reported by its reader.
fn is_network(file: &Path) -> bool {
    std::fs::read_to_string(file).is_ok_and(|text| ontick_tsn::network::is_meant(&text))
}
