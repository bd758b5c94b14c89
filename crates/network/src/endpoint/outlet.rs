//! By what a talker's frames leave.

use ontick_switch::user::packet::{LaunchSender, PacketSender};
use ontick_switch::user::port::Sent;
use ontick_switch::user::udp::UdpSender;

/// Takes frames, or datagrams, and hands them over. It neither waits nor allocates.
pub trait Transmit {
    /// Hands one over whose message is to leave at `planned_ns` of TAI.
    fn transmit(&mut self, octets: &[u8], planned_ns: u64) -> Sent;

    /// The source address of Ethernet frames; none where the octets are a datagram's.
    fn address(&self) -> Option<[u8; 6]>;

    /// How long before its time a message is to be handed over, in ns.
    fn ahead_ns(&self) -> u64 {
        0
    }

    /// Frames that were taken and did not leave at their time, since this was last asked; some are lost where that was long ago.
    fn take_missed(&mut self) -> u64 {
        0
    }
}

/// What there is.
#[derive(Debug)]
pub enum Outlet {
    /// Frames right to the driver, at their time.
    Packet(PacketSender),
    /// Frames ahead of their time, which the kernel or the card waits for.
    Launch {
        /// The interface.
        sender: LaunchSender,
        /// How long ahead, in ns.
        ahead_ns: u64,
    },
    /// Datagrams, by the machine's own stack.
    Udp(UdpSender),
}

impl Transmit for Outlet {
    #[inline]
    fn transmit(&mut self, octets: &[u8], planned_ns: u64) -> Sent {
        match self {
            Self::Packet(sender) => sender.send(octets),
            Self::Launch { sender, .. } => sender.send_at(octets, planned_ns),
            Self::Udp(sender) => sender.send(octets),
        }
    }

    fn address(&self) -> Option<[u8; 6]> {
        match self {
            Self::Packet(sender) => Some(sender.address()),
            Self::Launch { sender, .. } => Some(sender.address()),
            Self::Udp(_) => None,
        }
    }

    fn ahead_ns(&self) -> u64 {
        match self {
            Self::Launch { ahead_ns, .. } => *ahead_ns,
            _ => 0,
        }
    }

    fn take_missed(&mut self) -> u64 {
        match self {
            Self::Launch { sender, .. } => sender.take_missed(),
            _ => 0,
        }
    }
}
