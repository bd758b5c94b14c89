//! Networks drawn by chance, to try planners and machines with: the same settings give the same network on every machine and
//! in every version.
//!
//! ```
//! use ontick_tsn::generate::{Shape, Wanted, generate, text};
//! let network = generate(&Wanted { shape: Shape::Tree, switches: 7, ..Wanted::default() }).unwrap();
//! assert_eq!(network.links.len(), 2 * (6 + 7), "each cable has two directions");
//! assert_eq!(ontick_tsn::network::read(&text(&network)).unwrap(), network);
//! ```

mod draws;
mod shape;
mod text;

use std::ops::RangeInclusive;

use crate::network::{Kind, Link, Network, Node};
use crate::planning::random::Random;

use self::draws::Draws;
pub use shape::{Shape, two_rings};
pub use text::text;

/// What is drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// How switches are connected.
    pub shape: Shape,
    /// How many switches.
    pub switches: usize,
    /// Stations in all, dealt to the switches in turn; absent: one for each switch that has any.
    pub stations: Option<usize>,
    /// How many streams.
    pub streams: usize,
    /// Listeners of a stream.
    pub listeners: RangeInclusive<usize>,
    /// Periods, each as likely, in ns.
    pub periods_ns: Vec<u64>,
    /// Octets of data of a message.
    pub sizes: RangeInclusive<u32>,
    /// Deadlines, in percent of the period.
    pub deadlines: RangeInclusive<u8>,
    /// What streams take of the fullest link's time at most, on shortest paths, in percent.
    pub load: u8,
    /// Of all links, in bits per second.
    pub rate: u64,
    /// Of each cable, in ns.
    pub propagation_ns: u64,
    /// Of each node, in ns.
    pub processing_ns: u64,
    /// Another one gives another network.
    pub seed: u64,
}

impl Default for Wanted {
    fn default() -> Self {
        Self {
            shape: Shape::Ring,
            switches: 4,
            stations: None,
            streams: 10,
            listeners: 1..=1,
            periods_ns: vec![500_000, 1_000_000, 2_000_000, 4_000_000],
            sizes: 100..=500,
            deadlines: 100..=100,
            load: 100,
            rate: 1_000_000_000,
            propagation_ns: 50,
            processing_ns: 2_000,
            seed: 1,
        }
    }
}

/// Why there is no such network.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GenerateError {
    /// Switches do not make this shape.
    #[error("a ring has 3 switches at least, not {0}")]
    ShortRing(usize),
    /// Nobody could talk to anybody.
    #[error("a stream needs two stations, and there is {0}")]
    FewStations(usize),
    /// A stream is to have more listeners than there are other stations.
    #[error("a stream cannot have {listeners} listeners where there are {stations} stations, one of which talks")]
    FewListeners {
        /// At most.
        listeners: usize,
        /// In all.
        stations: usize,
    },
    /// Links are full, or deadlines too short.
    #[error(
        "only {found} of {wanted} streams were drawn: none of {tries} draws of the next one could keep its deadline and \
         the load of every link; ask for fewer streams, longer periods or deadlines, smaller messages, faster links or \
         more load"
    )]
    NoRoom {
        /// Streams that were drawn.
        found: usize,
        /// Streams that were asked for.
        wanted: usize,
        /// How often the next one was drawn.
        tries: usize,
    },
}

impl Wanted {
    /// Stations in all.
    pub fn stations(&self) -> usize {
        self.stations.unwrap_or_else(|| self.shape.homes(self.switches).len())
    }

    fn check(&self) -> Result<(), GenerateError> {
        let (stations, listeners) = (self.stations(), *self.listeners.end());
        if self.shape == Shape::Ring && self.switches < 3 {
            return Err(GenerateError::ShortRing(self.switches));
        }
        if stations < 2 {
            return Err(GenerateError::FewStations(stations));
        }
        if listeners >= stations {
            return Err(GenerateError::FewListeners { listeners, stations });
        }
        Ok(())
    }

    /// Nodes and cables: those between switches, then those to stations.
    fn without_streams(&self, random: &mut Random) -> Network {
        let (switches, homes) = (self.switches, self.shape.homes(self.switches));
        let stations = (0..self.stations()).map(|n| (homes.start + n % homes.len(), switches + n));
        let cables = self.shape.cables(switches, random).into_iter().chain(stations);
        let link = |from, to| Link {
            from,
            to,
            port: None,
            rate: self.rate,
            propagation_ns: self.propagation_ns,
            processing_ns: self.processing_ns,
            queues: 8,
        };
        let links = cables.flat_map(|(a, b)| [link(a, b), link(b, a)]).collect();
        let node = |name, kind| Node { name, system_name: None, kind };
        let mut nodes: Vec<Node> = (1..=switches).map(|n| node(format!("s{n}"), Kind::Switch)).collect();
        nodes.extend((1..=self.stations()).map(|n| node(format!("h{n}"), Kind::Station)));
        Network::without_streams(nodes, links)
    }
}

/// Draws a network.
pub fn generate(wanted: &Wanted) -> Result<Network, GenerateError> {
    wanted.check()?;
    let mut random = Random::new(wanted.seed);
    let mut network = wanted.without_streams(&mut random);
    let mut draws = Draws::new(wanted, &network, random);
    for _ in 0..wanted.streams {
        let stream = draws.next(&network)?;
        network.streams.push(stream);
    }
    Ok(network)
}

#[cfg(test)]
mod tests;
