//! A packet socket, bound to one interface.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::{AddressFamily, SocketFlags, SocketType, netdevice, socket_with, sockopt};
use rustix::time::Timespec;

use super::ring::Ring;
use crate::user::open::OpenError;
use crate::user::sys;

/// A packet socket.
#[derive(Debug)]
pub struct Socket {
    fd: OwnedFd,
    interface: String,
    index: u32,
    frames: u32,
}

impl Socket {
    /// A socket for the interface; nothing arrives at it yet.
    pub fn new(interface: &str, frames: u32) -> Result<Self, OpenError> {
        let explain = |source: io::Error| OpenError::new(interface, "make a packet socket", "4.20", frames, source);
        // Without a protocol, no frame of any interface comes in before it is bound to one.
        let fd = socket_with(AddressFamily::PACKET, SocketType::RAW, SocketFlags::CLOEXEC, None)
            .map_err(|errno| explain(errno.into()))?;
        let index =
            netdevice::name_to_index(&fd, interface).map_err(|_| OpenError::NoInterface(interface.to_owned()))?;
        match sys::interface_kind(&fd, interface).map_err(explain)? {
            libc::ARPHRD_ETHER => Ok(Self { fd, interface: interface.to_owned(), index, frames }),
            _ => Err(OpenError::NotEthernet(interface.to_owned())),
        }
    }

    pub fn index(&self) -> u32 {
        self.index
    }

    pub fn interface(&self) -> &str {
        &self.interface
    }

    /// The interface's own address.
    pub fn address(&self) -> io::Result<[u8; 6]> {
        self.ask(|fd, name| sys::interface_address(fd, name))
    }

    /// Receives into a ring.
    pub fn receive_into_ring(&self) -> Result<Ring, OpenError> {
        let version = libc::tpacket_versions::TPACKET_V2 as i32;
        self.set(libc::PACKET_VERSION, &version).map_err(self.explain("give frames by TPACKET_V2", "2.6.31"))?;
        Ring::new(&self.fd, self.frames).map_err(self.explain("make a ring of frames", "2.6.31"))
    }

    /// Leaves frames that this machine itself sends out.
    pub fn ignore_outgoing(&self) -> Result<(), OpenError> {
        self.set(libc::PACKET_IGNORE_OUTGOING, &1i32).map_err(self.explain("leave out frames that go out", "4.20"))
    }

    /// Sends right to the driver.
    pub fn bypass_queueing(&self) -> Result<(), OpenError> {
        self.set(libc::PACKET_QDISC_BYPASS, &1i32).map_err(self.explain("send without a queueing discipline", "3.14"))
    }

    /// Receives frames for other stations, too, as long as this socket is open.
    pub fn receive_for_all_addresses(&self) -> Result<(), OpenError> {
        let request = libc::packet_mreq {
            mr_ifindex: self.index as i32,
            mr_type: libc::PACKET_MR_PROMISC as u16,
            mr_alen: 0,
            mr_address: [0; 8],
        };
        self.set(libc::PACKET_ADD_MEMBERSHIP, &request).map_err(self.explain("set promiscuous mode", "2.2"))
    }

    /// From here on frames come in.
    pub fn start(&self) -> Result<(), OpenError> {
        self.bind(libc::ETH_P_ALL as u16).map_err(self.explain("receive its frames", "2.2"))
    }

    /// From here on frames can be sent; none comes in.
    pub fn start_sending(&self) -> Result<(), OpenError> {
        self.bind(0).map_err(self.explain("send frames by it", "2.2"))
    }

    fn bind(&self, protocol: u16) -> io::Result<()> {
        let address = libc::sockaddr_ll {
            sll_family: libc::AF_PACKET as u16,
            sll_protocol: protocol.to_be(),
            sll_ifindex: self.index as i32,
            sll_hatype: 0,
            sll_pkttype: 0,
            sll_halen: 0,
            sll_addr: [0; 8],
        };
        sys::bind(&self.fd, &address)
    }

    pub fn set<T: sys::Plain>(&self, option: i32, value: &T) -> io::Result<()> {
        sys::set_option(&self.fd, libc::SOL_PACKET, option, value)
    }

    /// Has the kernel stamp frames as they leave, where the driver does that ([`sys::sent_stamp`]).
    pub fn stamp_sent(&self) -> Result<(), OpenError> {
        let stamps =
            libc::SOF_TIMESTAMPING_TX_SOFTWARE | libc::SOF_TIMESTAMPING_SOFTWARE | libc::SOF_TIMESTAMPING_OPT_TSONLY;
        sys::set_option(&self.fd, libc::SOL_SOCKET, libc::SO_TIMESTAMPING, &(stamps as i32))
            .map_err(self.explain("stamp frames as they leave", "4.0"))
    }

    /// Frames that found the ring full since this was last asked.
    pub fn take_drops(&self) -> u64 {
        sys::option::<libc::tpacket_stats>(&self.fd, libc::SOL_PACKET, libc::PACKET_STATISTICS)
            .map_or(0, |counted| counted.tp_drops.into())
    }

    /// Whether the interface is up and has a carrier; not a call for each frame.
    pub fn is_running(&self) -> bool {
        let wanted = libc::IFF_UP | libc::IFF_RUNNING;
        self.ask(|fd, name| sys::interface_flags(fd, name)).is_ok_and(|flags| flags & wanted == wanted)
    }

    /// The largest packet that the interface takes, in octets behind the EtherType.
    pub fn mtu(&self) -> io::Result<u32> {
        self.ask(|fd, name| sys::interface_mtu(fd, name))
    }

    /// Asks by the name that the interface has now.
    fn ask<T>(&self, question: impl Fn(BorrowedFd<'_>, &str) -> io::Result<T>) -> io::Result<T> {
        let name = netdevice::index_to_name_inlined(&self.fd, self.index)?;
        question(self.fd.as_fd(), name.as_str())
    }

    pub fn explain(&self, step: &'static str, since: &'static str) -> impl Fn(io::Error) -> OpenError + '_ {
        move |source| OpenError::new(&self.interface, step, since, self.frames, source)
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Waits until a frame is there, or the time is over; a signal ends it, too.
pub fn wait(socket: &Socket, at_most: Duration) -> io::Result<bool> {
    let mut fds = [PollFd::new(&socket.fd, PollFlags::IN)];
    let timeout = Timespec::try_from(at_most).ok();
    match poll(&mut fds, timeout.as_ref()) {
        Ok(_) => {
            if fds[0].revents().contains(PollFlags::ERR) {
                // The interface went down; once taken note of, that does not end the next wait at once.
                let _ = sockopt::socket_error(&socket.fd);
            }
            Ok(fds[0].revents().contains(PollFlags::IN))
        }
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}
