//! `ontick network time status`

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use ontick_network::ptp::SocketDir;

use super::asker::Asker;
use super::look::Look;
use super::node_flag::NodeName;
use super::{status_text, status_watch};
use crate::commands::switch::target_flags::StateFlag;
use crate::failure::{Failure, Outcome};
use crate::{flags, terminal};

/// Oftener there is hardly anything new, and ptp4l has other work.
const SHORTEST_NS: u64 = 100_000_000;

/// Show a node's time: its role, its grandmaster, its offset, and whether the time is good.
///
/// ptp4l itself is asked: the one that `network time run` runs for the node, or that of another program, by --socket. For how
/// long the time has been good or not, and what gates do, is known from `network time run`, while that is there.
///
/// --watch asks again and again, and says what changes: a grandmaster that is lost, comes back or is another one, a ptp4l
/// that does not answer any more. That is waited for.
///
/// Exit status: 0 the node has the network's time, within `offset-bound` if the file has one; 1 it has not; 2 nobody can be
/// asked. With --watch it is that of the last look, and 1 if nobody answered then.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  sudo ontick network time status network.toml --node s1\n  sudo ontick network time status network.toml --node camera \\\n      --socket /var/run/ptp4l --json\n  sudo ontick network time status network.toml --node s1 --watch"
)]
pub struct Status {
    #[command(flatten)]
    node: NodeName,
    /// The management socket of a ptp4l that another program runs (its `uds_address`)
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// Show it again and again, until Ctrl-C: on the whole screen, or as lines where the output is no terminal that can be
    /// rewritten
    #[arg(long)]
    watch: bool,
    /// With --watch, the time from one look to the next, 100ms at least
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = interval, requires = "watch")]
    interval: u64,
    /// Print JSON; with --watch, a document a line
    #[arg(long)]
    json: bool,
    /// The folder for ptp4l's sockets
    #[arg(long, value_name = "DIR", hide = true)]
    sockets: Option<PathBuf>,
    #[command(flatten)]
    state: StateFlag,
}

fn interval(text: &str) -> Result<u64, String> {
    match flags::duration(text)? {
        short if short < SHORTEST_NS => Err("ptp4l is asked each 100ms at most".into()),
        ns => Ok(ns),
    }
}

impl Status {
    pub fn run(self) -> Result<Outcome, Failure> {
        let node = self.node.find()?;
        let home = self.state.state.as_deref();
        let mut asker = Asker {
            node: &node,
            file: self.node.file(),
            socket: self.socket.as_deref(),
            sockets: SocketDir::new(self.sockets.as_deref()),
            open: None,
            answered: false,
        };
        if self.watch {
            return status_watch::watch(asker, home, Duration::from_nanos(self.interval), self.json);
        }
        let status = Look::new(&node, asker.ask()?, home).status(Vec::new());
        match self.json {
            true => terminal::print(&(serde_json::to_string_pretty(&status)? + "\n"))?,
            false => {
                let text = status_text::text(&status);
                terminal::print(&ontick_report::text::fitted(&text, &terminal::style()))?;
            }
        }
        Ok(if status.good { Outcome::Met } else { Outcome::NotMet })
    }
}
