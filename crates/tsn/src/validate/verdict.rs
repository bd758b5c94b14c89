//! What is found out about a schedule.

use std::collections::BTreeMap;

use super::fault::Fault;
use crate::network::{NodeId, StreamId};

/// Faults of one kind that are kept; all are counted.
const KEPT: usize = 20;

/// How long a stream takes to a listener, from the beginning of its period to its last bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delay {
    /// Whose messages.
    pub stream: StreamId,
    /// To whom.
    pub listener: NodeId,
    /// The shortest, in ns.
    pub least_ns: u64,
    /// The longest, in ns.
    pub most_ns: u64,
    /// Messages that arrived.
    pub received: u64,
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Verdict {
    /// The first faults of each kind.
    pub faults: Vec<Fault>,
    /// How many there are of each kind.
    pub counts: BTreeMap<&'static str, u64>,
    /// Delays, by stream and listener.
    pub delays: Vec<Delay>,
    /// Messages that were sent.
    pub messages: u64,
    /// For how long the network was followed, in ns.
    pub followed_ns: u64,
    /// Whether that is as long as it takes until everything begins again, twice.
    pub complete: bool,
}

impl Verdict {
    /// Whether nothing is wrong.
    pub fn holds(&self) -> bool {
        self.counts.is_empty()
    }

    pub(super) fn add(&mut self, fault: Fault) {
        let count = self.counts.entry(fault.kind()).or_default();
        *count += 1;
        if *count <= KEPT as u64 {
            self.faults.push(fault);
        }
    }
}
