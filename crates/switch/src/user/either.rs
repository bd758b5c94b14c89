//! A port by whichever kind of socket the model asks for.

use super::open::OpenError;
use super::packet::{DEFAULT_FRAMES, PacketPort};
use super::port::{Port, Received, Sent};
use super::xdp::XdpPort;
use crate::model::Socket;

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

    #[inline]
    fn send(&mut self, frame: &[u8]) -> Sent {
        match self {
            EitherPort::Packet(port) => port.send(frame),
            EitherPort::Xdp(port) => port.send(frame),
        }
    }

    fn overflowed(&mut self) -> u64 {
        match self {
            EitherPort::Packet(port) => port.overflowed(),
            EitherPort::Xdp(port) => port.overflowed(),
        }
    }
}
