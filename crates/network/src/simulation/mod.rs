//! The network in simulated time.
//!
//! Each switch is the core of the user data plane, the code that serves real ports, with a clock and ports that are made
//! up. What happens next is what is earliest: a frame that arrives, a gate that opens for one that waits, a talker's
//! offset. A core's work takes the time that [`Costs`] say, and its ports share the core. A frame that comes in while a
//! core works is seen with its next turn.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod clock;
mod link;
mod listening;
mod node;
mod setup;
mod station;
mod turns;
mod world;

use ontick_tsn::planning::nodes::NodesError;

use crate::costs::Costs;
pub use crate::delivered::Delivered;
use crate::fault::{Fault, FaultError};
pub use crate::passed::Passed;

pub use world::simulate;

/// How the network is run.
#[derive(Debug, Clone)]
pub struct Options {
    /// For how long messages are sent, in ns.
    pub duration_ns: u64,
    /// All choices by chance follow from it.
    pub seed: u64,
    /// What machines take for their work.
    pub costs: Costs,
    /// Part of each station's link that best-effort frames take, 0 to 1.
    pub load: f64,
    /// What goes wrong.
    pub faults: Vec<Fault>,
    /// Frames of this time from the beginning are kept, to be drawn.
    pub trace_ns: u64,
}

/// Why a network cannot be run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SimulationError {
    /// No files of its switches can be made.
    #[error(transparent)]
    Nodes(#[from] NodesError),
    /// A fault of what it has not.
    #[error(transparent)]
    Fault(#[from] FaultError),
    /// There are no frames in its model.
    #[error(
        "messages count as their payload alone (overhead = \"payload\"), which is no length of a frame; a simulation needs overhead = \"wire\""
    )]
    PayloadOnly,
    /// A switch has more ports than it can.
    #[error("switch {0} has {1} ports, and one has 256 at most")]
    Ports(String, usize),
    /// A clock that counts in nanoseconds ends.
    #[error("{0} of simulated time are too long; a simulation takes 100 days at most")]
    TooLong(String),
    /// Messages have numbers, and numbers end.
    #[error(
        "stream {stream} has more messages in {duration} than a simulation numbers, one each {period}; send for {longest} at most"
    )]
    TooManyMessages {
        /// Its name.
        stream: String,
        /// Its period.
        period: String,
        /// For how long it was to send.
        duration: String,
        /// For how long it can.
        longest: String,
    },
}

/// What became of the network.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// By stream and listener.
    pub delivered: Vec<Delivered>,
    /// Frames of streams that talkers sent.
    pub frames: u64,
    /// Frames on links, each on each of its links, those of no stream included.
    pub hops: u64,
    /// Best-effort frames that were sent.
    pub best_effort: u64,
    /// Frames that cables lost.
    pub lost_on_links: u64,
    /// Frames that switches dropped, by why, the most first.
    pub dropped: Vec<(&'static str, u64)>,
    /// How often switches looked for work.
    pub turns: u64,
    /// The most that two clocks differed by, in ns.
    pub clocks_apart_ns: u64,
    /// For how long messages were sent, in ns.
    pub simulated_ns: u64,
    /// It was ended before its time.
    pub interrupted: bool,
    /// What was on each link at the beginning, by link.
    pub passed: Vec<Vec<Passed>>,
}
