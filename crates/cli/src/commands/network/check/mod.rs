//! `ontick network check`

mod chosen;
mod text;

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use ontick_network::lldp::{AskError, Machine, ask, compare};
use ontick_switch::apply::{Live, links};

use crate::failure::{Failure, Outcome};
use crate::terminal;
use chosen::Chosen;

/// Compare who is at the other end of each cable with the network's file.
///
/// lldpd tells whom each port of this machine hears by LLDP (IEEE 802.1AB); lldpd or a switch's own LLDP has to run at the other
/// ends, too. Nothing is changed.
///
/// Exit status: 0 all cables are as planned; 1 one is not, or nobody is heard there; 2 lldpd cannot be asked, or the file has no
/// node that this machine is.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  sudo ontick network check network.toml\n  sudo ontick network check network.toml --node drive --json"
)]
pub struct Check {
    /// The file that describes the network
    file: PathBuf,
    /// A node of the network that this machine is (repeatable) [default: the one that is called as lldpd calls this machine, and
    /// switches whose interfaces are all here]
    #[arg(long = "node", value_name = "NAME")]
    nodes: Vec<String>,
    /// The socket of lldpd, where it is not the usual one (its option -u)
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Check {
    pub fn run(self) -> Result<Outcome, Failure> {
        let network = super::read(&self.file)?;
        let interfaces: BTreeMap<String, bool> =
            links(&Live)?.into_iter().map(|link| (link.name.clone(), link.has_carrier())).collect();
        let (listening, heard) = ask(self.socket.as_deref()).map_err(unanswered)?;
        let here = |interface: &str| interfaces.contains_key(interface);
        let Chosen { nodes, elsewhere } = Chosen::of(&network, &self.nodes, here, listening.system_name.as_deref())?;
        let check = compare(&network, &nodes, &Machine { interfaces, listening, heard }, &elsewhere);
        match self.json {
            true => terminal::print(&(serde_json::to_string_pretty(&check)? + "\n"))?,
            false => terminal::print(&text::text(&check, &terminal::style()))?,
        }
        Ok(if check.as_planned { Outcome::Met } else { Outcome::NotMet })
    }
}

fn unanswered(error: AskError) -> Failure {
    match &error {
        AskError::NotRunning(None) => {
            Failure::new(format!("{error}: start it (sudo systemctl start lldpd), or name its socket (--socket)"))
        }
        AskError::NotRunning(Some(_)) => {
            Failure::new(format!("{error}: start it with that socket (its option -u), or leave --socket out"))
        }
        AskError::Permission(_) if !rustix::process::geteuid().is_root() => {
            Failure::new(format!("{error}: run it with sudo"))
        }
        _ => error.into(),
    }
}
