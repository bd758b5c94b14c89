//! Streams: whose frames they are, and what those may be (per-stream filtering and policing, and several paths).

use super::gates::Base;

/// A stream, and what its frames may be (per-stream filtering and policing, IEEE 802.1Q-2022 clause 8.6.5.2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stream {
    /// Its name in counters. No two streams have the same.
    pub name: String,
    /// The number by which network managers know it (tsnStreamIdHandle, IEEE 802.1CB-2017 clause 9.1.1.1); absent: one is found. No
    /// two streams have the same.
    pub handle: Option<u32>,
    /// Destination address, of a station or of a group.
    pub to: [u8; 6],
    /// VLAN identifier of the tag, 1 to 4094; 0: frames of no VLAN; absent: any.
    pub vlan: Option<u16>,
    /// Source address; absent: any.
    pub from: Option<[u8; 6]>,
    /// Ports that its frames come in by, by their place in [`Switch::ports`](super::Switch::ports), in ascending order;
    /// absent: any.
    pub ingress: Option<Vec<usize>>,
    /// Largest service data unit, in octets (clause 8.6.5.3.1).
    pub max_sdu: Option<u32>,
    /// How much it may bring.
    pub meter: Option<Meter>,
    /// When its frames may come in; absent: always.
    pub gate: Option<StreamGate>,
    /// Its frames pass once, whatever number of paths they come by.
    pub eliminate: Option<Elimination>,
    /// Ports that its frames leave by, each by all of them and with a redundancy tag, by their place in
    /// [`Switch::ports`](super::Switch::ports); absent: as all other frames (sequence generation and stream splitting,
    /// IEEE 802.1CB-2017 clauses 7.4.1 and 7.7).
    pub replicate: Option<Vec<usize>>,
}

/// Of each numbered frame of a stream the first passes (sequence recovery, IEEE 802.1CB-2017 clause 7.4.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Elimination {
    /// How many numbers are remembered, 2 to 128 (frerSeqRcvyHistoryLength).
    pub history_length: u32,
    /// After so long without a frame any number is accepted, in ns (frerSeqRcvyResetMSec).
    pub reset_timeout_ns: u64,
    /// How many paths the frames come by (frerSeqRcvyLatentErrorPaths).
    pub paths: u32,
}

impl Elimination {
    /// Copies that may be missing, or too many, before that is an error (frerSeqRcvyLatentErrorDifference).
    pub const LATENT_ERROR_DIFFERENCE: u64 = 16;
    /// They are counted so often, in ms (frerSeqRcvyLatentErrorPeriod).
    pub const LATENT_ERROR_PERIOD_MS: u64 = 2_000;
    /// What came before counts no more after so long, in ms (frerSeqRcvyLatentResetPeriod).
    pub const LATENT_RESET_PERIOD_MS: u64 = 30_000;
}

impl Default for Elimination {
    fn default() -> Self {
        Self { history_length: 64, reset_timeout_ns: 2_000_000_000, paths: 2 }
    }
}

/// A flow meter (IEEE 802.1Q-2022 clause 8.6.5.5), the bandwidth profile of MEF 10.3 without an excess: what is above the
/// committed rate and burst is red, and dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Meter {
    /// Committed information rate, in bits per second of frames from the destination address to the check sequence.
    pub rate: u64,
    /// Committed burst size, in octets of the same.
    pub burst: u32,
}

/// A stream gate that opens and closes by a list (IEEE 802.1Q-2022 clauses 8.6.5.4 and 8.6.10).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamGate {
    /// Cycles begin at this time and whole cycles after it; before it the gate is open.
    pub base: Base,
    /// Length of a cycle, in ns: the sum of all entries.
    pub cycle_ns: u64,
    /// In order; each takes over where the one before ends.
    pub entries: Vec<StreamGateEntry>,
}

/// A stream gate is open or closed for some time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamGateEntry {
    /// Whether frames pass.
    pub open: bool,
    /// For how long, in ns.
    pub for_ns: u64,
}
