//! Ports by AF_XDP sockets: frames are redirected to memory of this process before the kernel's network stack has them.
//!
//! - The program that redirects is attached by a link of bpf(2) and everything else belongs to sockets, so all of it
//!   ends with the process, whatever ends it. It runs in the driver where that can, else where the stack begins.
//! - Frames to the addresses that no bridge forwards (IEEE 802.1Q table 8-1: 01-80-C2-00-00-00 to -0F) stay with the
//!   kernel: PTP as IEEE 802.1AS has it, LLDP and the spanning tree protocol go on working beside the switch. All other
//!   frames are the switch's alone.
//! - Each receive queue of the interface has a socket of its own; sending is by the first queue's. At most [`QUEUES`]
//!   queues; an interface with more can be set to fewer (`ethtool -L`).
//! - Frames are copied, once each way (`XDP_COPY`). Handing frames over is one system call, so that what became of them
//!   is known at once.
//! - VLAN tags must be in the frames: turn off the interface's VLAN offloads (`rxvlan`, `txvlan`). On virtual Ethernet,
//!   where the other end may keep them beside, the program puts them back (Linux 6.8); where it cannot, the port is
//!   refused.
//! - Checksums that a virtual interface's other end has left to be made are made.

mod descriptors;
mod memory;
mod port;
mod program;
mod queue;
mod ring;

pub use port::XdpPort;

/// Receive queues of an interface that can be served.
pub const QUEUES: u32 = 64;

#[cfg(test)]
mod tests;
