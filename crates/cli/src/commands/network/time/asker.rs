//! Asks a node's ptp4l, which may go and come back.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ontick_network::ptp::{
    Client, ClientError, Node, Observation, PortProperties, SocketDir, SocketError, check_socket,
};

use ontick_record::time_status::TimeProfile;
use ontick_tsn::network::Profile;

use super::report::RunReport;
use super::status_text;
use crate::failure::Failure;

/// ptp4l answers in microseconds; on a machine with other work it may take longer.
const ANSWER: Duration = Duration::from_secs(2);

/// Whom to ask about a node.
pub struct Asker<'a> {
    pub node: &'a Node,
    /// The network's file, for what is said.
    pub file: &'a Path,
    /// The socket of another program's ptp4l; else that of the process which keeps the node in time is looked for.
    pub socket: Option<&'a Path>,
    pub sockets: SocketDir,
    pub open: Option<Open>,
    /// Whether one has answered before.
    pub answered: bool,
}

/// A ptp4l that answered.
pub struct Open {
    client: Client,
    ports: Vec<PortProperties>,
    socket: PathBuf,
}

/// What is answered about a node.
pub struct Answer {
    pub seen: Observation,
    pub ports: Vec<PortProperties>,
    /// Of the process that watches the time, if there is one.
    pub report: Option<RunReport>,
}

/// Why there is no answer.
pub struct Unanswered {
    pub failure: Failure,
    /// Of the process that watches the time: it may be there while its ptp4l hangs.
    pub report: Option<RunReport>,
}

impl From<Unanswered> for Failure {
    fn from(unanswered: Unanswered) -> Self {
        unanswered.failure
    }
}

impl Asker<'_> {
    /// What ptp4l says, and the process that runs it. One that fails is looked for anew the next time.
    pub fn ask(&mut self) -> Result<Answer, Unanswered> {
        let mut open = match self.open.take() {
            Some(open) => open,
            None => self.connect()?,
        };
        let seen = open.client.observe(ANSWER).map_err(|error| self.unanswered(&open.socket, error))?;
        let report = RunReport::read(&open.socket);
        let ports = open.ports.clone();
        (self.open, self.answered) = (Some(open), true);
        Ok(Answer { seen, ports, report })
    }

    fn connect(&self) -> Result<Open, Unanswered> {
        let socket = self.find().map_err(|failure| Unanswered { failure, report: None })?;
        let connect = || {
            let mut client = Client::connect_to_unknown(&socket, self.node.addressing(), ANSWER)?;
            let ports = client.port_properties(ANSWER)?;
            Ok((client, ports))
        };
        let (client, ports) = connect().map_err(|error| self.unanswered(&socket, error))?;
        Ok(Open { client, ports, socket })
    }

    fn unanswered(&self, socket: &Path, error: ClientError) -> Unanswered {
        Unanswered { failure: self.reason(socket, error), report: RunReport::read(socket) }
    }

    fn reason(&self, socket: &Path, error: ClientError) -> Failure {
        use io::ErrorKind::{ConnectionRefused, ConnectionReset, NotConnected, PermissionDenied};
        let socket = socket.display();
        let kind = match &error {
            ClientError::Socket(why) => Some(why.kind()),
            _ => None,
        };
        Failure::new(match kind {
            Some(PermissionDenied) => format!("the ptp4l of {socket} is another user's: run it with sudo"),
            Some(ConnectionRefused | ConnectionReset | NotConnected) => {
                format!("nobody answers at {socket}: the ptp4l that opened it has ended")
            }
            Some(_) => format!("{socket}: {error}"),
            None if self.answered => format!("the ptp4l of {socket} does not answer any more: it has ended, or hangs"),
            None => format!(
                "the ptp4l of {socket} does not answer for {} in domain {}, as the file has it: it has another profile or \
                 domain, runs in another network namespace, or hangs",
                status_text::profile(profile(self.node)),
                self.node.time.domain
            ),
        })
    }

    /// The socket that is named, or that of the process which keeps the node in time.
    fn find(&self) -> Result<PathBuf, Failure> {
        let name = &self.node.name;
        if let Some(path) = self.socket {
            check_socket(path).map_err(with_sudo)?;
            return Ok(path.to_owned());
        }
        let running = self.sockets.running().map_err(with_sudo)?;
        let mut own = running.into_iter().filter(|(node, _)| node == name).map(|(_, socket)| socket);
        match (own.next(), own.next()) {
            (Some(socket), None) => Ok(socket),
            (Some(one), Some(other)) => Err(Failure::new(format!(
                "more than one ptp4l runs for node {name}: say which by --socket {}, or --socket {}",
                one.display(),
                other.display()
            ))),
            (None, _) => Err(Failure::new(format!(
                "nothing keeps node {name} in time here: `sudo ontick network time run {} --node {name}` does, and \
                 --socket names that of a ptp4l of another program",
                self.file.display()
            ))),
        }
    }
}

/// The profile that a node's ptp4l has if it answers.
pub fn profile(node: &Node) -> TimeProfile {
    match node.time.profile {
        Profile::Gptp => TimeProfile::Gptp,
        Profile::Default => TimeProfile::Default,
    }
}

fn with_sudo(error: SocketError) -> Failure {
    match &error {
        SocketError::Unreadable { why, .. } if why.kind() == io::ErrorKind::PermissionDenied => {
            Failure::new(format!("{error}: run it with sudo"))
        }
        _ => error.into(),
    }
}
