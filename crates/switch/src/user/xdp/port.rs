//! A port of the user data plane by AF_XDP.

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::time::Timespec;

use super::QUEUES;
use super::program::{Sockets, redirect, redirect_with_tags};
use super::queue::{HandedOver, Queue};
use crate::link;
use crate::user::bpf::{Attached, NO_QUEUE, XdpMode};
use crate::user::open::OpenError;
use crate::user::packet::{Socket, checksum};
use crate::user::port::{Port, Received, Sent};
use ontick_tsn::wire;

/// The shortest that a frame can be: addresses and EtherType.
const SHORTEST: usize = wire::HEADER as usize;
/// What a queue has at least.
const LEAST: u32 = 64;

/// A port of the user data plane by AF_XDP sockets.
#[derive(Debug)]
pub struct XdpPort {
    /// First, so that nothing comes in any more when the sockets close.
    _redirection: Attached,
    mode: XdpMode,
    queues: Vec<Queue>,
    /// The queue whose turn it is.
    next: usize,
    /// The queue that was asked last for what it dropped.
    asked: usize,
    /// The largest frame without a VLAN tag.
    largest: usize,
    /// Keeps the interface promiscuous, and answers questions about it.
    interface: Socket,
}

impl XdpPort {
    /// Opens an interface of the calling thread's network namespace, with room for `frames` frames that come in; where
    /// there are several receive queues, each has room for half as many, as flows seldom spread evenly.
    pub fn open(interface: &str, frames: u32) -> Result<Self, OpenError> {
        let socket = Socket::new(interface, frames)?;
        let links = link::list().map_err(socket.explain("list interfaces", "2.6"))?;
        let link = links.into_iter().find(|link| link.index == socket.index()).unwrap_or_default();
        let queues = open_queues(&socket, link.receive_queues, frames)?;
        let failed = |step| socket.explain(step, "5.9");
        let sockets = Sockets::new(queues.len() as u32).map_err(failed("make a map of sockets"))?;
        for (number, queue) in queues.iter().enumerate() {
            sockets.set(number as u32, queue.as_fd()).map_err(failed("enter a socket in its map"))?;
        }
        socket.receive_for_all_addresses()?;
        let largest = largest(&socket).map_err(failed("tell its MTU"))?;
        let (redirection, mode) =
            attach(&sockets, &socket, link.kind.as_deref()).map_err(|source| match source.raw_os_error() {
                Some(libc::EBUSY | libc::EEXIST) => {
                    OpenError::InUse { interface: interface.to_owned(), what: "the place of its XDP program" }
                }
                Some(libc::EPERM | libc::EACCES) => OpenError::NotPermitted(interface.to_owned()),
                Some(NO_QUEUE) if link.kind.as_deref() == Some("veth") => {
                    OpenError::FewReceiveQueues(interface.to_owned())
                }
                _ if keeps_tags_beside(link.kind.as_deref()) => {
                    OpenError::HiddenTags { interface: interface.to_owned(), source }
                }
                _ => failed("attach a program that redirects frames")(source),
            })?;
        Ok(Self { _redirection: redirection, mode, queues, next: 0, asked: 0, largest, interface: socket })
    }

    /// Name of the interface when it was opened.
    pub fn interface(&self) -> &str {
        self.interface.interface()
    }

    /// Index of the interface.
    pub fn index(&self) -> u32 {
        self.interface.index()
    }

    /// Whether the driver itself redirects frames, before the network stack spends time on them.
    pub fn in_driver(&self) -> bool {
        self.mode == XdpMode::Driver
    }

    /// For callers that need not be on time: waits until a frame is there, or the time is over, or a signal came.
    pub fn wait(&self, at_most: Duration) -> io::Result<bool> {
        let mut fds: Vec<PollFd<'_>> = self.queues.iter().map(|queue| PollFd::new(queue, PollFlags::IN)).collect();
        match poll(&mut fds, Timespec::try_from(at_most).ok().as_ref()) {
            Ok(_) => Ok(fds.iter().any(|fd| fd.revents().contains(PollFlags::IN))),
            Err(Errno::INTR) => Ok(false),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Whether a frame is too long for the interface; its MTU may have grown since.
    fn too_long(&mut self, frame: &[u8]) -> bool {
        let tag = if matches!(frame[12..14], [0x81, 0x00] | [0x88, 0xa8]) { wire::TAG as usize } else { 0 };
        if frame.len() <= self.largest + tag {
            return false;
        }
        self.largest = largest(&self.interface).unwrap_or(self.largest);
        frame.len() > self.largest + tag
    }
}

impl Port for XdpPort {
    #[inline]
    fn receive(&mut self, slot: &mut [u8]) -> Received {
        for _ in 0..self.queues.len() {
            let received = self.queues[self.next].receive(slot);
            self.next = if self.next + 1 < self.queues.len() { self.next + 1 } else { 0 };
            if let Received::Frame(octets) = received {
                checksum::finish_where_left(&mut slot[..octets]);
            }
            if received != Received::Nothing {
                return received;
            }
        }
        Received::Nothing
    }

    #[inline]
    fn send(&mut self, frame: &[u8]) -> Sent {
        if frame.len() < SHORTEST || self.too_long(frame) {
            return Sent::Refused;
        }
        match self.queues[0].send(frame) {
            HandedOver::Taken => Sent::Done,
            // So do drivers whose queue is full, and any link without carrier.
            HandedOver::Dropped if !self.interface.is_running() => Sent::Down,
            HandedOver::Left(Errno::NETDOWN | Errno::NXIO | Errno::NODEV) => Sent::Down,
            HandedOver::Dropped | HandedOver::Left(_) | HandedOver::NoRoom => Sent::Busy,
        }
    }

    fn send_burst(&mut self, frames: &[&[u8]]) -> usize {
        let fit = frames.iter().take_while(|frame| frame.len() >= SHORTEST && !self.too_long(frame)).count();
        self.queues[0].send_burst(&frames[..fit])
    }

    fn overflowed(&mut self) -> u64 {
        // One system call, however many queues there are.
        self.asked = if self.asked + 1 < self.queues.len() { self.asked + 1 } else { 0 };
        self.queues[self.asked].take_drops()
    }
}

/// A socket for each queue that the interface has.
fn open_queues(socket: &Socket, queues: u32, frames: u32) -> Result<Vec<Queue>, OpenError> {
    let failed = |source: io::Error| match source.raw_os_error() {
        Some(libc::EBUSY) => OpenError::InUse { interface: socket.interface().to_owned(), what: "one of its queues" },
        _ => socket.explain("make an AF_XDP socket", "5.9")(source),
    };
    let queues = queues.clamp(1, QUEUES);
    let share = (frames / queues.min(2)).max(LEAST).checked_next_power_of_two().unwrap_or(u32::MAX / 2 + 1);
    let mut open = Vec::new();
    for number in 0..queues {
        match Queue::open(socket.index(), number, share) {
            Ok(queue) => open.push(queue),
            // The interface could have more queues than it has at present.
            Err(refused) if refused.raw_os_error() == Some(libc::EINVAL) && number > 0 => break,
            Err(refused) => return Err(failed(refused)),
        }
    }
    Ok(open)
}

/// Interfaces that take frames over from within this machine, with their VLAN tags beside them.
fn keeps_tags_beside(kind: Option<&str>) -> bool {
    matches!(kind, Some("veth" | "netkit" | "macvlan" | "macvtap" | "ipvlan" | "ipvtap" | "vlan"))
}

/// By the driver if that can, else by the stack; where tags may be beside the frames, only so that they are put back.
fn attach(sockets: &Sockets, socket: &Socket, kind: Option<&str>) -> io::Result<(Attached, XdpMode)> {
    if keeps_tags_beside(kind) {
        return Ok((redirect_with_tags(sockets, socket.index())?, XdpMode::Driver));
    }
    match redirect(sockets, socket.index(), XdpMode::Driver) {
        Ok(attached) => Ok((attached, XdpMode::Driver)),
        Err(busy) if matches!(busy.raw_os_error(), Some(libc::EBUSY | libc::EEXIST)) => Err(busy),
        Err(_) => Ok((redirect(sockets, socket.index(), XdpMode::Generic)?, XdpMode::Generic)),
    }
}

/// The largest frame that the interface takes, without a VLAN tag.
fn largest(socket: &Socket) -> io::Result<usize> {
    let frame = socket.mtu()? as usize + wire::HEADER as usize;
    Ok(frame.min(super::memory::Frames::PIECE - wire::TAG as usize))
}
