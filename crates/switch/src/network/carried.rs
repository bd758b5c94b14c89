//! How long a stream's message occupies a link.

use super::{LinkId, Network, StreamId};
use crate::wire;

/// What counts as a frame's length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Overhead {
    /// All that the wire carries: preamble, addresses, VLAN tag, EtherType, padding, check sequence and the gap to the
    /// next frame (IEEE 802.3 clauses 3.1.1 and 4.4.2). Messages above 1500 octets take several frames.
    #[default]
    Wire,
    /// The message's octets alone, as one frame however long: what tools that ignore the rest reckon with.
    PayloadOnly,
}

/// A message on a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Carried {
    /// Its frames.
    pub frames: u32,
    /// Of the first (and largest) frame, in ns.
    pub first_ns: u64,
    /// Of the last frame.
    pub last_ns: u64,
    /// Of all, back to back.
    pub all_ns: u64,
}

impl Overhead {
    /// How long a message of `size` octets occupies a link of `rate` bits per second.
    ///
    /// ```
    /// use ontick_switch::network::Overhead;
    /// // 1500 octets with header, tag, preamble, check sequence and gap; and 8 ns an octet.
    /// assert_eq!(Overhead::Wire.carried(1500, 1_000_000_000).all_ns, 12_336);
    /// assert_eq!(Overhead::PayloadOnly.carried(1500, 1_000_000_000).all_ns, 12_000);
    /// assert_eq!(Overhead::Wire.carried(3100, 1_000_000_000).frames, 3);
    /// ```
    pub fn carried(self, size: u32, rate: u64) -> Carried {
        match self {
            Overhead::PayloadOnly => {
                let ns = (u128::from(size.max(1)) * 8_000_000_000).div_ceil(u128::from(rate)) as u64;
                Carried { frames: 1, first_ns: ns, last_ns: ns, all_ns: ns }
            }
            Overhead::Wire => {
                let frames = size.div_ceil(wire::LARGEST_SDU).max(1);
                let last = size - (frames - 1) * wire::LARGEST_SDU;
                let last_ns = wire::largest_frame_ns(last, rate);
                let full_ns = wire::largest_frame_ns(wire::LARGEST_SDU, rate);
                let first_ns = if frames == 1 { last_ns } else { full_ns };
                Carried { frames, first_ns, last_ns, all_ns: u64::from(frames - 1) * full_ns + last_ns }
            }
        }
    }
}

impl Network {
    /// How long a stream's message occupies a link.
    pub fn carried(&self, stream: StreamId, link: LinkId) -> Carried {
        self.overhead.carried(self.streams[stream].size, self.links[link].rate)
    }
}
