//! Sockets: those that ask, and those that listen.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use rustix::net::netlink::{self, SocketAddrNetlink};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, send, socket_with, sockopt};

use crate::message::{Message, request};
use crate::receive::{Buffer, Received};
use crate::refusal::outcome;

/// Whom in the kernel a socket speaks to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// Interfaces, addresses, queueing disciplines (rtnetlink(7)).
    Route,
    /// Families that have no number of their own (linux/genetlink.h).
    Generic,
}

/// A socket that asks, and takes the answers. It belongs to the network namespace in which it was made.
#[derive(Debug)]
pub struct Socket {
    socket: OwnedFd,
    buffer: Buffer,
    /// Number of the last request.
    sequence: u32,
}

impl Socket {
    /// A socket of the calling thread's network namespace.
    pub fn open(protocol: Protocol) -> io::Result<Self> {
        let socket = listen(protocol, 0)?;
        explain_refusals(&socket);
        Ok(Self { socket, buffer: Buffer::default(), sequence: 0 })
    }

    /// Asks, gives each message of the answer to `take`, and says whether the kernel agreed: a
    /// [`Refusal`](crate::Refusal) is the error where it did not. `flags` are `NLM_F_CREATE` and the like; that an answer is
    /// wanted goes without saying.
    pub fn ask(&mut self, kind: u16, flags: i32, body: &[u8], mut take: impl FnMut(&Message<'_>)) -> io::Result<()> {
        self.send(kind, flags | libc::NLM_F_ACK, body)?;
        loop {
            for message in received(&mut self.buffer, &self.socket, self.sequence)? {
                match i32::from(message.kind) {
                    libc::NLMSG_ERROR => return outcome(&message).map_err(Into::into),
                    _ => take(&message),
                }
            }
        }
    }

    /// Asks for a list, and gives each message of it to `take`; whether the list changed meanwhile, so that parts of it may
    /// not be of one time. A list that the kernel could not end is a [`Refusal`](crate::Refusal).
    pub fn list(&mut self, kind: u16, body: &[u8], mut take: impl FnMut(&Message<'_>)) -> io::Result<bool> {
        self.send(kind, libc::NLM_F_DUMP, body)?;
        let mut changed = false;
        loop {
            for message in received(&mut self.buffer, &self.socket, self.sequence)? {
                changed |= message.flags & libc::NLM_F_DUMP_INTR as u16 != 0;
                match i32::from(message.kind) {
                    libc::NLMSG_DONE => {
                        outcome(&message)?;
                        return Ok(changed);
                    }
                    libc::NLMSG_ERROR => outcome(&message)?,
                    _ => take(&message),
                }
            }
        }
    }

    fn send(&mut self, kind: u16, flags: i32, body: &[u8]) -> io::Result<()> {
        self.sequence = self.sequence.wrapping_add(1);
        send(&self.socket, &request(kind, flags, self.sequence, body), SendFlags::empty())?;
        Ok(())
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// The next messages that answer the request of this number.
fn received<'a>(
    buffer: &'a mut Buffer,
    socket: &OwnedFd,
    sequence: u32,
) -> io::Result<impl Iterator<Item = Message<'a>> + use<'a>> {
    let octets = match buffer.receive(socket, RecvFlags::empty())? {
        Received::Octets(octets) => octets,
        Received::Nothing => 0,
        Received::Lost => return Err(io::Error::other("the kernel's answer did not fit its buffer")),
    };
    Ok(buffer.messages(octets).filter(move |message| message.sequence == sequence))
}

/// A socket of the calling thread's network namespace that hears these groups, one bit each.
pub fn listen(protocol: Protocol, groups: u32) -> io::Result<OwnedFd> {
    /// Octets of messages that may wait: thousands of events.
    const WAITING: usize = 4 << 20;
    let number = match protocol {
        // Protocol 0 is NETLINK_ROUTE.
        Protocol::Route => None,
        Protocol::Generic => Some(netlink::GENERIC),
    };
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, number)?;
    // Without the right to have more, the usual room has to do: what does not fit is reported.
    let _ = sockopt::set_socket_recv_buffer_size_force(&socket, WAITING);
    bind(&socket, &SocketAddrNetlink::new(0, groups))?;
    Ok(socket)
}

/// Has the kernel say in words why it refuses a request, and not repeat the request (Linux 4.12 and 4.3). Older ones give the
/// number alone.
fn explain_refusals(socket: &OwnedFd) {
    for option in [libc::NETLINK_EXT_ACK, libc::NETLINK_CAP_ACK] {
        let on: libc::c_int = 1;
        let length = size_of_val(&on) as libc::socklen_t;
        #[allow(unsafe_code)]
        // SAFETY: the value and its length are those of `on`, which outlives the call.
        unsafe {
            libc::setsockopt(socket.as_raw_fd(), libc::SOL_NETLINK, option, (&raw const on).cast(), length);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Attributes, Refusal, errno, u32_at};

    const INTERFACE: usize = 16;

    #[test]
    fn the_loopback_is_first_in_the_list() {
        let mut indices = Vec::new();
        let mut socket = Socket::open(Protocol::Route).unwrap();
        for _ in 0..2 {
            indices.clear();
            socket.list(libc::RTM_GETLINK, &[0; INTERFACE], |link| indices.extend(u32_at(link.body, 4))).unwrap();
            assert_eq!(indices[0], 1);
        }
    }

    /// The kernel's own words are those of Linux 6.1 and later, or none.
    #[test]
    fn an_interface_that_is_not_there_is_a_refusal() {
        let named = Attributes::default().text(libc::IFLA_IFNAME, "nowhere").into_octets();
        let body = [vec![0; INTERFACE], named].concat();
        let mut socket = Socket::open(Protocol::Route).unwrap();
        let error = socket.ask(libc::RTM_GETLINK, 0, &body, |_| panic!("an answer")).unwrap_err();
        assert_eq!(errno(&error), Some(libc::ENODEV), "{error}");
    }

    /// It refuses a table of a length that no header has, in words since Linux 4.20.
    #[test]
    fn the_kernels_own_words_are_passed_on() {
        let mut socket = Socket::open(Protocol::Route).unwrap();
        let body = [vec![0; INTERFACE], Attributes::default().with(libc::IFLA_IFNAME, &[]).into_octets()].concat();
        let error = socket.ask(libc::RTM_GETLINK, 0, &body, |_| ()).unwrap_err();
        let refusal = error.get_ref().and_then(|refusal| refusal.downcast_ref::<Refusal>());
        assert!(refusal.is_some_and(|refusal| refusal.why.as_ref().is_some_and(|why| !why.is_empty())), "{error:?}");
    }
}
