//! By what requests and answers go.

use std::io;
use std::time::Duration;

use ontick_switch::user::port::Sent;

use super::message::{Message, OCTETS};

/// A message that came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival<P> {
    /// What it says.
    pub message: Message,
    /// Who sent it, and how: an answer goes back in the same way.
    pub peer: P,
    /// When the kernel had it, in ns since 1970, where it says so.
    pub stamp_ns: Option<u64>,
    /// Octets of its frame or datagram, as [`Port::send`] counts them.
    pub size: usize,
}

/// Sends messages and takes those that come. It waits in [`wait`](Self::wait) alone, and never allocates.
pub trait Port {
    /// The other end.
    type Peer: Copy + std::fmt::Debug + PartialEq + Send + Sync;

    /// Hands a message over in a frame of so many octets, without its check sequence and with its tag, or in a datagram that
    /// carries so many; in the nearest size that there is.
    fn send(&mut self, to: Self::Peer, octets: &[u8; OCTETS], size: usize) -> Sent;

    /// When the message that was sent last left, in ns since 1970, where the kernel says so.
    fn take_sent_stamp(&mut self) -> Option<u64>;

    /// The next message that came, if one is there; what is no message is passed over.
    fn next(&mut self) -> Option<Arrival<Self::Peer>>;

    /// Sleeps until something came, or the time is over, or a signal came.
    fn wait(&mut self, at_most: Duration) -> io::Result<bool>;

    /// Frames that came and found no room, since this was last asked.
    fn overflowed(&mut self) -> u64 {
        0
    }

    /// Why nothing may come, where the port knows.
    fn trouble(&self) -> Option<String> {
        None
    }
}
