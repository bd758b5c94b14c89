//! Opens by what everything that a station sends leaves.

use std::net::{AddrParseError, SocketAddr};

use ontick_switch::user::open::OpenError;
use ontick_switch::user::packet::{LaunchError, LaunchSender, PacketSender};
use ontick_switch::user::udp::{UdpError, UdpSender};
use ontick_tsn::network::{Network, NodeId};

use super::header::HEADER;
use super::outlet::Outlet;
use super::planned::{Outgoing, StationError, data_octets, interfaces};

/// Why there is no way out.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WayOutError {
    /// A stream of another station, or of none.
    #[error("station {station} sends no stream {name}; it sends {}", .streams.join(", "))]
    NoStream {
        /// The station.
        station: String,
        /// As it was asked for.
        name: String,
        /// Those that it sends.
        streams: Vec<String>,
    },
    /// Messages of several frames are no datagrams.
    #[error(
        "stream {name} has messages of {parts} frames, and a datagram is one: have it leave by an interface, or make it 1472 octets (by IPv6 1452)"
    )]
    SeveralFrames {
        /// The stream.
        name: String,
        /// Frames of a message.
        parts: u32,
    },
    /// On its way there is no room for such a datagram.
    #[error(
        "stream {name} has messages of {octets} octets, and a packet on the way to {to} has room for {room}, so each would go in fragments: have it leave by an interface, or make it {room} octets"
    )]
    Fragments {
        /// The stream.
        name: String,
        /// Where it goes.
        to: SocketAddr,
        /// Octets of a datagram.
        octets: usize,
        /// Octets of the longest that is one packet.
        room: usize,
    },
    /// Frames of some stream have nowhere to go.
    #[error("name the interface that frames leave by, or an address for the datagrams of every stream")]
    NoInterface,
    /// The interfaces are not those of its cables.
    #[error(transparent)]
    Station(#[from] StationError),
    /// An interface cannot be opened.
    #[error(transparent)]
    Interface(#[from] OpenError),
    /// Nothing would hold frames until their time.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// No datagrams can be sent.
    #[error(transparent)]
    Udp(#[from] UdpError),
}

/// A text is no stream and address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is no stream and address: write STREAM=ADDRESS:PORT, as in setpoint=192.0.2.7:5000")]
pub struct DatagramsError(String);

/// A stream that leaves as datagrams, `STREAM=ADDRESS:PORT`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Datagrams {
    /// The stream.
    pub stream: String,
    /// Where they go.
    pub to: SocketAddr,
}

impl std::str::FromStr for Datagrams {
    type Err = DatagramsError;

    fn from_str(text: &str) -> Result<Self, DatagramsError> {
        let wrong = || DatagramsError(text.into());
        let (stream, to) = text.split_once('=').ok_or_else(wrong)?;
        Ok(Self { stream: stream.into(), to: to.parse().map_err(|_: AddrParseError| wrong())? })
    }
}

/// By what is named, the streams of a station leave.
#[derive(Debug, Clone, Default)]
pub struct WaysOut {
    /// The interface of each of its cables, in the order of the network's file.
    pub interfaces: Vec<String>,
    /// Streams that leave as datagrams instead.
    pub udp: Vec<Datagrams>,
    /// Frames are handed over this long before their time, for the kernel or the card to wait for it, in ns.
    pub launch_time_ns: Option<u64>,
}

/// What was opened.
#[derive(Debug)]
pub struct Outlets {
    /// All of it.
    pub all: Vec<Outlet>,
    /// Interfaces that have no link at the moment.
    pub without_link: Vec<String>,
    /// What the system refused: what is sent leaves all the same.
    pub refused: Vec<String>,
}

impl WaysOut {
    /// Opens what the streams of a station need, in the calling thread's network namespace; their ports become places among
    /// it.
    pub fn open(&self, network: &Network, node: NodeId, streams: &mut [Outgoing]) -> Result<Outlets, WayOutError> {
        let mut opened = Outlets { all: Vec::new(), without_link: Vec::new(), refused: Vec::new() };
        let mut by_udp: Vec<Vec<usize>> = vec![Vec::new(); streams.len()];
        for datagrams in &self.udp {
            let place = place(network, node, streams, &datagrams.stream)?;
            let Outgoing { name, parts, pcp, size, .. } = &streams[place];
            if *parts > 1 {
                return Err(WayOutError::SeveralFrames { name: name.clone(), parts: *parts });
            }
            let sender = UdpSender::open(datagrams.to, (*pcp).into())?;
            let octets = data_octets(*size, 0).max(HEADER);
            if let Some(room) = sender.room().filter(|room| octets > *room) {
                return Err(WayOutError::Fragments { name: name.clone(), to: datagrams.to, octets, room });
            }
            by_udp[place].push(opened.all.len());
            opened.refused.extend(sender.refused().map(ToString::to_string));
            opened.all.push(Outlet::Udp(sender));
        }
        let first = opened.all.len();
        if by_udp.iter().any(Vec::is_empty) {
            if self.interfaces.is_empty() {
                return Err(WayOutError::NoInterface);
            }
            for interface in interfaces(network, node, &self.interfaces)? {
                self.open_interface(interface, streams, &mut opened)?;
            }
        }
        for (of, udp) in streams.iter_mut().zip(by_udp) {
            match udp.is_empty() {
                true => of.ports.iter_mut().for_each(|port| *port += first),
                false => of.ports = udp,
            }
        }
        Ok(opened)
    }

    fn open_interface(&self, name: &str, streams: &[Outgoing], opened: &mut Outlets) -> Result<(), WayOutError> {
        let Some(ahead_ns) = self.launch_time_ns else {
            let sender = PacketSender::open(name)?;
            if !sender.is_running() {
                opened.without_link.push(name.into());
            }
            opened.all.push(Outlet::Packet(sender));
            return Ok(());
        };
        // A socket has one priority; by default the one of the most streams' queue is the discipline's class.
        let priority = streams.iter().map(|of| of.pcp).max().unwrap_or(0);
        opened.all.push(Outlet::Launch { sender: LaunchSender::open(name, priority.into())?, ahead_ns });
        Ok(())
    }
}

/// A stream's place among those that a station sends.
pub fn place(network: &Network, node: NodeId, streams: &[Outgoing], name: &str) -> Result<usize, WayOutError> {
    streams.iter().position(|of| of.name == name).ok_or_else(|| WayOutError::NoStream {
        station: network.nodes[node].name.clone(),
        name: name.into(),
        streams: streams.iter().map(|of| of.name.clone()).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_with_an_address() {
        let datagrams: Datagrams = "a=[::1]:5000".parse().unwrap();
        assert_eq!((datagrams.stream.as_str(), datagrams.to.port()), ("a", 5000));
        assert!("a=1.2.3.4".parse::<Datagrams>().is_err() && "a".parse::<Datagrams>().is_err());
    }
}
