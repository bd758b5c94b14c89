//! A class under a credit-based shaper: what it was held to, and what it kept to.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A class's credit-based shaper (IEEE 802.1Q-2022 clause 8.6.8.2). Bits are those on the wire: preamble, check sequence and
/// gap count.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Shaped {
    /// Bits per second that the class may have, over whole cycles of the gates (operIdleSlope).
    pub idle_slope: u64,
    /// Bits that may arrive beyond the slope, since any moment: hiCredit, a frame, and what the class gains while one is
    /// handed over, as it is not known when within that it begins.
    pub burst_bits: u64,
    /// The most that did.
    pub observed_burst_bits: u64,
    /// Frames that arrived too early: a meter of this rate and burst would drop them.
    pub beyond: u64,
    /// Bits per second that arrived, from the first frame to the last.
    pub observed_rate: u64,
}

impl Shaped {
    /// Frames of so many bits that the slope carries in so long, and the burst on top.
    pub(super) fn carries(&self, frame_bits: u64, duration_ns: u64) -> u64 {
        let bits = u128::from(self.idle_slope) * u128::from(duration_ns) / 1_000_000_000;
        (bits / u128::from(frame_bits.max(1))).min(u128::from(u64::MAX)) as u64
    }
}
