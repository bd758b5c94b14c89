//! Frames as they come in, with the time of their arrival.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use super::ring::{Ring, Slot};
use super::socket::{self, Socket};
use super::stamps::{HardwareStamps, Stamps};
use super::tag::Tag;
use crate::user::open::OpenError;
use crate::user::sys;

/// Receives all frames of an interface and says when each arrived.
#[derive(Debug)]
pub struct PacketReader {
    ring: Ring,
    socket: Socket,
    hardware: Option<HardwareStamps>,
}

/// A frame that came in.
#[derive(Debug, Clone, Copy)]
pub struct Frame<'a> {
    /// From its first address on, without its VLAN tag; less than was sent if it is [`cut`](Self::cut).
    pub bytes: &'a [u8],
    /// The VLAN tag, which the kernel takes out.
    pub tag: Option<Tag>,
    /// The ring's slot (about 1950 octets) was too short for it.
    pub cut: bool,
    /// When it arrived, in ns since 1970, by the clock of [`stamps`](Self::stamps).
    pub stamp_ns: u64,
    /// Who says so.
    pub stamps: Stamps,
}

impl PacketReader {
    /// Opens an interface of the calling thread's network namespace, with room for `frames` frames.
    ///
    /// `stamps` asks for hardware stamps, which are had where the port can stamp every frame ([`Self::stamps`] tells);
    /// its setting is put back when the reader is dropped, but not if the process is killed: then the port goes on
    /// stamping all frames, which harms nobody (`hwstamp_ctl -i INTERFACE -r 0` ends it).
    pub fn open(interface: &str, frames: u32, stamps: Stamps) -> Result<Self, OpenError> {
        let socket = Socket::new(interface, frames)?;
        let ring = socket.receive_into_ring()?;
        socket.ignore_outgoing()?;
        socket.receive_for_all_addresses()?;
        let hardware = (stamps == Stamps::Hardware).then(|| HardwareStamps::begin(&socket).ok()).flatten();
        // Has the kernel stamp frames where the driver hands them over, not only when they reach the ring.
        let early = (libc::SOF_TIMESTAMPING_RX_SOFTWARE | libc::SOF_TIMESTAMPING_SOFTWARE) as i32;
        sys::set_option(&socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPING, &early)
            .map_err(socket.explain("stamp frames on arrival", "2.6.30"))?;
        let reader = Self { ring, socket, hardware };
        reader.socket.start()?;
        Ok(reader)
    }

    /// Who stamps the frames of this interface. Single frames may lack a hardware stamp: [`Frame::stamps`].
    pub fn stamps(&self) -> Stamps {
        if self.hardware.is_some() { Stamps::Hardware } else { Stamps::Software }
    }

    /// Lends the next frame, if one is there; its place in the ring is free again afterwards.
    #[inline]
    pub fn next<R>(&mut self, take: impl FnOnce(Frame<'_>) -> R) -> Option<R> {
        self.ring.next(|slot| take(Frame::of(&slot)))
    }

    /// Waits until a frame is there, or the time is over, or a signal came.
    pub fn wait(&self, at_most: Duration) -> io::Result<bool> {
        socket::wait(&self.socket, at_most)
    }

    /// Frames that came in and found the ring full, since this was last asked.
    pub fn overflowed(&mut self) -> u64 {
        self.socket.take_drops()
    }

    /// Name of the interface when it was opened.
    pub fn interface(&self) -> &str {
        self.socket.interface()
    }

    /// Index of the interface.
    pub fn index(&self) -> u32 {
        self.socket.index()
    }
}

impl<'a> Frame<'a> {
    #[inline]
    fn of(slot: &Slot<'a>) -> Self {
        let hardware = slot.status & libc::TP_STATUS_TS_RAW_HARDWARE != 0;
        Self {
            bytes: slot.frame,
            tag: Tag::of(slot),
            cut: slot.cut,
            stamp_ns: u64::from(slot.seconds) * 1_000_000_000 + u64::from(slot.nanoseconds),
            stamps: if hardware { Stamps::Hardware } else { Stamps::Software },
        }
    }
}

impl Drop for PacketReader {
    fn drop(&mut self) {
        if let Some(hardware) = &self.hardware {
            hardware.end(&self.socket);
        }
    }
}

impl AsFd for PacketReader {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
