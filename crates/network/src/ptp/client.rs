//! Asks ptp4l what it knows of the time.

use std::io;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::time::{Duration, Instant};

use super::management::{self, Addressing, Answer, ClockIdentity, DataSet, PortState};

/// Asked of it each time.
const DATA_SETS: [DataSet; 4] = [DataSet::Current, DataSet::Parent, DataSet::TimeStatus, DataSet::Port];
/// No answer is longer.
const LONGEST: usize = 1_500;

/// A socket to one ptp4l. Nobody else's answers come in by it: it is connected.
#[derive(Debug)]
pub struct Client {
    socket: UnixDatagram,
    addressing: Addressing,
    ports: usize,
    sequence: u16,
}

/// Why there is no observation.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// It does not answer in time, or not to all.
    #[error("ptp4l does not answer")]
    Silent,
    /// The socket fails.
    #[error("the socket to ptp4l fails: {0}")]
    Socket(#[from] io::Error),
}

/// What ptp4l knows at one time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observation {
    /// The node's own clock.
    pub own: ClockIdentity,
    /// Whose time it has; its own if it is the grandmaster.
    pub grandmaster: ClockIdentity,
    /// The grandmaster's `priority1`.
    pub grandmaster_priority1: u8,
    /// Clocks between this one and the grandmaster, the grandmaster counted.
    pub steps_removed: u16,
    /// Its ports, by number.
    pub ports: Vec<PortObservation>,
    /// How far it was from its master at the last Sync; absent: it has none, or no Sync came.
    pub offset: Option<Offset>,
    /// Delay of the way to its master, in ns: of the whole way, or of the port's cable.
    pub path_delay_ns: Option<i64>,
}

/// What a port is, whatever its state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortProperties {
    /// From 1.
    pub number: u16,
    /// Its interface.
    pub interface: String,
    /// Whether the network card stamps its frames, not the driver.
    pub by_hardware: bool,
}

/// An offset, as it was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offset {
    /// This clock before the master's, in ns.
    pub ns: i64,
    /// When the Sync came, in ns of the node's clock: tells one measurement from the next.
    pub ingress_ns: i64,
}

/// One port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortObservation {
    /// From 1, in the order of the file.
    pub number: u16,
    /// Its state.
    pub state: PortState,
    /// Delay of its cable, in ns; 0 where it is not measured.
    pub peer_delay_ns: i64,
}

impl Client {
    /// To the ptp4l of so many ports whose management socket this is.
    pub fn connect(socket: &Path, addressing: Addressing, ports: usize) -> io::Result<Self> {
        // Answers go to an address. Without a name the kernel chooses one (unix(7), autobind): it leaves no file behind, and
        // nobody can have it already.
        let own = UnixDatagram::bind("")?;
        Ok(Self { socket: connected(own, socket)?, addressing, ports, sequence: 0 })
    }

    /// To a ptp4l that another program started, whose number of ports it says itself.
    pub fn connect_to_unknown(socket: &Path, addressing: Addressing, at_most: Duration) -> Result<Self, ClientError> {
        let mut client = Self::connect(socket, addressing, 0)?;
        let mut count = None;
        client.ask(&[DataSet::Default], at_most, |_, answer| {
            if let Answer::Default { ports } = answer {
                count = Some(usize::from(ports));
            }
            count.is_some()
        })?;
        client.ports = count.ok_or(ClientError::Silent)?;
        Ok(client)
    }

    /// What its ports are, by number; nothing of those of which a linuxptp that is too old says nothing.
    pub fn port_properties(&mut self, at_most: Duration) -> Result<Vec<PortProperties>, ClientError> {
        let mut ports: Vec<PortProperties> = Vec::new();
        let count = self.ports;
        let asked = self.ask(&[DataSet::PortProperties], at_most, |_, answer| {
            if let Answer::PortProperties { number, by_hardware, interface } = answer {
                ports.retain(|port| port.number != number);
                ports.push(PortProperties { number, interface, by_hardware });
            }
            ports.len() >= count
        });
        match asked {
            Ok(()) | Err(ClientError::Silent) => {}
            Err(other) => return Err(other),
        }
        ports.sort_by_key(|port| port.number);
        Ok(ports)
    }

    /// Asks for everything, and waits for the answers so long at most.
    pub fn observe(&mut self, at_most: Duration) -> Result<Observation, ClientError> {
        let mut parts = Parts::default();
        let ports = self.ports;
        self.ask(&DATA_SETS, at_most, |own, answer| {
            parts.take(own, answer);
            parts.complete(ports)
        })?;
        parts.observation().ok_or(ClientError::Silent)
    }

    /// Asks, and takes answers until `take` has all of them.
    fn ask(
        &mut self,
        data_sets: &[DataSet],
        at_most: Duration,
        mut take: impl FnMut(ClockIdentity, Answer) -> bool,
    ) -> Result<(), ClientError> {
        let until = Instant::now() + at_most;
        // Whoever does not read would have the questions wait, too.
        self.socket.set_write_timeout(Some(at_most.max(Duration::from_millis(1))))?;
        let first = self.sequence;
        for data_set in data_sets {
            match self.socket.send(&management::get(self.addressing, *data_set, self.sequence)) {
                Err(error) if is_silence(&error) => return Err(ClientError::Silent),
                // It would wait still; whoever asks looks what the signal was for.
                Err(error) if error.kind() == io::ErrorKind::Interrupted => return Err(ClientError::Silent),
                sent => sent?,
            };
            self.sequence = self.sequence.wrapping_add(1);
        }
        let mut octets = [0; LONGEST];
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(ClientError::Silent);
            }
            self.socket.set_read_timeout(Some(left))?;
            let length = match self.socket.recv(&mut octets) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if is_silence(&error) => return Err(ClientError::Silent),
                length => length?,
            };
            // Late answers to earlier questions are of no use.
            if let Some((own, sequence, answer)) = management::read(&octets[..length]) {
                if usize::from(sequence.wrapping_sub(first)) < data_sets.len() && take(own, answer) {
                    return Ok(());
                }
            }
        }
    }
}

/// The socket to a peer, without what others sent to it before.
fn connected(own: UnixDatagram, peer: &Path) -> io::Result<UnixDatagram> {
    own.connect(peer)?;
    own.set_nonblocking(true)?;
    while own.recv(&mut [0]).is_ok() {}
    own.set_nonblocking(false)?;
    Ok(own)
}

fn is_silence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

/// Answers, as they come in.
#[derive(Debug, Default)]
struct Parts {
    own: ClockIdentity,
    current: Option<(u16, i64)>,
    parent: Option<(ClockIdentity, u8)>,
    status: Option<(Offset, bool)>,
    ports: Vec<PortObservation>,
}

impl Parts {
    fn take(&mut self, own: ClockIdentity, answer: Answer) {
        self.own = own;
        match answer {
            Answer::Current { steps_removed, path_delay_ns } => self.current = Some((steps_removed, path_delay_ns)),
            Answer::Parent { grandmaster, priority1 } => self.parent = Some((grandmaster, priority1)),
            Answer::TimeStatus { offset_ns, ingress_ns, to_grandmaster } => {
                self.status = Some((Offset { ns: offset_ns, ingress_ns }, to_grandmaster));
            }
            Answer::Port { number, state, peer_delay_ns } => {
                self.ports.retain(|port| port.number != number);
                self.ports.push(PortObservation { number, state, peer_delay_ns });
            }
            // These are asked for by themselves.
            Answer::Default { .. } | Answer::PortProperties { .. } => {}
        }
    }

    fn complete(&self, ports: usize) -> bool {
        self.current.is_some() && self.parent.is_some() && self.status.is_some() && self.ports.len() >= ports
    }

    fn observation(mut self) -> Option<Observation> {
        let (steps_removed, way_ns) = self.current?;
        let (grandmaster, grandmaster_priority1) = self.parent?;
        let (offset, to_grandmaster) = self.status?;
        self.ports.sort_by_key(|port| port.number);
        let follows = |port: &&PortObservation| matches!(port.state, PortState::Slave | PortState::Uncalibrated);
        let cable_ns = self.ports.iter().find(follows).map(|port| port.peer_delay_ns);
        let has_master = to_grandmaster && cable_ns.is_some();
        Some(Observation {
            own: self.own,
            grandmaster,
            grandmaster_priority1,
            steps_removed,
            offset: Some(offset).filter(|offset| has_master && offset.ingress_ns != 0),
            path_delay_ns: [Some(way_ns), cable_ns].into_iter().flatten().find(|ns| has_master && *ns != 0),
            ports: self.ports,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::SocketAddr;

    use super::*;

    #[test]
    fn nobody_can_take_its_address_before() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let _ptp4l = UnixDatagram::bind(&path).unwrap();
        let name = |n| format!("ontick-ptp-{}-{n}", std::process::id());
        let taken = |n| UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(name(n)).unwrap());
        let _taken: Vec<_> = (0..100).map(taken).collect();
        let connect = || Client::connect(&path, Addressing { domain: 0, transport_specific: 0 }, 1).unwrap();
        let address = |client: &Client| client.socket.local_addr().unwrap().as_abstract_name().unwrap().to_vec();
        let (first, second) = (connect(), connect());
        assert_ne!(address(&first), address(&second));
    }

    #[test]
    fn a_socket_that_nobody_reads_is_silence_and_no_waiting() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let _deaf = UnixDatagram::bind(&path).unwrap();
        let addressing = Addressing { domain: 0, transport_specific: 0 };
        let mut client = Client::connect(&path, addressing, 1).unwrap();
        for _ in 0..100 {
            let error = client.observe(Duration::from_millis(2)).unwrap_err();
            assert!(matches!(error, ClientError::Silent), "{error}");
        }
        assert!(Client::connect(&folder.path().join("none"), addressing, 1).is_err());
    }

    #[test]
    fn what_came_before_it_was_connected_is_no_answer() {
        let folder = tempfile::tempdir().unwrap();
        let [ptp4l, own, other] = ["ptp4l", "own", "other"].map(|name| folder.path().join(name));
        let (_ptp4l, other) = (UnixDatagram::bind(&ptp4l).unwrap(), UnixDatagram::bind(other).unwrap());
        let socket = UnixDatagram::bind(&own).unwrap();
        for _ in 0..3 {
            other.send_to(b"forged", &own).unwrap();
        }
        let socket = connected(socket, &ptp4l).unwrap();
        assert!(other.send_to(b"forged", &own).is_err());
        socket.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
        assert!(is_silence(&socket.recv(&mut [0; 10]).unwrap_err()));
    }

    #[test]
    fn the_delay_is_the_ways_or_the_cables() {
        let master = ClockIdentity([1; 8]);
        let of = |way_ns: i64, peer_delay_ns: i64, state: PortState| {
            let mut parts = Parts::default();
            parts.take(ClockIdentity([2; 8]), Answer::Current { steps_removed: 1, path_delay_ns: way_ns });
            parts.take(ClockIdentity([2; 8]), Answer::Parent { grandmaster: master, priority1: 64 });
            let status = Answer::TimeStatus { offset_ns: 5, ingress_ns: 9, to_grandmaster: true };
            parts.take(ClockIdentity([2; 8]), status);
            assert!(!parts.complete(1));
            parts.take(ClockIdentity([2; 8]), Answer::Port { number: 1, state, peer_delay_ns });
            assert!(parts.complete(1));
            let seen = parts.observation().unwrap();
            (seen.path_delay_ns, seen.offset.map(|offset| offset.ns))
        };
        assert_eq!(of(700, 0, PortState::Slave), (Some(700), Some(5)));
        assert_eq!(of(0, 300, PortState::Uncalibrated), (Some(300), Some(5)));
        // What it knew of a master that is gone is no offset.
        assert_eq!(of(0, 300, PortState::Listening), (None, None));
    }
}
