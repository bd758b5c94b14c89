//! Which switches a command is about that are set up already.

use std::path::PathBuf;

use clap::Args;
use ontick_switch::apply::{Journal, SwitchDir};

use super::network_flags::NetworkFlags;
use super::node_flags::{Node, NodeFlags};
use crate::commands::switch::target_flags::StateFlag;
use crate::failure::Failure;

#[derive(Args)]
pub struct AppliedFlags {
    /// The file that describes the network
    #[arg(required_unless_present = "task", conflicts_with = "task")]
    file: Option<PathBuf>,
    #[command(flatten)]
    network: NetworkFlags,
    #[command(flatten)]
    nodes: NodeFlags,
    #[command(flatten)]
    state: StateFlag,
}

impl AppliedFlags {
    /// Those of the network of which something is set up on this machine, in the order of its file.
    pub fn find(&self) -> Result<Vec<(Node, SwitchDir, Journal)>, Failure> {
        self.state.check()?;
        self.nodes.applied(&self.network.read(self.file.as_ref())?, &self.state)
    }
}
