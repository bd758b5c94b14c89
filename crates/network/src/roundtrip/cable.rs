//! Two network namespaces joined by virtual Ethernet, made for one run. Only this process holds them: however it ends, they
//! and their interfaces go with it.

use std::net::{Ipv4Addr, SocketAddr};

use ontick_switch::user::udp::UdpError;
use ontick_switch::verify::namespace::{Namespace, NamespaceError};
use ontick_switch::verify::testbed;

use super::datagram::DatagramPort;
use super::ethernet::{EthernetError, EthernetPort};

/// The interfaces' names, each in its namespace.
const ENDS: [&str; 2] = ["requests", "answers"];
/// Their addresses, where datagrams go by them (of those for examples, RFC 5737: nobody else has them).
const ADDRESSES: [Ipv4Addr; 2] = [Ipv4Addr::new(192, 0, 2, 1), Ipv4Addr::new(192, 0, 2, 2)];
const PORT: u16 = 5000;

/// Why there is none.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CableError {
    /// A namespace, or the cable between two, could not be made.
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    /// An end of it cannot be used.
    #[error(transparent)]
    Port(#[from] EthernetError),
    /// No datagrams go by it.
    #[error(transparent)]
    Datagrams(#[from] UdpError),
}

/// A cable of virtual Ethernet.
#[derive(Debug)]
pub struct Cable {
    ends: [Namespace; 2],
}

impl Cable {
    /// Makes it.
    pub fn new() -> Result<Self, CableError> {
        let ends = [Namespace::new()?, Namespace::new()?];
        ends[0].join(ENDS[0], &ends[1], ENDS[1])?;
        for (end, name) in ends.iter().zip(ENDS) {
            end.within(|| testbed::plain(name))?;
        }
        Ok(Self { ends })
    }

    /// Opens both ends: that of requests, and that of answers.
    pub fn open(&self) -> Result<[EthernetPort; 2], CableError> {
        let open = |end: usize| Ok::<_, CableError>(self.ends[end].within(|| EthernetPort::open(ENDS[end]))??);
        Ok([open(0)?, open(1)?])
    }

    /// Opens both ends for datagrams: that of requests, and that of answers; and where requests go.
    pub fn open_datagrams(&self) -> Result<([DatagramPort; 2], SocketAddr), CableError> {
        for ((end, name), address) in self.ends.iter().zip(ENDS).zip(ADDRESSES) {
            end.ip(&["address", "add", &format!("{address}/30"), "dev", name])?;
        }
        let to = SocketAddr::from((ADDRESSES[1], PORT));
        let answers = self.ends[1].within(|| DatagramPort::bind(to))??;
        let requests = self.ends[0].within(|| DatagramPort::connect(to))??;
        Ok(([requests, answers], to))
    }
}
