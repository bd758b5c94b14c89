//! When frames arrived, by whose clock.

use std::io;

use super::socket::Socket;
use crate::user::sys;

/// Who stamped a frame on arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stamps {
    /// The port itself, on its own clock (`/dev/ptp…`, which linuxptp keeps on TAI or sets to it).
    Hardware,
    /// The kernel on CLOCK_REALTIME, when the driver handed the frame over.
    Software,
}

/// Hardware stamps of all frames, until this is dropped.
#[derive(Debug)]
pub struct HardwareStamps {
    /// What to set back; nothing if they were there before.
    before: Option<libc::hwtstamp_config>,
}

impl HardwareStamps {
    /// Has the interface stamp all frames, if it can.
    pub fn begin(socket: &Socket) -> io::Result<Self> {
        let before = sys::hardware_stamps(socket, socket.interface())?;
        let all = libc::HWTSTAMP_FILTER_ALL as i32;
        let mut wanted = libc::hwtstamp_config { rx_filter: all, ..before };
        if before.rx_filter != all {
            sys::set_hardware_stamps(socket, socket.interface(), &mut wanted)?;
        }
        let begun = Self { before: (before.rx_filter != all).then_some(before) };
        let raw = (libc::SOF_TIMESTAMPING_RX_HARDWARE | libc::SOF_TIMESTAMPING_RAW_HARDWARE) as i32;
        if let Err(refused) = socket.set(libc::PACKET_TIMESTAMP, &raw) {
            begun.end(socket);
            return Err(refused);
        }
        Ok(begun)
    }

    /// Sets back what the interface stamped before.
    pub fn end(&self, socket: &Socket) {
        if let Some(mut before) = self.before {
            // The interface may be gone by now, and its setting with it.
            let _ = sys::set_hardware_stamps(socket, socket.interface(), &mut before);
        }
    }
}
