//! When frames are on the link that they arrive by, from their first bit to their last.

use ontick_tsn::wire;

/// What stamps say about the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
    /// The link is virtual and takes no time. Its model has this rate, in bits per second: frames that come at once are
    /// on it one after the other, with preamble and gap.
    Modelled(u64),
    /// The port stamps a frame behind its preamble (IEEE 1588, annex on Ethernet), and the link has this rate.
    Stamped(u64),
    /// A stamp is the only moment that is known.
    Unknown,
}

/// Preamble and start of frame delimiter (IEEE 802.3 clause 3.1.1).
const PREAMBLE: u32 = 8;

/// A link that frames come along.
#[derive(Debug, Clone)]
pub struct Occupied {
    link: Link,
    free_ns: u64,
}

impl Occupied {
    /// An idle one.
    pub fn new(link: Link) -> Self {
        Self { link, free_ns: 0 }
    }

    /// The next frame, of `octets` without its check sequence, was stamped at this time: when it began, and when its last
    /// octet was through.
    #[inline]
    pub fn take(&mut self, stamp_ns: u64, octets: u32) -> (u64, u64) {
        match self.link {
            Link::Unknown => (stamp_ns, stamp_ns),
            Link::Stamped(rate) => {
                (stamp_ns, stamp_ns + wire::wire_time_ns(octets, rate) - wire::gap_ns(rate) - preamble_ns(rate))
            }
            Link::Modelled(rate) => {
                let begins_ns = stamp_ns.max(self.free_ns);
                self.free_ns = begins_ns + wire::wire_time_ns(octets, rate);
                (begins_ns, self.free_ns - wire::gap_ns(rate))
            }
        }
    }
}

fn preamble_ns(rate: u64) -> u64 {
    u64::from(PREAMBLE) * 8_000_000_000 / rate.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_ends_before_the_gap_behind_it() {
        let taken = |link, stamps: [u64; 3]| {
            let mut occupied = Occupied::new(link);
            stamps.map(|stamp_ns| occupied.take(stamp_ns, 1_514))
        };
        // 8 octets of preamble, 1 514 and 4 of check sequence take 12 208 ns, the gap 96.
        let modelled = taken(Link::Modelled(1_000_000_000), [100, 100, 30_000]);
        assert_eq!(modelled, [(100, 12_308), (12_404, 24_612), (30_000, 42_208)]);
        let stamped = taken(Link::Stamped(1_000_000_000), [100, 12_404, 30_000]);
        assert_eq!(stamped, [(100, 12_244), (12_404, 24_548), (30_000, 42_144)]);
        assert_eq!(taken(Link::Unknown, [1, 2, 3]), [(1, 1), (2, 2), (3, 3)]);
    }
}
