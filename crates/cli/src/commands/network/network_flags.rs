//! Which network a command is about.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use ontick_switch::files;
use ontick_tsn::network::{Network, Overhead, tsnkit};

use crate::failure::Failure;

/// A file, or tsnkit's two tables.
#[derive(Args)]
pub struct NetworkFlags {
    /// The streams, in the form of tsnkit's task.csv (with --topo, in place of FILE)
    #[arg(long, value_name = "CSV", requires = "topo")]
    pub task: Option<PathBuf>,
    /// The links, in the form of tsnkit's topo.csv
    #[arg(long, value_name = "CSV", requires = "task")]
    topo: Option<PathBuf>,
    /// What a rate other than 1 means in topo.csv: nanoseconds for a bit, or gigabits per second
    #[arg(long, value_enum, requires = "topo")]
    rate_unit: Option<RateUnit>,
    /// Count a message's octets alone, as one frame, and nothing of what Ethernet adds
    #[arg(long)]
    payload_only: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum RateUnit {
    NsPerBit,
    Gbit,
}

impl NetworkFlags {
    /// The words that name it, for a command that is to be typed.
    pub fn words(&self, file: Option<&PathBuf>) -> Vec<String> {
        let path = |path: &PathBuf| path.display().to_string();
        let option = |name: &str, value: String| [name.to_owned(), value];
        let mut words: Vec<String> = file.map(path).into_iter().collect();
        words.extend(self.task.iter().flat_map(|task| option("--task", path(task))));
        words.extend(self.topo.iter().flat_map(|topo| option("--topo", path(topo))));
        let unit = self.rate_unit.and_then(|unit| unit.to_possible_value());
        words.extend(unit.iter().flat_map(|unit| option("--rate-unit", unit.get_name().into())));
        words.extend(self.payload_only.then(|| "--payload-only".into()));
        words
    }

    /// Reads it.
    pub fn read(&self, file: Option<&PathBuf>) -> Result<Network, Failure> {
        match (file, &self.task, &self.topo) {
            (Some(file), None, None) => {
                let mut network = super::read(file)?;
                if self.payload_only {
                    network.overhead = Overhead::PayloadOnly;
                }
                Ok(network)
            }
            (None, Some(task), Some(topo)) => {
                let unit = self.rate_unit.map(|unit| match unit {
                    RateUnit::NsPerBit => tsnkit::RateUnit::NsPerBit,
                    RateUnit::Gbit => tsnkit::RateUnit::Gbit,
                });
                let overhead = if self.payload_only { Overhead::PayloadOnly } else { Overhead::Wire };
                files::tsnkit_network(task, topo, unit, overhead).map_err(Failure::new)
            }
            _ => Err(Failure::new("name the file of a network, or --task and --topo (see --help)")),
        }
    }
}
