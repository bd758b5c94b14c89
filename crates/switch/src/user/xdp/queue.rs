//! One AF_XDP socket, for one queue of an interface.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::xdp::{
    SocketAddrXdp, SocketAddrXdpFlags, XDP_PGOFF_RX_RING, XDP_PGOFF_TX_RING, XDP_UMEM_PGOFF_COMPLETION_RING,
    XDP_UMEM_PGOFF_FILL_RING, XdpDesc, XdpDescOptions, XdpUmemReg, XdpUmemRegFlags,
};
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, bind, send, socket_with, sockopt};

use super::descriptors::Descriptors;
use super::memory::Frames;
use super::ring::{Incoming, Outgoing};
use crate::user::port::{MAX_BURST, Received};

/// Frames that the kernel may still have after they were sent.
const SENDING: u32 = 512;

/// Both ways of one queue.
#[derive(Debug)]
pub struct Queue {
    socket: OwnedFd,
    received: Incoming<XdpDesc>,
    room: Outgoing<u64>,
    to_send: Outgoing<XdpDesc>,
    sent: Incoming<u64>,
    /// Pieces that a frame to be sent can be put in.
    free: Vec<u32>,
    /// The piece of the last frame, if the kernel did not take that.
    untaken: Option<u32>,
    /// Drops that were reported already.
    dropped: u64,
    /// Last, as the kernel lets go of it when the socket is closed.
    frames: Frames,
}

/// What the kernel made of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HandedOver {
    /// It has it.
    Taken,
    /// It gave it to the driver, which dropped it.
    Dropped,
    /// It does not have it, for this reason.
    Left(Errno),
    /// Too many frames that were handed over earlier are still on their way.
    NoRoom,
}

impl Queue {
    /// Opens queue `number` of an interface, with room for `frames` frames that come in (a power of two). Nothing does
    /// before the socket is known to the program that redirects.
    pub fn open(index: u32, number: u32, frames: u32) -> io::Result<Self> {
        let socket = socket_with(AddressFamily::XDP, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
        let memory = Frames::new(frames + SENDING)?;
        let (addr, len) = memory.extent();
        let pieces = XdpUmemReg {
            addr,
            len,
            chunk_size: Frames::PIECE as u32,
            headroom: 0,
            flags: XdpUmemRegFlags::empty(),
            tx_metadata_len: 0,
        };
        sockopt::set_xdp_umem_reg(&socket, pieces)?;
        sockopt::set_xdp_umem_fill_ring_size(&socket, frames)?;
        sockopt::set_xdp_umem_completion_ring_size(&socket, SENDING)?;
        sockopt::set_xdp_rx_ring_size(&socket, frames)?;
        sockopt::set_xdp_tx_ring_size(&socket, SENDING)?;
        let offsets = sockopt::xdp_mmap_offsets(&socket)?;
        let mut room = Outgoing::over(Descriptors::map(&socket, XDP_UMEM_PGOFF_FILL_RING, &offsets.fr, frames)?);
        (0..frames).for_each(|piece| room.put(u64::from(piece) * Frames::PIECE as u64));
        let queue = Self {
            received: Incoming::over(Descriptors::map(&socket, XDP_PGOFF_RX_RING, &offsets.rx, frames)?),
            room,
            to_send: Outgoing::over(Descriptors::map(&socket, XDP_PGOFF_TX_RING, &offsets.tx, SENDING)?),
            sent: Incoming::over(Descriptors::map(&socket, XDP_UMEM_PGOFF_COMPLETION_RING, &offsets.cr, SENDING)?),
            free: (frames..frames + SENDING).collect(),
            untaken: None,
            dropped: 0,
            frames: memory,
            socket,
        };
        queue.bind(index, number)?;
        Ok(queue)
    }

    /// A queue whose last socket has just been closed is busy for a moment.
    fn bind(&self, index: u32, number: u32) -> io::Result<()> {
        const PATIENCE: Duration = Duration::from_secs(2);
        let begun = Instant::now();
        loop {
            // Copying: what the kernel takes of a frame it takes while it is called, and at no other time.
            match bind(&self.socket, &SocketAddrXdp::new(SocketAddrXdpFlags::XDP_COPY, index, number)) {
                Err(Errno::BUSY) if begun.elapsed() < PATIENCE => std::thread::sleep(Duration::from_millis(5)),
                done => return Ok(done?),
            }
        }
    }

    /// Takes the next frame, if there is one.
    #[inline]
    pub fn receive(&mut self, slot: &mut [u8]) -> Received {
        let Some(reported) = self.received.take() else { return Received::Nothing };
        let received = match (self.frames.get(reported.addr, reported.len), slot.get_mut(..reported.len as usize)) {
            (Some(frame), Some(to)) => {
                to.copy_from_slice(frame);
                Received::Frame(frame.len())
            }
            _ => Received::Oversized,
        };
        let piece = Frames::PIECE as u64;
        self.room.put(reported.addr / piece * piece);
        received
    }

    /// Hands a frame over, which fits a piece.
    #[inline]
    pub fn send(&mut self, frame: &[u8]) -> HandedOver {
        self.take_back_sent();
        let Some(piece) = self.untaken.or_else(|| self.free.pop()) else {
            // The kernel gives room back when frames leave; some drivers look after that only when called.
            let _ = send(&self.socket, &[], SendFlags::DONTWAIT);
            return HandedOver::NoRoom;
        };
        let (addr, room) = self.frames.piece(piece);
        room[..frame.len()].copy_from_slice(frame);
        let descriptor = XdpDesc { addr, len: frame.len() as u32, options: XdpDescOptions::empty() };
        match self.untaken {
            Some(_) => self.to_send.put_in_place_of_last(descriptor),
            None => self.to_send.put(descriptor),
        }
        let called = send(&self.socket, &[], SendFlags::DONTWAIT);
        let outcome = match called {
            Ok(_) if self.to_send.untaken() == 0 => HandedOver::Taken,
            Ok(_) => HandedOver::Left(Errno::AGAIN),
            // What the driver dropped the kernel has taken, although some kernels show that with the next frame only.
            Err(Errno::BUSY) => HandedOver::Dropped,
            Err(errno) => HandedOver::Left(errno),
        };
        self.untaken = matches!(outcome, HandedOver::Left(_)).then_some(piece);
        outcome
    }

    /// Hands frames over in one call, which fit a piece each; how many the kernel has.
    pub fn send_burst(&mut self, frames: &[&[u8]]) -> usize {
        self.take_back_sent();
        let frames = &frames[..frames.len().min(MAX_BURST).min(self.free.len())];
        if self.untaken.is_some() || frames.is_empty() {
            return 0;
        }
        let mut pieces = [0; MAX_BURST];
        for (frame, place) in frames.iter().zip(&mut pieces) {
            let Some(piece) = self.free.pop() else { unreachable!("there are as many") };
            let (addr, room) = self.frames.piece(piece);
            room[..frame.len()].copy_from_slice(frame);
            self.to_send.put(XdpDesc { addr, len: frame.len() as u32, options: XdpDescOptions::empty() });
            *place = piece;
        }
        match send(&self.socket, &[], SendFlags::DONTWAIT) {
            Ok(_) if self.to_send.untaken() == 0 => frames.len(),
            ended => self.revoke(&pieces[..frames.len()], ended.err()),
        }
    }

    /// Takes back what the kernel does not have of frames that were handed over together; how many it sent. Not every kernel
    /// shows which it has read: those that it has yet to read are made invalid, and it counts them when it passes over them.
    #[cold]
    fn revoke(&mut self, pieces: &[u32], why: Option<Errno>) -> usize {
        let invalid = XdpDesc { addr: self.frames.extent().1, len: 1, options: XdpDescOptions::empty() };
        (0..pieces.len()).for_each(|behind| self.to_send.replace(behind as u32, invalid));
        let mut unread = pieces.len();
        // While the link is down it reads none.
        if !matches!(why, Some(Errno::NETDOWN | Errno::NXIO | Errno::NODEV)) {
            let passed_over = || sockopt::xdp_statistics(&self.socket).map_or(0, |reported| reported.tx_invalid_descs);
            let before = passed_over();
            unread = 0;
            // Some kernels pass over one in each call.
            for _ in pieces {
                let _ = send(&self.socket, &[], SendFlags::DONTWAIT);
                match (passed_over() - before) as usize {
                    same if same == unread => break,
                    more => unread = more,
                }
            }
        }
        let has_read = pieces.len().saturating_sub(unread);
        self.free.extend(&pieces[has_read..]);
        // The last that it read was dropped by the driver.
        if why == Some(Errno::BUSY) { has_read.saturating_sub(1) } else { has_read }
    }

    /// Has back the pieces of frames that have left.
    #[inline]
    fn take_back_sent(&mut self) {
        while let Some(address) = self.sent.take() {
            // Some kernels give invalid descriptors back, too.
            if address < self.frames.extent().1 {
                self.free.push((address / Frames::PIECE as u64) as u32);
            }
        }
    }

    /// Frames that came in and found no room, or had more octets than a piece has, since this was last asked.
    pub fn take_drops(&mut self) -> u64 {
        let Ok(reported) = sockopt::xdp_statistics(&self.socket) else { return 0 };
        // An empty ring of room is counted among rx_dropped, too.
        let all = reported.rx_dropped + reported.rx_ring_full.unwrap_or_default();
        all - std::mem::replace(&mut self.dropped, all)
    }
}

impl AsFd for Queue {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
