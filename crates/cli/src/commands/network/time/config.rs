//! `ontick network time config`

use std::path::PathBuf;

use clap::Args;
use ontick_record::{output_file, store};

use super::node_flag::NodeFlag;
use crate::failure::{Failure, Outcome};
use crate::terminal;

/// Write the files by which linuxptp keeps a node in time.
///
/// They are ptp4l.conf, phc2sys.conf where network cards have clocks, and ts2phc.conf of a grandmaster that has its time by
/// a pulse each second. The interfaces are those of the node in the network's file.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  ontick network time config network.toml --node s1 --out /etc/linuxptp\n  ontick network time config network.toml --node camera --time-stamping software"
)]
pub struct Config {
    #[command(flatten)]
    node: NodeFlag,
    /// Write the files into this folder, in place of standard output
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

impl Config {
    pub fn run(self) -> Result<Outcome, Failure> {
        let node = self.node.find()?;
        let stamping = self.node.stamping_anywhere(&node)?;
        node.check_pulse(&stamping)?;
        let files = [
            ("ptp4l.conf", Some(node.ptp4l(&stamping))),
            ("phc2sys.conf", node.phc2sys(&stamping)),
            ("ts2phc.conf", node.ts2phc().map(|(file, _)| file)),
        ];
        let files = files.into_iter().filter_map(|(name, text)| Some((name, text?)));
        match &self.out {
            None => terminal::print(&files.map(|(_, text)| text).collect::<Vec<_>>().join("\n"))?,
            Some(folder) => {
                let cannot = |why| Failure::new(format!("{}: {why}", folder.display()));
                output_file::make_folder(folder).map_err(cannot)?;
                for (name, text) in files {
                    store::write_whole(&folder.join(name), text.as_bytes())?;
                }
            }
        }
        Ok(Outcome::Met)
    }
}
