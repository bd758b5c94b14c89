//! `ontick switch netconf`

mod change;
mod confirmed;
mod datastores;
mod faults;
mod session;
mod statistics;

use std::io::{Read, Write, stdin, stdout};
use std::path::PathBuf;

use clap::Args;
use ontick_switch::apply::{Journal, Session as Presence, StartupFile};
use ontick_tsn::netconf::framing::{Decoder, Framing, FramingError, encode};
use ontick_tsn::netconf::{Hello, Reply, Rpc, RpcError, Tag, hello, read};

use super::target_flags::{NameFlags, lock};
use crate::failure::{Failure, Outcome};
use crate::privileges;
use session::{Next, Session};

/// What there is beside the base protocol.
const CAPABILITIES: [&str; 5] = [
    "urn:ietf:params:netconf:capability:candidate:1.0",
    "urn:ietf:params:netconf:capability:confirmed-commit:1.1",
    "urn:ietf:params:netconf:capability:validate:1.1",
    "urn:ietf:params:netconf:capability:rollback-on-error:1.0",
    "urn:ietf:params:netconf:capability:startup:1.0",
];

/// Serve NETCONF (RFC 6241) on standard input and output, as a subsystem of this machine's SSH server.
///
/// A manager reads the gate parameters and streams of a switch that is set up, and changes its gates, in the YANG of IEEE
/// 802.1Qcw. It can keep them, and other streams, for the next boot, in /etc/ontick/NAME.toml.
/// OpenSSH checks who may connect; ontick listens on no port and knows no passwords.
#[derive(Args)]
#[command(after_help = "Example (/etc/ssh/sshd_config):\n  Subsystem netconf /usr/bin/ontick switch netconf")]
pub struct Netconf {
    #[command(flatten)]
    name: NameFlags,
    /// Waits on standard input for the session that it guards, whose commit has this number
    #[arg(long, hide = true, value_name = "NUMBER", requires = "name")]
    guard: Option<u64>,
    /// Where the file is that is read at each boot; tests have a place of their own
    #[arg(long, value_name = "FOLDER", hide = true)]
    startup: Option<PathBuf>,
}

impl Netconf {
    pub fn run(self) -> Result<Outcome, Failure> {
        privileges::SWITCH_CHANGE.require("switch netconf")?;
        let folder = self.name.folder()?;
        if let (Some(number), Some(folder)) = (self.guard, &folder) {
            return confirmed::guard(folder, number);
        }
        let folder = match folder {
            Some(folder) if Journal::read(&folder)?.is_some() => folder,
            _ => {
                let why = "no such switch is set up that could be managed: sudo ontick switch apply FILE sets one up";
                return Err(Failure::new(why));
            }
        };
        let presence = Presence::begin(&folder, &lock(&folder)?)?;
        let mut peer = Peer { decoder: Decoder::new(), framing: Framing::EndOfMessage };
        peer.send(&hello(presence.id(), &CAPABILITIES))?;
        let Some(greeting) = peer.receive()? else { return Ok(Outcome::Met) };
        let document = read(&greeting)?;
        peer.frame(Hello::of(&document)?.framing);
        let startup = StartupFile::of(&folder, self.startup.as_deref())?;
        let mut session = Session::new(folder, startup, presence, self.name.state);
        while let Some(message) = peer.receive()? {
            let (reply, next) = match read(&message) {
                Ok(document) => {
                    let rpc = Rpc::of(&document);
                    let (reply, next) = session.answer(rpc.request);
                    (Reply::xml(&reply, &rpc.attributes), next)
                }
                Err(error) => {
                    let error = RpcError::rpc(Tag::MalformedMessage, error.to_string());
                    (Reply::xml(&Err(error), ""), Next::Message)
                }
            };
            peer.send(&reply)?;
            if next == Next::End {
                break;
            }
        }
        Ok(Outcome::Met)
    }
}

/// Who is at the other end of standard input and output.
struct Peer {
    decoder: Decoder,
    framing: Framing,
}

impl Peer {
    /// How messages end after the greetings.
    fn frame(&mut self, framing: Framing) {
        self.framing = framing;
        self.decoder.set_framing(framing);
    }

    fn send(&self, message: &str) -> Result<(), Failure> {
        let mut out = stdout().lock();
        out.write_all(&encode(self.framing, message))?;
        Ok(out.flush()?)
    }

    /// The next message; none if there is no more.
    fn receive(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        let mut octets = [0; 16 << 10];
        loop {
            let whole = self.decoder.message().map_err(|error: FramingError| Failure::new(error))?;
            if whole.is_some() {
                return Ok(whole);
            }
            match stdin().lock().read(&mut octets) {
                Ok(0) => return Ok(None),
                Ok(count) => self.decoder.push(&octets[..count]),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}
