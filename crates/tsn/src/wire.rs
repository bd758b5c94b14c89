//! What a frame takes on the wire.

/// Preamble and start of frame (8 octets), frame check sequence (4) and the gap between frames (12): IEEE 802.3 clauses
/// 3.1.1 and 4.4.2.
pub const OVERHEAD: u32 = 24;
/// Octets of addresses and EtherType.
pub const HEADER: u32 = 14;
/// Octets of a VLAN tag (IEEE 802.1Q clause 9.3).
pub const TAG: u32 = 4;
/// Octets of a redundancy tag with its EtherType (IEEE 802.1CB-2017 clause 7.8).
pub const R_TAG: u32 = 6;
/// The shortest frame without its check sequence; shorter ones are padded (IEEE 802.3 clause 4.4.2).
pub const SHORTEST: u32 = 60;
/// The largest service data unit of an ordinary link.
pub const LARGEST_SDU: u32 = 1500;

/// How long a frame of `octets` (from its first address to its last octet of data) occupies a link of `rate` bits per
/// second, the gap to the next one included, in ns.
///
/// ```
/// use ontick_tsn::wire::wire_time_ns;
/// // The largest frame with a VLAN tag on gigabit Ethernet: 1500 + 14 + 4 + 24 octets of 8 ns.
/// assert_eq!(wire_time_ns(1518, 1_000_000_000), 12_336);
/// ```
pub fn wire_time_ns(octets: u32, rate: u64) -> u64 {
    (u128::from(frame_bits(octets)) * 1_000_000_000).div_ceil(u128::from(rate.max(1))) as u64
}

/// Octets of the check sequence behind a frame.
pub const CHECK_SEQUENCE: u32 = 4;

/// Octets of a frame on the wire, from its first address to its check sequence, where it has `octets` without that.
#[inline]
pub fn frame_octets(octets: u32) -> u32 {
    octets.max(SHORTEST) + CHECK_SEQUENCE
}

/// Bits of a frame of `octets` on the wire, with the gap behind it.
pub fn frame_bits(octets: u32) -> u64 {
    u64::from(octets.max(SHORTEST) + OVERHEAD) * 8
}

/// Bits of the largest frame with this service data unit, with a VLAN tag and the gap behind it.
pub fn largest_frame_bits(sdu: u32) -> u64 {
    frame_bits(sdu + HEADER + TAG)
}

/// Octets of the gap behind a frame: the next frame waits for them, the receiver of this one does not.
pub const GAP: u32 = 12;

/// How long the gap behind a frame lasts on a link of `rate` bits per second, rounded down, in ns.
pub fn gap_ns(rate: u64) -> u64 {
    u64::from(GAP) * 8_000_000_000 / rate.max(1)
}

/// How long the largest frame with this service data unit takes, with a VLAN tag, in ns.
pub fn largest_frame_ns(sdu: u32, rate: u64) -> u64 {
    wire_time_ns(sdu + HEADER + TAG, rate)
}

/// What frames take on one link, reckoned without a division.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// Of one octet, in 1/1024 ns.
    octet: u64,
}

impl Pace {
    /// For a link of `rate` bits per second.
    pub fn new(rate: u64) -> Self {
        Self { octet: ((8_000_000_000u128 << 10).div_ceil(u128::from(rate.max(1)))) as u64 }
    }

    /// As [`wire_time_ns`], or a nanosecond in a thousand more.
    #[inline]
    pub fn time_ns(self, octets: usize) -> u64 {
        ((octets as u64).max(u64::from(SHORTEST)) + u64::from(OVERHEAD)).saturating_mul(self.octet).div_ceil(1024)
    }

    /// As [`gap_ns`].
    #[inline]
    pub fn gap_ns(self) -> u64 {
        u64::from(GAP).saturating_mul(self.octet) / 1024
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_pace_is_the_wire_s(octets in 0u32..1600, rate in 10_000_000u64..100_000_000_000) {
            let (exact, reckoned) = (wire_time_ns(octets, rate), Pace::new(rate).time_ns(octets as usize));
            prop_assert!((exact..=exact + 2 + exact / 80).contains(&reckoned), "{} {}", exact, reckoned);
        }
    }
}
