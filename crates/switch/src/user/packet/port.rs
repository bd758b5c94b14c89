//! A port that receives by a ring and sends by system calls.

use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use ontick_rt::clock::ClockId;
use rustix::io::Errno;
use rustix::net::{MMsgHdr, SendAncillaryBuffer, SendFlags, send, sendmmsg};

use super::checksum;
use super::ring::{Ring, Slot};
use super::socket::{self, Socket};
use super::tag::Tag;
use super::whole;
use crate::user::bpf::Attached;
use crate::user::open::OpenError;
use crate::user::port::{MAX_BURST, Port, Received, Sent};

const SECOND_NS: u64 = 1_000_000_000;
/// Octets of both addresses; the VLAN tag comes behind them.
const ADDRESSES: usize = 12;

/// A port of the user data plane by a packet socket.
#[derive(Debug)]
pub struct PacketPort {
    ring: Ring,
    socket: Socket,
    /// When the kernel had the frame that was received last: seconds and nanoseconds of its clock (packet(7)).
    came: (u32, u32),
    /// What keeps the other end from joining frames.
    whole: Option<Attached>,
}

impl PacketPort {
    /// Opens an interface of the calling thread's network namespace, with room for `frames` frames that come in
    /// ([`super::DEFAULT_FRAMES`] is plenty for one core).
    pub fn open(interface: &str, frames: u32) -> Result<Self, OpenError> {
        let socket = Socket::new(interface, frames)?;
        let ring = socket.receive_into_ring()?;
        socket.ignore_outgoing()?;
        socket.bypass_queueing()?;
        socket.receive_for_all_addresses()?;
        socket.start()?;
        Ok(Self { ring, socket, came: (0, 0), whole: None })
    }

    /// Name of the interface when it was opened.
    pub fn interface(&self) -> &str {
        self.socket.interface()
    }

    /// Index of the interface.
    pub fn index(&self) -> u32 {
        self.socket.index()
    }

    /// Has the other end of a virtual Ethernet pair send single frames, as long as this port is open; the interface
    /// itself must not join them again (GRO).
    pub fn keep_whole(&mut self) -> io::Result<()> {
        self.whole = Some(whole::keep_whole(self.index())?);
        Ok(())
    }

    /// For callers that need not be on time: waits until a frame is there, or the time is over.
    pub fn wait(&self, at_most: Duration) -> io::Result<bool> {
        socket::wait(&self.socket, at_most)
    }
}

impl Port for PacketPort {
    #[inline]
    fn receive(&mut self, slot: &mut [u8]) -> Received {
        let came = &mut self.came;
        let taken = self.ring.next(|taken| {
            *came = (taken.seconds, taken.nanoseconds);
            put_together(&taken, slot)
        });
        taken.unwrap_or(Received::Nothing)
    }

    fn age_ns(&self) -> u64 {
        age_ns(self.came, ClockId::Realtime.now_ns())
    }

    #[inline]
    fn send(&mut self, frame: &[u8]) -> Sent {
        hand_over(&self.socket, frame)
    }

    #[inline]
    fn send_burst(&mut self, frames: &[&[u8]]) -> usize {
        hand_over_burst(&self.socket, frames)
    }

    fn overflowed(&mut self) -> u64 {
        self.socket.take_drops()
    }
}

impl AsFd for PacketPort {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// How long ago the kernel had a frame. Where that clock was set meanwhile nobody knows.
fn age_ns((seconds, nanoseconds): (u32, u32), now_ns: u64) -> u64 {
    // The stamp's seconds go round in 2106.
    let ago_s = ((now_ns / SECOND_NS) as u32).wrapping_sub(seconds) as i32;
    let ago_ns = i64::from(ago_s) * SECOND_NS as i64 + (now_ns % SECOND_NS) as i64 - i64::from(nanoseconds);
    u64::try_from(ago_ns).ok().filter(|ago_ns| *ago_ns <= SECOND_NS).unwrap_or(0)
}

/// The frame as it was on the wire, or would have been.
#[inline]
fn put_together(taken: &Slot<'_>, to: &mut [u8]) -> Received {
    if taken.cut {
        return Received::Oversized;
    }
    let tag = Tag::of(taken).filter(|_| taken.frame.len() >= ADDRESSES);
    let octets = taken.frame.len() + if tag.is_some() { Tag::OCTETS } else { 0 };
    let Some(to) = to.get_mut(..octets) else { return Received::Oversized };
    match tag {
        Some(tag) => {
            to[..ADDRESSES].copy_from_slice(&taken.frame[..ADDRESSES]);
            to[ADDRESSES..ADDRESSES + Tag::OCTETS].copy_from_slice(&tag.octets());
            to[ADDRESSES + Tag::OCTETS..].copy_from_slice(&taken.frame[ADDRESSES..]);
        }
        None => to.copy_from_slice(taken.frame),
    }
    if taken.status & libc::TP_STATUS_CSUMNOTREADY != 0 {
        checksum::finish(to);
    }
    Received::Frame(octets)
}

/// Sends a frame, without waiting.
#[inline]
pub(super) fn hand_over(socket: &Socket, frame: &[u8]) -> Sent {
    match send(socket, frame, SendFlags::DONTWAIT) {
        Ok(_) => Sent::Done,
        // When the interface goes down, the socket keeps that in mind for one call, even if it is up again.
        Err(Errno::NETDOWN) => why(send(socket, frame, SendFlags::DONTWAIT), socket),
        refused => why(refused, socket),
    }
}

/// Sends frames in one call, without waiting; how many were taken.
#[inline]
fn hand_over_burst(socket: &Socket, frames: &[&[u8]]) -> usize {
    let count = frames.len().min(MAX_BURST);
    let parts: [IoSlice<'_>; MAX_BURST] =
        std::array::from_fn(|n| IoSlice::new(frames.get(n).copied().unwrap_or_default()));
    let mut nothing_beside: [SendAncillaryBuffer<'_, '_, '_>; MAX_BURST] = Default::default();
    let mut parts = parts.chunks(1);
    let mut messages = nothing_beside.each_mut().map(|nothing| MMsgHdr::new(parts.next().unwrap_or_default(), nothing));
    // An error is reported only where the very first one was not taken.
    sendmmsg(socket, &mut messages[..count], SendFlags::DONTWAIT).unwrap_or(0)
}

/// What became of a frame.
#[cold]
pub(super) fn why(sent: rustix::io::Result<usize>, socket: &Socket) -> Sent {
    match sent {
        Ok(_) => Sent::Done,
        // The driver's queue is full; a link without carrier is reported in the same way.
        Err(Errno::NOBUFS) if !socket.is_running() => Sent::Down,
        Err(Errno::NOBUFS | Errno::AGAIN | Errno::NOMEM | Errno::INTR) => Sent::Busy,
        Err(Errno::NETDOWN | Errno::NXIO | Errno::NODEV) => Sent::Down,
        Err(_) => Sent::Refused,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_as_old_as_the_clock_says_that_was_not_set_meanwhile() {
        let now_ns = 1_700_000_001_000_005_000;
        assert_eq!(age_ns((1_700_000_001, 2_000), now_ns), 3_000);
        assert_eq!(age_ns((1_700_000_000, 999_999_000), now_ns), 6_000);
        assert_eq!(age_ns((1_700_000_001, 9_000), now_ns), 0, "set back");
        assert_eq!(age_ns((1_699_999_999, 0), now_ns), 0, "set on");
        assert_eq!(age_ns((0, 500_000_000), ((1 << 32) + 1) * SECOND_NS), 500_000_000);
    }
}
