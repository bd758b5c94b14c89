//! Which node of which network, and what stamps its messages.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use ontick_network::ptp::{self, Node, NodeError, Stamping, StampingError};

use crate::failure::Failure;

/// Names that are listed in a sentence.
const EACH: usize = 8;

#[derive(Args)]
pub struct NodeName {
    /// The file that describes the network
    file: PathBuf,
    /// The node of the network that this machine is: a switch or a station
    #[arg(long = "node", value_name = "NAME")]
    name: String,
}

#[derive(Args)]
pub struct NodeFlag {
    #[command(flatten)]
    node: NodeName,
    /// What stamps PTP's messages [default: hardware if all of the node's interfaces can, else software]
    #[arg(long, value_enum, value_name = "BY")]
    time_stamping: Option<TimeStamping>,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum TimeStamping {
    /// The clocks of the network cards
    Hardware,
    /// The drivers, by the system's clock
    Software,
}

impl NodeName {
    /// The node.
    pub fn find(&self) -> Result<Node, Failure> {
        let network = super::super::read(&self.file)?;
        Node::find(&network, &self.name).map_err(|error| match error {
            NodeError::NoNode(_) => {
                let names: Vec<&str> = network.nodes.iter().map(|node| node.name.as_str()).collect();
                let more = names.len().saturating_sub(EACH);
                let listed = names[..names.len() - more].join(", ");
                Failure::new(match more {
                    0 => format!("{error}; its nodes are {listed}"),
                    _ => format!("{error}; its nodes are {listed} and {more} more"),
                })
            }
            other => Failure::new(format!("{}: {other}", self.file.display())),
        })
    }

    /// The file, as it was named.
    pub fn file(&self) -> &Path {
        &self.file
    }
}

impl NodeFlag {
    /// The node.
    pub fn find(&self) -> Result<Node, Failure> {
        self.node.find()
    }

    /// What stamps a node's messages on this machine: what is asked for, if its interfaces can.
    pub fn stamping_here(&self, node: &Node) -> Result<Stamping, Failure> {
        match (ptp::stamping(&node.interfaces)?, self.time_stamping) {
            (Stamping::Software(by), Some(TimeStamping::Hardware)) => Err(Failure::new(format!(
                "{} has no clock that stamps frames: leave --time-stamping out, or say software",
                by.join(", ")
            ))),
            (_, Some(TimeStamping::Software)) => Ok(Stamping::Software(Vec::new())),
            (stamping, _) => Ok(stamping),
        }
    }

    /// As above; what is asked for is believed where the node is another machine.
    pub fn stamping_anywhere(&self, node: &Node) -> Result<Stamping, Failure> {
        match (self.stamping_here(node), self.time_stamping) {
            (Ok(stamping), _) => Ok(stamping),
            (Err(_), Some(TimeStamping::Hardware)) => Ok(Stamping::Hardware(Vec::new())),
            (Err(_), Some(TimeStamping::Software)) => Ok(Stamping::Software(Vec::new())),
            (Err(why), None) => Err(match ptp::stamping(&node.interfaces) {
                Err(StampingError::Missing(_)) => Failure::new(format!(
                    "{why}: write the files of node {} there, or say what stamps its frames (--time-stamping hardware, \
                     or software)",
                    node.name
                )),
                _ => why,
            }),
        }
    }
}
