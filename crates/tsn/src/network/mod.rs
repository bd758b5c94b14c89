//! A network and the streams that it is to carry, as plain values: what schedules are planned for ([`crate::planning`])
//! and held against ([`crate::validate`]).
//!
//! [`read`] makes it of a TOML file or of its JSON twin, [`tsnkit`] of that tool's two tables. Whatever comes out is
//! consistent: names are resolved, every stream's listeners can be reached, no number is zero that may not be.

mod address;
mod graph;
mod json;
mod names;
mod outline;
mod paths;
mod pulse;
mod read;
pub mod samples;
mod system_name;
mod time;
mod tree;
pub mod tsnkit;

use crate::config::Errors;
use crate::egress::EgressTiming;

pub use crate::message::{Bits, MessageTime, Overhead};
pub use graph::{Graph, NoPath};
pub use outline::schema;
pub use paths::{PathSearch, Paths, Tree};
pub use pulse::{Pulse, PulseSource};
pub use read::{LARGEST_SIZE, LONGEST_PERIOD_NS, RATES, is_meant};
pub use system_name::LONGEST_SYSTEM_NAME;
pub use time::{OnTimeLoss, Profile, TimeSync, Transport};

/// A node, by its place in [`Network::nodes`].
pub type NodeId = usize;
/// A link, by its place in [`Network::links`].
pub type LinkId = usize;
/// A stream, by its place in [`Network::streams`].
pub type StreamId = usize;

/// Longest names; they become parts of file names.
pub const LONGEST_NAME: usize = 63;

/// Nodes, the links between them, and streams.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Network {
    /// Stations and switches.
    pub nodes: Vec<Node>,
    /// Each carries one direction.
    pub links: Vec<Link>,
    /// What is to be carried.
    pub streams: Vec<Stream>,
    /// By how much any two clocks may differ at most, in ns.
    pub sync_error_ns: u64,
    /// What counts as a frame's length.
    pub overhead: Overhead,
    /// How exactly its nodes send, and forward.
    pub timing: EgressTiming,
    /// How its nodes keep one time, where the file has it.
    pub time: Option<TimeSync>,
}

/// A station or a switch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// As streams and links name it.
    pub name: String,
    /// What it calls itself towards its neighbours, where that is another name.
    pub system_name: Option<String>,
    /// What it does with frames of others.
    pub kind: Kind,
}

/// What a node does with frames of others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It forwards them.
    Switch,
    /// It sends and receives its own only.
    Station,
}

/// One direction of a cable: a port's way out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Who sends.
    pub from: NodeId,
    /// Who receives.
    pub to: NodeId,
    /// The interface that sends, where it is known.
    pub port: Option<String>,
    /// Bits per second.
    pub rate: u64,
    /// From the sender's to the receiver's connector, in ns.
    pub propagation_ns: u64,
    /// From a frame's last bit at the receiver until it can leave there at the earliest, in ns.
    pub processing_ns: u64,
    /// Queues of the port that sends, 1 to 8.
    pub queues: u8,
}

/// Frames that come again and again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stream {
    /// Its name.
    pub name: String,
    /// Who sends.
    pub talker: NodeId,
    /// Who receives; at least one, none of them twice.
    pub listeners: Vec<NodeId>,
    /// Octets of data in each period: the service data unit, in as many frames as it takes ([`Overhead`]).
    pub size: u32,
    /// A message each period, in ns.
    pub period_ns: u64,
    /// From the beginning of a period until the last listener has the last bit, in ns. At most the period.
    pub deadline_ns: u64,
    /// By how much the time in between may differ from message to message, in ns.
    pub jitter_ns: u64,
    /// The queue that it must use; absent: one is chosen.
    pub queue: Option<u8>,
    /// Destination address of its frames; absent: one is assigned ([`Network::addresses`]).
    pub address: Option<[u8; 6]>,
    /// VLAN identifier of its frames; absent: switches do not look at it.
    pub vlan: Option<u16>,
}

/// Reads its text: JSON if it begins as that does, else TOML.
///
/// ```
/// let network = ontick_tsn::network::read(r#"
/// [[switch]]
/// name = "s1"
///
/// [[station]]
/// name = "camera"
///
/// [[station]]
/// name = "screen"
///
/// [[link]]
/// between = ["camera", "s1"]
///
/// [[link]]
/// between = ["s1", "screen"]
/// rate = "100Mbit"
///
/// [[stream]]
/// name = "video"
/// from = "camera"
/// to = ["screen"]
/// size = 1400
/// period = "1ms"
/// deadline = "500us"
/// "#).unwrap();
/// assert_eq!(network.links.len(), 4, "each cable has two directions");
/// assert_eq!(network.streams[0].period_ns, 1_000_000);
///
/// let errors = ontick_tsn::network::read("[[station]]\nname = \"a\"\nnmae = \"b\"\n").unwrap_err();
/// assert!(errors.to_string().contains("unknown key `nmae` in [[station]]"), "{errors}");
/// ```
pub fn read(text: &str) -> Result<Network, Errors> {
    if text.trim_start().starts_with('{') { json::read(text) } else { read::read(text) }
}

impl Network {
    /// Nodes and links without streams, of ideal timing, whose messages are what the wire carries.
    pub fn without_streams(nodes: Vec<Node>, links: Vec<Link>) -> Self {
        let (streams, overhead, timing) = (Vec::new(), Overhead::Wire, EgressTiming::IDEAL);
        Self { nodes, links, streams, sync_error_ns: 0, overhead, timing, time: None }
    }

    /// The same network with nodes of this timing. Clocks of two nodes differ by what both planes add to it.
    pub fn timed(mut self, timing: EgressTiming) -> Self {
        let without = self.sync_error_ns.saturating_sub(2 * self.timing.clock_error_ns);
        self.sync_error_ns = without.saturating_add(2 * timing.clock_error_ns);
        self.timing = timing;
        self
    }

    /// From a frame's last bit at a link's far end until it can leave there, in ns: at the earliest, and for sure.
    pub fn processing_ns(&self, link: LinkId) -> (u64, u64) {
        let (stated, forwarding) = (self.links[link].processing_ns, self.timing.forwarding_ns);
        // A plane that says what it takes at most may be quicker by all of it.
        (if forwarding > 0 { 0 } else { stated }, stated.max(forwarding))
    }

    /// A link's name: `camera>s1`; of the second cable between the same nodes `s1>s2#2`.
    pub fn link_name(&self, link: LinkId) -> String {
        let cable = match self.cable(link) {
            0 => String::new(),
            n => format!("#{}", n + 1),
        };
        let link = &self.links[link];
        format!("{}>{}{cable}", self.nodes[link.from].name, self.nodes[link.to].name)
    }

    /// Share of a link's time that these streams take, as parts of one.
    pub fn utilisation(&self, link: LinkId, streams: impl Iterator<Item = StreamId>) -> f64 {
        let one =
            |stream: StreamId| self.message_time(stream, link).all_ns as f64 / self.streams[stream].period_ns as f64;
        streams.map(one).sum()
    }

    /// How long a stream's message occupies a link.
    pub fn message_time(&self, stream: StreamId, link: LinkId) -> MessageTime {
        self.overhead.message_time(self.streams[stream].size, self.links[link].rate)
    }

    /// What a stream's message puts on each link.
    pub fn bits(&self, stream: StreamId) -> Bits {
        self.overhead.bits(self.streams[stream].size)
    }

    /// How long a gate must be open for it, with the margin of the sender's data plane.
    pub fn window_ns(&self, stream: StreamId, link: LinkId) -> u64 {
        self.timing.message_ns(self.message_time(stream, link))
    }
}
