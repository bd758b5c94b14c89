//! `ontick network plan`: schedules for a whole network.

mod delivered;
mod pictures;
mod schedule;
mod summary;

use std::path::PathBuf;

use clap::Args;

use super::network_flags::NetworkFlags;
use crate::failure::{Failure, Outcome};

pub use delivered::{read_plan, tsnkit_names};

/// Compute the gates of all switches of a network from its streams.
///
/// The file has switches, stations, links and streams. The plan says when each message is on which link, so that every
/// message arrives before its deadline, and the gates that follow; or why there is no such schedule.
///
/// Exit status: 0 planned, 1 there is no such schedule or none was found, 2 planning was not possible.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  ontick network plan network.toml --out plan.json --nodes nodes \\\n      --picture plan.svg\n  ontick network plan network.toml --target user\n  ontick network plan --task task.csv --topo topo.csv --tsnkit results/cell"
)]
pub struct PlanCommand {
    /// The file that describes the network with its streams
    #[arg(required_unless_present = "task", conflicts_with = "task")]
    file: Option<PathBuf>,
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
        self.schedule.run(self.network.read(self.file.as_ref())?, self.json)
    }
}
