//! What tells a frame of a flow from the next one.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use ontick_rt::clock::ClockId;

/// What tells the frames of one run from all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nonce(pub [u8; 3]);

impl Nonce {
    /// One that no other run is likely to have.
    pub fn new() -> Self {
        static RUNS: AtomicU32 = AtomicU32::new(0);
        let mixed = (ClockId::Realtime.now_ns() >> 10) as u32 ^ std::process::id().rotate_left(12);
        let [a, b, c, _] = mixed.wrapping_add(RUNS.fetch_add(1, Relaxed)).wrapping_mul(0x9e37_79b1).to_be_bytes();
        Self([a, b, c])
    }
}

impl Default for Nonce {
    fn default() -> Self {
        Self::new()
    }
}

/// A frame's number, and when it was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// From 0; 40 bits of it.
    pub number: u64,
    /// On the clock that the gates follow, in ns. 40 bits of it travel: 18 minutes.
    pub sent_ns: u64,
}

const BITS: u32 = 40;
const MASK: u64 = (1 << BITS) - 1;

impl Mark {
    /// Short enough for a tagged UDP frame of the shortest size.
    pub const OCTETS: usize = 14;

    /// As in a frame.
    #[inline]
    pub fn octets(self, nonce: Nonce, flow: u8) -> [u8; Self::OCTETS] {
        let mut octets = [0; Self::OCTETS];
        octets[..3].copy_from_slice(&nonce.0);
        octets[3] = flow;
        octets[4..9].copy_from_slice(&self.number.to_be_bytes()[3..]);
        octets[9..].copy_from_slice(&self.sent_ns.to_be_bytes()[3..]);
        octets
    }

    /// Reads it back, if it is one of this run and flow. It was sent before it arrived.
    #[inline]
    pub fn read(octets: &[u8], nonce: Nonce, flow: u8, arrived_ns: u64) -> Option<Self> {
        let octets: &[u8; Self::OCTETS] = octets.try_into().ok()?;
        if octets[..3] != nonce.0 || octets[3] != flow {
            return None;
        }
        let low = |five: &[u8]| five.iter().fold(0u64, |number, octet| number << 8 | u64::from(*octet));
        let sent = low(&octets[9..]);
        // A clock that is read twice may seem to go back a little: half of the range counts as after.
        let ago = arrived_ns.wrapping_sub(sent) & MASK;
        let sent_ns = if ago > MASK / 2 { arrived_ns + (MASK + 1 - ago) } else { arrived_ns.saturating_sub(ago) };
        Some(Self { number: low(&octets[4..9]), sent_ns })
    }
}
