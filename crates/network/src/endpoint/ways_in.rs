//! Opens by what everything that is for a station comes, and takes it.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use ontick_switch::user::open::OpenError;
use ontick_switch::user::packet::{PacketReader, Stamps};
use ontick_switch::user::udp::{UdpError, UdpReceiver};
use ontick_tsn::network::{Network, NodeId};

use super::listener::{Listener, Message};
use super::planned::{StationError, interfaces};
use super::reader::{BETWEEN, Reader, UdpReader};

/// Frames that the ring of an interface holds: 64 MiB, and a sixth of a second at 200 000 frames a second.
const RING: u32 = 32_768;
/// Octets that the kernel keeps of datagrams.
const ROOM: i32 = 8 << 20;
/// Where several are waited for, each is so long.
const TURN: Duration = Duration::from_millis(1);

/// Why there is no way in.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WayInError {
    /// Nothing is named.
    #[error("name the interface that frames come by, or an address of datagrams")]
    NoInterface,
    /// The interfaces are not those of its cables.
    #[error(transparent)]
    Station(#[from] StationError),
    /// An interface cannot be opened.
    #[error(transparent)]
    Interface(#[from] OpenError),
    /// No datagrams can be received.
    #[error(transparent)]
    Udp(#[from] UdpError),
}

/// What is listened to.
#[derive(Debug)]
pub struct WaysIn {
    readers: Vec<Reader>,
    datagrams: Vec<UdpReader>,
}

impl WaysIn {
    /// Opens the interface of each of a station's cables, if any is named, and addresses of datagrams, in the calling thread's
    /// network namespace.
    pub fn open(network: &Network, node: NodeId, names: &[String], udp: &[SocketAddr]) -> Result<Self, WayInError> {
        let datagrams = udp.iter().map(|at| UdpReceiver::open(*at, ROOM).map(UdpReader::new));
        let datagrams = datagrams.collect::<Result<Vec<_>, _>>()?;
        if names.is_empty() && datagrams.is_empty() {
            return Err(WayInError::NoInterface);
        }
        let mut readers = Vec::new();
        if !names.is_empty() {
            for interface in interfaces(network, node, names)? {
                readers.push(Reader::new(PacketReader::open(interface, RING, Stamps::Hardware)?));
            }
        }
        Ok(Self { readers, datagrams })
    }

    /// Who stamps all of what comes.
    pub fn stamps(&self) -> Stamps {
        let by_hardware = |reader: &Reader| reader.stamps() == Stamps::Hardware;
        match self.datagrams.is_empty() && self.readers.iter().all(by_hardware) {
            true => Stamps::Hardware,
            false => Stamps::Software,
        }
    }

    /// Takes what is there, but not for ever, and shows each frame that is waited for; how many it took.
    pub fn take(&mut self, listener: &mut Listener, mut show: impl FnMut(&Message<'_>)) -> u32 {
        let mut taken = 0;
        self.readers.iter_mut().for_each(|reader| taken += reader.take(listener, &mut show));
        self.datagrams.iter_mut().for_each(|reader| taken += reader.take(listener, &mut show));
        taken
    }

    /// Waits until something may be there, or the time is over.
    pub fn wait(&mut self, listener: &mut Listener, at_most: Duration) -> io::Result<()> {
        let each = match self.readers.len() + self.datagrams.len() {
            1 => at_most,
            _ => at_most.min(TURN),
        };
        for reader in &mut self.readers {
            reader.wait(listener, each)?;
        }
        for reader in &mut self.datagrams {
            reader.wait(each)?;
        }
        Ok(())
    }

    /// As [`Self::wait`], for whoever only counts what comes: [`Reader::wait_for_many`].
    pub fn wait_for_many(&mut self, listener: &mut Listener, at_most: Duration) -> io::Result<()> {
        if self.readers.iter().any(Reader::is_flooded) {
            std::thread::sleep(at_most.min(BETWEEN));
            return self.wait(listener, Duration::ZERO);
        }
        self.wait(listener, at_most)
    }

    /// Counts what found no room; to be called once more at the end.
    pub fn count_overflowed(&mut self, listener: &mut Listener) {
        self.readers.iter_mut().for_each(|reader| reader.count_overflowed(listener));
    }
}
