//! Datagrams of a station, by the machine's own stack.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;

use super::port::Sent;
use super::sys;

/// Why datagrams cannot be sent or received.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UdpError {
    /// There is no way to the other end.
    #[error("no datagrams can be sent to {0}: {1} (ip route get shows the way that the machine would take)")]
    Unreachable(SocketAddr, io::Error),
    /// Somebody else has the port, or the address is none of this machine's.
    #[error("no datagrams can be received at {0}: {1} (ss -ulpn lists who does)")]
    Taken(SocketAddr, io::Error),
    /// The kernel refuses an option.
    #[error("{0} is refused by the kernel: {1}")]
    Option(&'static str, io::Error),
    /// A priority that only some may have.
    #[error(
        "datagrams to {0} leave without their priority of {1}: one above 6 needs root or CAP_NET_RAW (before Linux 5.17 \
         CAP_NET_ADMIN)"
    )]
    Priority(SocketAddr, u32),
}

/// Sends datagrams to one address.
#[derive(Debug)]
pub struct UdpSender {
    socket: UdpSocket,
    refused: Option<UdpError>,
}

impl UdpSender {
    /// In the calling thread's network namespace. `priority` (0 to 15) is what queueing disciplines, and the map of a VLAN
    /// interface to code points, choose by. Where the user may not have it, datagrams leave without one
    /// ([`refused`](Self::refused)).
    pub fn open(to: SocketAddr, priority: u32) -> Result<Self, UdpError> {
        let unreachable = |error| UdpError::Unreachable(to, error);
        let socket = UdpSocket::bind(any_address(to)).map_err(unreachable)?;
        socket.connect(to).map_err(unreachable)?;
        socket.set_nonblocking(true).map_err(|error| UdpError::Option("a socket that does not wait", error))?;
        let refused = match sys::set_option(&socket, libc::SOL_SOCKET, sys::SO_PRIORITY, &priority) {
            Ok(()) => None,
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Some(UdpError::Priority(to, priority)),
            Err(error) => return Err(UdpError::Option("a priority of datagrams (SO_PRIORITY)", error)),
        };
        Ok(Self { socket, refused })
    }

    /// What was asked for and is not so: datagrams leave all the same.
    pub fn refused(&self) -> Option<&UdpError> {
        self.refused.as_ref()
    }

    /// Octets of the longest datagram that leaves as one packet, as far as the way is known: a longer one goes in fragments.
    pub fn room(&self) -> Option<usize> {
        room(&self.socket)
    }

    /// Hands a datagram over, without waiting.
    #[inline]
    pub fn send(&mut self, datagram: &[u8]) -> Sent {
        sent(|| self.socket.send(datagram))
    }
}

/// Octets of the longest datagram that leaves a connected socket as one packet, as far as the way is known.
pub(super) fn room(socket: &UdpSocket) -> Option<usize> {
    let ((level, option), headers) = match socket.peer_addr().ok()? {
        SocketAddr::V4(_) => ((libc::IPPROTO_IP, libc::IP_MTU), 20 + 8),
        SocketAddr::V6(_) => ((libc::IPPROTO_IPV6, libc::IPV6_MTU), 40 + 8),
    };
    let mtu: i32 = sys::option(socket, level, option).ok()?;
    usize::try_from(mtu).ok()?.checked_sub(headers)
}

/// Any address of this machine, of the family of another.
pub(super) fn any_address(of: SocketAddr) -> SocketAddr {
    match of {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    }
}

/// What became of a datagram.
#[inline]
pub(super) fn sent(send: impl Fn() -> io::Result<usize>) -> Sent {
    match send() {
        Ok(_) => Sent::Done,
        // What the other end said of an earlier one: nobody is at this port. That is reported once, and this one was not
        // sent.
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => match send() {
            Ok(_) => Sent::Done,
            Err(_) => Sent::Refused,
        },
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Sent::Busy,
        Err(error) => match error.raw_os_error() {
            Some(libc::ENOBUFS | libc::ENOMEM | libc::EINTR) => Sent::Busy,
            Some(libc::ENETDOWN | libc::ENETUNREACH | libc::EHOSTUNREACH) => Sent::Down,
            _ => Sent::Refused,
        },
    }
}

/// Receives datagrams, with the kernel's stamps.
#[derive(Debug)]
pub struct UdpReceiver {
    socket: UdpSocket,
}

impl UdpReceiver {
    /// In the calling thread's network namespace, with room for about `octets` in the kernel as far as it allows.
    pub fn open(at: SocketAddr, octets: i32) -> Result<Self, UdpError> {
        let socket = UdpSocket::bind(at).map_err(|error| UdpError::Taken(at, error))?;
        let set = |option: i32, value: i32| sys::set_option(&socket, libc::SOL_SOCKET, option, &value);
        // As much as root may have, else as much as anybody may.
        let _ = set(libc::SO_RCVBUF, octets).and_then(|()| set(libc::SO_RCVBUFFORCE, octets));
        let stamps = libc::SOF_TIMESTAMPING_RX_SOFTWARE | libc::SOF_TIMESTAMPING_SOFTWARE;
        set(libc::SO_TIMESTAMPING, stamps as i32)
            .map_err(|error| UdpError::Option("stamps of datagrams (SO_TIMESTAMPING)", error))?;
        Ok(Self { socket })
    }

    /// Where it receives.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// The next datagram and when it came, in ns since 1970; nothing if there is none.
    pub fn next(&mut self, to: &mut [u8]) -> Option<(usize, Option<u64>)> {
        sys::receive_stamped(&self.socket, to).ok()
    }

    /// Waits until a datagram is there, or the time is over, or a signal came.
    pub fn wait(&self, at_most: Duration) -> io::Result<bool> {
        let mut fds = [PollFd::new(&self.socket, PollFlags::IN)];
        match poll(&mut fds, Timespec::try_from(at_most).ok().as_ref()) {
            Ok(_) => Ok(fds[0].revents().contains(PollFlags::IN)),
            Err(rustix::io::Errno::INTR) => Ok(false),
            Err(errno) => Err(errno.into()),
        }
    }
}

impl AsFd for UdpReceiver {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use ontick_rt::clock::ClockId;

    use super::*;

    #[test]
    fn a_datagram_comes_with_the_kernel_s_stamp() {
        let mut receiver = UdpReceiver::open("127.0.0.1:0".parse().unwrap(), 1 << 20).unwrap();
        let at = receiver.address().unwrap();
        let mut sender = UdpSender::open(at, 3).unwrap();
        assert!(sender.room() >= Some(1_472), "{:?}", sender.room());
        let before_ns = ClockId::Realtime.now_ns();
        assert_eq!(sender.send(b"datagram"), Sent::Done);
        assert!(receiver.wait(Duration::from_secs(30)).unwrap());
        let mut room = [0; 64];
        let (octets, stamp_ns) = receiver.next(&mut room).unwrap();
        assert_eq!(&room[..octets], b"datagram");
        // The first stamps of a machine may be on their way to being switched on (Documentation/networking/timestamping.rst).
        if let Some(stamp_ns) = stamp_ns {
            assert!((before_ns..=ClockId::Realtime.now_ns()).contains(&stamp_ns), "{stamp_ns}");
        }
        assert_eq!(receiver.next(&mut room), None);
        let taken = UdpReceiver::open(at, 1 << 20).unwrap_err().to_string();
        assert!(taken.starts_with(&format!("no datagrams can be received at {at}")), "{taken}");
    }
}
