//! `ontick switch verify`

use std::path::PathBuf;

use clap::Args;
use ontick_switch::verify::offered::OfferedLoad;
use ontick_switch::verify::proof::Carrier;
use ontick_tsn::model::{Port, Switch};

use super::file;
use super::proving::{Asked, ProvingFlags};
use super::target_flags::StateFlag;
use crate::failure::{Failure, Outcome};
use crate::privileges;

/// Send numbered flows of every class through a switch and check their arrivals against its gates and idle slopes.
///
/// The switch that FILE describes is set up in a network namespace of this machine, with virtual Ethernet for its ports;
/// the machine's own ports are not touched. With --send and --receive the flows pass through a switch that already
/// runs.
///
/// 95% of the frames asked for must be sent, and 95% of those that windows and idle slopes carry must arrive; --require
/// "sent > 99%" and "delivered > 99%" ask for other shares.
///
/// Exit status: 0 every frame was accounted for and within its window, 1 some were not or too many were dropped, 2 the
/// test was not possible, 3 nothing is proven, as too few frames could be sent.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  sudo ontick switch verify switch.toml\n  sudo ontick switch verify switch.toml --rate 150% \\\n      --duration 30s --html switch.html\n  sudo ontick switch verify switch.toml --from swp1 --to swp2 \\\n      --require \"p99 < 2us\" --allow-outside 0\n  sudo ontick switch verify switch.toml --send enp3s0 --receive enp4s0"
)]
pub struct Verify {
    /// The configuration of the switch
    file: PathBuf,
    /// Port where flows enter [default: the first that is not --to]
    #[arg(long, value_name = "PORT")]
    from: Option<String>,
    /// Port where they leave, and whose gates and idle slopes are checked [default: the last that has gates, else the
    /// last with an idle-slope]
    #[arg(long, value_name = "PORT")]
    to: Option<String>,
    /// How many frames: a share of what each class's windows or its idle slope carry (above 100% some must be dropped),
    /// frames per second and class, or max
    #[arg(long, value_name = "RATE", default_value = "75%")]
    rate: OfferedLoad,
    /// The switch already runs, here or elsewhere: frames are sent to it by this interface of this machine. If it is
    /// ontick's user data plane on this machine, its counters say what it dropped, and why
    #[arg(long, value_name = "INTERFACE", requires = "receive")]
    send: Option<String>,
    /// Frames return by this interface; its hardware stamps them if it can
    #[arg(long, value_name = "INTERFACE", requires = "send")]
    receive: Option<String>,
    #[command(flatten)]
    state: StateFlag,
    #[command(flatten)]
    proving: ProvingFlags,
}

impl Verify {
    pub fn run(self) -> Result<Outcome, Failure> {
        let switch = file::read(&self.file)?;
        let ports = self.ports(&switch)?;
        // A switch with another kind of name is none of ontick's.
        let folder = self.state.folder(&switch.name).ok();
        let outside = self.send.zip(self.receive).map(|(send, receive)| Carrier::Outside { send, receive, folder });
        if outside.is_none() {
            privileges::NAMESPACES.require("switch verify")?;
        }
        let (classes, offered) = (Vec::new(), self.rate);
        self.proving.prove(Asked { measurement: "switch verify", switch, ports, classes, offered, outside })
    }

    /// Where flows go in and come out, as places in the switch's ports.
    fn ports(&self, switch: &Switch) -> Result<(usize, usize), Failure> {
        let file = self.file.display();
        let named = |name: &String| {
            let names = || switch.ports.iter().map(|port| port.name.as_str()).collect::<Vec<_>>().join(", ");
            let place = switch.ports.iter().position(|port| port.name == *name);
            place.ok_or_else(|| Failure::new(format!("{file}: there is no port {name} (its ports: {})", names())))
        };
        let gated = || switch.ports.iter().rposition(|port| port.gates.is_some());
        let shaped = || switch.ports.iter().rposition(Port::is_shaped);
        let to = match &self.to {
            Some(name) => named(name)?,
            None => gated().or_else(shaped).ok_or_else(|| {
                Failure::new(format!(
                    "{file}: no port has gates or an idle-slope, so there is nothing to check arrivals against"
                ))
            })?,
        };
        let from = match &self.from {
            Some(name) => named(name)?,
            None => (0..switch.ports.len()).find(|port| *port != to).ok_or_else(|| {
                Failure::new(format!("{file}: the switch has one port, and frames must enter by another"))
            })?,
        };
        Ok((from, to))
    }
}
