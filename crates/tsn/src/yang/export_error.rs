//! Why a switch cannot be written as a document.

use super::MOST_ENTRIES;

/// Why a switch cannot be written; one sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// Base times are of the PTP timescale.
    #[error("{gates_of}: a base time of the {clock} clock is none of PTP's timescale, as one of the clock tai is")]
    NotTai {
        /// Which port or stream.
        gates_of: String,
        /// The switch's.
        clock: &'static str,
    },
    /// It is a fraction of two 32-bit numbers there.
    #[error("{gates_of}: a cycle of {cycle_ns} ns is no fraction of 32-bit numbers of seconds")]
    Cycle {
        /// Which port or stream.
        gates_of: String,
        /// Its cycle.
        cycle_ns: u64,
    },
    /// The standard has eight.
    #[error("class {class}: queue {queue} is beyond the eight traffic classes of IEEE 802.1Q")]
    Classes {
        /// Which.
        class: String,
        /// Its number.
        queue: u8,
    },
    /// Guard bands add some.
    #[error("port {port}: its gates and their guard bands are {count} entries; {MOST_ENTRIES} can be")]
    Entries {
        /// Which.
        port: String,
        /// How many.
        count: usize,
    },
    /// It tells how long a frame takes.
    #[error("port {port}: the guard band of the largest frame is a time only where the port's rate is known")]
    Rate {
        /// Which.
        port: String,
    },
}
