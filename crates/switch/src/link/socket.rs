//! A socket of rtnetlink, and the list of all interfaces.

use std::io;
use std::os::fd::OwnedFd;

use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, recvfrom, send, socket_with, sockopt,
};

use super::message::{Message, messages};
use super::state::Link;

/// The kernel's messages are far shorter; a longer one is reported as cut.
const LONGEST: usize = 64 << 10;
/// Octets of messages that may wait: thousands of events.
const WAITING: usize = 4 << 20;

/// A socket of rtnetlink that hears these groups.
pub fn open(groups: u32) -> io::Result<OwnedFd> {
    // Protocol 0 is NETLINK_ROUTE.
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    // Without the right to have more, the usual room has to do: what does not fit is reported.
    let _ = sockopt::set_socket_recv_buffer_size_force(&socket, WAITING);
    bind(&socket, &SocketAddrNetlink::new(0, groups))?;
    Ok(socket)
}

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

impl Buffer {
    pub fn new() -> Self {
        Self(vec![0; LONGEST].into())
    }

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
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => Ok(Received::Nothing),
            Err(rustix::io::Errno::NOBUFS) => Ok(Received::Lost),
            Err(errno) => Err(errno.into()),
        }
    }
}

/// All interfaces of the calling thread's network namespace.
pub fn list() -> io::Result<Vec<Link>> {
    Lister::new()?.list()
}

/// Lists all interfaces of the network namespace in which it was made.
#[derive(Debug)]
pub struct Lister {
    socket: OwnedFd,
    buffer: Buffer,
    /// Number of the last request.
    sequence: u32,
}

impl Lister {
    pub fn new() -> io::Result<Self> {
        Ok(Self { socket: open(0)?, buffer: Buffer::new(), sequence: 0 })
    }

    pub fn list(&mut self) -> io::Result<Vec<Link>> {
        /// A list during which something changed is asked for anew; the last of so many is taken as it is.
        const TRIES: u32 = 10;
        for _ in 1..TRIES {
            if let (links, false) = self.list_once()? {
                return Ok(links);
            }
        }
        Ok(self.list_once()?.0)
    }

    /// Asks once; also whether something changed meanwhile.
    fn list_once(&mut self) -> io::Result<(Vec<Link>, bool)> {
        self.sequence = self.sequence.wrapping_add(1);
        send(&self.socket, &request_list(self.sequence), SendFlags::empty())?;
        let (mut links, mut changed) = (Vec::new(), false);
        loop {
            let octets = match self.buffer.receive(&self.socket, RecvFlags::empty())? {
                Received::Octets(octets) => octets,
                Received::Nothing => continue,
                Received::Lost => return Err(io::Error::other("the list of interfaces did not fit its buffer")),
            };
            for message in self.buffer.messages(octets).filter(|message| message.sequence == self.sequence) {
                changed |= message.flags & libc::NLM_F_DUMP_INTR as u16 != 0;
                match i32::from(message.kind) {
                    libc::NLMSG_DONE => return Ok((links, changed)),
                    libc::NLMSG_ERROR => return Err(refusal(&message)),
                    _ => links.extend(Link::read(&message).filter(|_| message.kind == libc::RTM_NEWLINK)),
                }
            }
        }
    }
}

/// `RTM_GETLINK` for all interfaces.
fn request_list(sequence: u32) -> [u8; 32] {
    let mut request = [0; 32];
    let flags = (libc::NLM_F_REQUEST | libc::NLM_F_DUMP) as u16;
    request[..4].copy_from_slice(&32u32.to_ne_bytes());
    request[4..6].copy_from_slice(&libc::RTM_GETLINK.to_ne_bytes());
    request[6..8].copy_from_slice(&flags.to_ne_bytes());
    request[8..12].copy_from_slice(&sequence.to_ne_bytes());
    request
}

/// What the kernel has against a request.
fn refusal(message: &Message<'_>) -> io::Error {
    let errno = super::message::u32_at(message.body, 0).unwrap_or_default() as i32;
    io::Error::from_raw_os_error(-errno)
}
