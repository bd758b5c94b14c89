//! Ports by packet sockets (packet(7)), with a ring of frames in memory that the kernel shares (`TPACKET_V2`).
//!
//! Everything that is set belongs to the socket, the promiscuous mode of the interface too, and ends with it, whatever
//! ends the process. The exception is said by name: hardware time stamps ([`PacketReader::open`]).
//!
//! The interface stays as it is otherwise, so turn off what joins frames there (GRO): joined frames are
//! [`super::port::Received::Oversized`]. The other end of a virtual Ethernet pair is kept from joining frames by
//! [`PacketPort::keep_whole`]; checksums that it has left to be made are made.

pub(super) mod checksum;
mod egress;
mod launch;
mod port;
mod reader;
mod ring;
mod sender;
mod socket;
mod stamps;
mod tag;
mod turn;
mod whole;

pub use egress::least_ns as least_egress_ns;
pub use launch::{LaunchError, LaunchSender};
pub use port::PacketPort;
pub use reader::{Frame, PacketReader};
pub use sender::PacketSender;
pub(super) use socket::Socket;
pub use stamps::Stamps;
pub use tag::Tag;

/// Frames of a ring that have room unless set otherwise: 4 ms of shortest frames at 1 Mframe/s, 8 MiB.
pub const DEFAULT_FRAMES: u32 = 4096;

#[cfg(test)]
mod tests;
