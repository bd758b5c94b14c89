//! Frames of a station, right to the driver.

use super::port::hand_over;
use super::socket::Socket;
use crate::user::open::OpenError;
use crate::user::port::Sent;
use crate::user::sys;

/// Stamps of earlier frames that are passed over in one call.
const MOST_STAMPS: u32 = 64;

/// Sends frames by an interface, and receives none.
#[derive(Debug)]
pub struct PacketSender {
    socket: Socket,
    address: [u8; 6],
}

impl PacketSender {
    /// Opens an interface of the calling thread's network namespace. Queueing disciplines of the interface are passed by.
    pub fn open(interface: &str) -> Result<Self, OpenError> {
        let socket = Socket::new(interface, 0)?;
        let address = socket.address().map_err(socket.explain("ask for its address", "2.2"))?;
        socket.bypass_queueing()?;
        socket.start_sending()?;
        Ok(Self { socket, address })
    }

    /// The interface's own address.
    pub fn address(&self) -> [u8; 6] {
        self.address
    }

    /// Whether the interface is up and has a carrier; not a call for each frame.
    pub fn is_running(&self) -> bool {
        self.socket.is_running()
    }

    /// The largest packet that the interface takes, in octets behind the EtherType.
    pub fn mtu(&self) -> std::io::Result<u32> {
        self.socket.mtu()
    }

    /// Has the kernel stamp each frame when its driver has it, for [`take_stamp`](Self::take_stamp).
    pub fn stamp_sent(&self) -> Result<(), OpenError> {
        self.socket.stamp_sent()
    }

    /// When the frame that was sent last left, in ns since 1970; nothing where its driver stamps none, or has not yet.
    /// Stamps of earlier frames are passed over.
    pub fn take_stamp(&mut self) -> Option<u64> {
        let mut last = None;
        for _ in 0..MOST_STAMPS {
            match sys::sent_stamp(&self.socket) {
                Ok(stamp) => last = stamp,
                Err(_) => break,
            }
        }
        last
    }

    /// Hands a frame over, without waiting.
    #[inline]
    pub fn send(&mut self, frame: &[u8]) -> Sent {
        hand_over(&self.socket, frame)
    }
}
