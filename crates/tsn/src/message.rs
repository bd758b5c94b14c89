//! What a message of some size is on a link: its frames, their bits, and how long they occupy it.

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
pub struct MessageTime {
    /// Its frames.
    pub frames: u32,
    /// Of the first (and largest) frame, in ns.
    pub first_ns: u64,
    /// Of the last frame.
    pub last_ns: u64,
    /// Of all, back to back.
    pub all_ns: u64,
    /// Of each frame, the gap behind it: the link is not free before its end, but the frame has left without it.
    pub gap_ns: u64,
}

/// A message on a link, exactly: what bounds are proved with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bits {
    /// Of all frames, each with the gap behind it.
    pub all: u64,
    /// Of the first (and largest) frame with its gap.
    pub first: u64,
    /// Of the last (and smallest) frame without its gap.
    pub last_alone: u64,
    /// Of the gap behind each frame.
    pub gap: u64,
}

impl Bits {
    /// So long at least on a link of `rate` bits per second: in ns, rounded down.
    pub fn least_ns(bits: u64, rate: u64) -> u64 {
        (u128::from(bits) * 1_000_000_000 / u128::from(rate.max(1))) as u64
    }

    /// So long at most: rounded up.
    pub fn most_ns(bits: u64, rate: u64) -> u64 {
        (u128::from(bits) * 1_000_000_000).div_ceil(u128::from(rate.max(1))) as u64
    }
}

impl Overhead {
    /// How long a message of `size` octets occupies a link of `rate` bits per second.
    ///
    /// ```
    /// use ontick_tsn::message::Overhead;
    /// // 1500 octets with header, tag, preamble, check sequence and gap; and 8 ns an octet.
    /// assert_eq!(Overhead::Wire.message_time(1500, 1_000_000_000).all_ns, 12_336);
    /// assert_eq!(Overhead::PayloadOnly.message_time(1500, 1_000_000_000).all_ns, 12_000);
    /// assert_eq!(Overhead::Wire.message_time(3100, 1_000_000_000).frames, 3);
    /// ```
    pub fn message_time(self, size: u32, rate: u64) -> MessageTime {
        match self {
            Overhead::PayloadOnly => {
                let ns = (u128::from(size.max(1)) * 8_000_000_000).div_ceil(u128::from(rate)) as u64;
                MessageTime { frames: 1, first_ns: ns, last_ns: ns, all_ns: ns, gap_ns: 0 }
            }
            Overhead::Wire => {
                let frames = size.div_ceil(wire::LARGEST_SDU).max(1);
                let last = size - (frames - 1) * wire::LARGEST_SDU;
                let last_ns = wire::largest_frame_ns(last, rate);
                let full_ns = wire::largest_frame_ns(wire::LARGEST_SDU, rate);
                let first_ns = if frames == 1 { last_ns } else { full_ns };
                let all_ns = u64::from(frames - 1) * full_ns + last_ns;
                MessageTime { frames, first_ns, last_ns, all_ns, gap_ns: wire::gap_ns(rate) }
            }
        }
    }

    /// What a message of `size` octets puts on a link.
    ///
    /// ```
    /// use ontick_tsn::message::Overhead;
    /// // 100 octets with header, tag, preamble, check sequence and gap; and without the gap.
    /// let bits = Overhead::Wire.bits(100);
    /// assert_eq!((bits.all, bits.last_alone), (8 * 142, 8 * 130));
    /// ```
    pub fn bits(self, size: u32) -> Bits {
        match self {
            Overhead::PayloadOnly => {
                let all = u64::from(size.max(1)) * 8;
                Bits { all, first: all, last_alone: all, gap: 0 }
            }
            Overhead::Wire => {
                let gap = u64::from(wire::GAP) * 8;
                let frames = u64::from(size.div_ceil(wire::LARGEST_SDU).max(1));
                let last = size - (frames as u32 - 1) * wire::LARGEST_SDU;
                let (full, last) = (wire::largest_frame_bits(wire::LARGEST_SDU), wire::largest_frame_bits(last));
                let first = if frames == 1 { last } else { full };
                Bits { all: (frames - 1) * full + last, first, last_alone: last - gap, gap }
            }
        }
    }
}
