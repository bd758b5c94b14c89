//! A port by whichever kind of socket the model asks for.

use super::open::OpenError;
use super::packet::{DEFAULT_FRAMES, PacketPort};
use super::port::{Port, Received, Sent};
use super::xdp::XdpPort;
use ontick_tsn::model::Socket;

/// Octets of data that the frames of a port by such a socket carry at most, with two VLAN tags: what a slot of its ring
/// has room for.
pub fn largest_sdu(socket: Socket) -> u32 {
    match socket {
        Socket::Packet => 1964,
        Socket::Xdp => 1770,
    }
}

/// A port by a packet socket or by AF_XDP.
#[derive(Debug)]
pub enum EitherPort {
    /// By a packet socket.
    Packet(PacketPort),
    /// By AF_XDP.
    Xdp(XdpPort),
}

impl EitherPort {
    /// Opens an interface of the calling thread's network namespace.
    pub fn open(interface: &str, socket: Socket) -> Result<Self, OpenError> {
        match socket {
            Socket::Packet => PacketPort::open(interface, DEFAULT_FRAMES).map(EitherPort::Packet),
            Socket::Xdp => XdpPort::open(interface, DEFAULT_FRAMES).map(EitherPort::Xdp),
        }
    }

    /// Has the other end of a virtual Ethernet pair send single frames, as far as that is not so by itself.
    pub fn keep_whole(&mut self) -> std::io::Result<()> {
        match self {
            EitherPort::Packet(port) => port.keep_whole(),
            // Its own program stands in the driver.
            EitherPort::Xdp(_) => Ok(()),
        }
    }

    /// Index of the interface.
    pub fn index(&self) -> u32 {
        match self {
            EitherPort::Packet(port) => port.index(),
            EitherPort::Xdp(port) => port.index(),
        }
    }
}

impl Port for EitherPort {
    #[inline]
    fn receive(&mut self, slot: &mut [u8]) -> Received {
        match self {
            EitherPort::Packet(port) => port.receive(slot),
            EitherPort::Xdp(port) => port.receive(slot),
        }
    }

    fn age_ns(&self) -> u64 {
        match self {
            EitherPort::Packet(port) => port.age_ns(),
            EitherPort::Xdp(port) => port.age_ns(),
        }
    }

    #[inline]
    fn send(&mut self, frame: &[u8]) -> Sent {
        match self {
            EitherPort::Packet(port) => port.send(frame),
            EitherPort::Xdp(port) => port.send(frame),
        }
    }

    #[inline]
    fn send_burst(&mut self, frames: &[&[u8]]) -> usize {
        match self {
            EitherPort::Packet(port) => port.send_burst(frames),
            EitherPort::Xdp(port) => port.send_burst(frames),
        }
    }

    fn overflowed(&mut self) -> u64 {
        match self {
            EitherPort::Packet(port) => port.overflowed(),
            EitherPort::Xdp(port) => port.overflowed(),
        }
    }
}
