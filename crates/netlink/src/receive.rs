//! What arrives on a socket.

use std::io;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{RecvFlags, recvfrom};

use crate::message::{Message, messages};

/// The kernel's messages are far shorter; a longer one is reported as cut.
const LONGEST: usize = 64 << 10;

/// What came of receiving.
#[derive(Debug, PartialEq, Eq)]
pub enum Received {
    /// So many octets of messages.
    Octets(usize),
    /// Nothing is there.
    Nothing,
    /// Messages found no room.
    Lost,
}

/// A place for what is received.
#[derive(Debug)]
pub struct Buffer(Box<[u8]>);

impl Default for Buffer {
    fn default() -> Self {
        Self(vec![0; LONGEST].into())
    }
}

impl Buffer {
    /// The messages that [`Received::Octets`] announced.
    pub fn messages(&self, octets: usize) -> impl Iterator<Item = Message<'_>> {
        messages(&self.0[..octets])
    }

    /// Receives what the kernel sent.
    pub fn receive(&mut self, socket: &OwnedFd, flags: RecvFlags) -> io::Result<Received> {
        match recvfrom(socket, &mut self.0[..], flags | RecvFlags::TRUNC) {
            // What another process sends is nothing to go by.
            Ok((_, _, Some(from))) if SocketAddrNetlink::try_from(from.clone()).is_ok_and(|from| from.pid() != 0) => {
                Ok(Received::Octets(0))
            }
            Ok((_, whole, _)) if whole > self.0.len() => Ok(Received::Lost),
            Ok((octets, ..)) => Ok(Received::Octets(octets)),
            Err(Errno::AGAIN | Errno::INTR) => Ok(Received::Nothing),
            Err(Errno::NOBUFS) => Ok(Received::Lost),
            Err(errno) => Err(errno.into()),
        }
    }
}
