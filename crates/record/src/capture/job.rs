//! What is asked of a capture.

use super::{Changes, Rate};

/// What is measured of a capture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// What of it.
    pub subject: Subject,
    /// The rate at which the instrument sampled; goes before what the file says of it.
    pub rate: Option<Rate>,
}

/// What of a capture is looked at. A channel is named or numbered; none is the only one that there is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// How long a channel was high and low, and how far its rising edges are apart.
    Intervals {
        /// Which.
        channel: Option<String>,
    },
    /// How wide pulses are, against what was asked for.
    Widths {
        /// On which channel.
        channel: Option<String>,
        /// How wide they should be, in ns.
        width_ns: u64,
        /// From the beginning of one to the next, in ns, where that was asked for too.
        period_ns: Option<u64>,
        /// The channel is low during a pulse.
        inverse: bool,
    },
    /// How far the beginnings of pulses are apart, against what was asked for.
    Period {
        /// On which channel.
        channel: Option<String>,
        /// How far, in ns.
        period_ns: u64,
        /// Pulses begin with a falling edge.
        inverse: bool,
    },
    /// How long an output took to answer an input.
    Response {
        /// The channel whose changes are answered.
        input: String,
        /// The channel that answers.
        output: String,
        /// Which changes count.
        changes: Changes,
        /// The output is high while the input is low.
        inverse: bool,
    },
}
