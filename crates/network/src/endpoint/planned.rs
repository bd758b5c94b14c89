//! What a plan asks of a station.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

use ontick_tsn::network::{Kind, LinkId, Network, NodeId, StreamId};
use ontick_tsn::planning::Timetable;
use ontick_tsn::validate::Schedule;
use ontick_tsn::wire;

use super::header::HEADER;
use crate::arrivals::{Expected, LastHop};
use crate::frame::Address;
use crate::switches::out_of;

/// Why a node is no end point.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StationError {
    /// There is none of this name.
    #[error("the network has no station {name}; its stations are {}", .stations.join(", "))]
    Unknown {
        /// As it was asked for.
        name: String,
        /// Those that there are.
        stations: Vec<String>,
    },
    /// It forwards, and has no streams of its own.
    #[error("{0} is a switch, and only stations send and receive streams")]
    Switch(String),
    /// Some of its cables have no interface, or some interfaces no cable.
    #[error(
        "station {station} has {} {} ({}), and {named} interfaces are named: name one for each, in this order",
        .cables.len(), if .cables.len() == 1 { "cable" } else { "cables" }, .cables.join(", ")
    )]
    Interfaces {
        /// The station.
        station: String,
        /// What it is connected by.
        cables: Vec<String>,
        /// As it was asked for.
        named: usize,
    },
}

/// A stream that a station sends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outgoing {
    /// Which.
    pub stream: StreamId,
    /// Its name.
    pub name: String,
    /// Destination address of its frames.
    pub to: [u8; 6],
    /// Priority code point.
    pub pcp: u8,
    /// VLAN identifier; 0 is a tag for its priority alone.
    pub vlan: u16,
    /// When a message is sent, from the beginning of the period, in ns.
    pub offset_ns: u64,
    /// A message each period, in ns.
    pub period_ns: u64,
    /// Octets of data of a message.
    pub size: u32,
    /// Frames of a message.
    pub parts: u32,
    /// Where it goes out, by the place in the station's cables.
    pub ports: Vec<usize>,
}

impl Outgoing {
    /// Octets that a message carries behind the headers of its frames.
    pub fn room(&self) -> usize {
        (0..self.parts).map(|part| data_octets(self.size, part).saturating_sub(HEADER)).sum()
    }

    /// Where its frames go from this source address.
    pub fn address(&self, from: [u8; 6]) -> Address {
        Address { to: self.to, from, pcp: self.pcp, vlan: self.vlan }
    }
}

/// A stream that a station receives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incoming {
    /// What is waited for.
    pub expected: Expected,
    /// Its name.
    pub name: String,
    /// Priority code point of its frames.
    pub pcp: u8,
    /// VLAN identifier of its frames.
    pub vlan: u16,
    /// When its talker sends, from the beginning of the period, in ns.
    pub offset_ns: u64,
    /// A message each period, in ns.
    pub period_ns: u64,
    /// How it comes.
    pub way: Way,
}

/// A stream's way to a listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Way {
    /// The last link.
    pub link: LinkId,
    /// Links from the talker on.
    pub links: u32,
}

/// The station of this name.
pub fn station(network: &Network, name: &str) -> Result<NodeId, StationError> {
    match network.nodes.iter().position(|node| node.name == name) {
        Some(node) if network.nodes[node].kind == Kind::Station => Ok(node),
        Some(_) => Err(StationError::Switch(name.into())),
        None => {
            let stations = network.nodes.iter().filter(|node| node.kind == Kind::Station);
            Err(StationError::Unknown { name: name.into(), stations: stations.map(|node| node.name.clone()).collect() })
        }
    }
}

/// The interface of each of a station's cables, in the order of the network's file.
pub fn interfaces<'a>(
    network: &Network,
    station: NodeId,
    named: &'a [String],
) -> Result<impl Iterator<Item = &'a str>, StationError> {
    let cables = out_of(network, station);
    match cables.len() == named.len() {
        true => Ok(named.iter().map(String::as_str)),
        false => Err(StationError::Interfaces {
            station: network.nodes[station].name.clone(),
            cables: cables.iter().map(|link| network.link_name(*link)).collect(),
            named: named.len(),
        }),
    }
}

/// The streams that a station sends.
pub fn outgoing(network: &Network, schedule: &Schedule, station: NodeId) -> Vec<Outgoing> {
    let (out, addresses) = (out_of(network, station), network.addresses());
    let own = schedule.sends.iter().filter(|send| network.streams[send.stream].talker == station);
    let outgoing = |send: &ontick_tsn::validate::Send| {
        let (stream, route) = (&network.streams[send.stream], &schedule.routes[send.stream]);
        Outgoing {
            stream: send.stream,
            name: stream.name.clone(),
            to: addresses[send.stream],
            pcp: send.queues.first().map_or(0, |(_, queue)| *queue),
            vlan: stream.vlan.unwrap_or(0),
            offset_ns: send.offset_ns,
            period_ns: stream.period_ns,
            size: stream.size,
            parts: network.overhead.message_time(stream.size, 1).frames,
            ports: (0..out.len()).filter(|port| route.contains(&out[*port])).collect(),
        }
    };
    own.map(outgoing).collect()
}

/// The streams that come to a station, of those that are sent. What the plan has no place for is known by its way alone.
pub fn incoming(network: &Network, table: &Timetable, schedule: &Schedule, station: NodeId) -> Vec<Incoming> {
    let mut last_hops = vec![None; network.streams.len()];
    for placed in table.placed.iter().flatten() {
        let Some(hop) = placed.hops.iter().find(|hop| network.links[hop.link].to == station) else { continue };
        last_hops[placed.stream] =
            Some(LastHop { window_ns: (hop.begin_ns, hop.end_ns), delivered_ns: hop.delivered_ns });
    }
    let all = Expected::all(network, &|stream, listener| last_hops[stream].filter(|_| listener == station));
    let incoming = |expected: Expected| {
        let stream = &network.streams[expected.stream];
        let send = schedule.sends.iter().find(|send| send.stream == expected.stream)?;
        Some(Incoming {
            expected,
            name: stream.name.clone(),
            pcp: send.queues.first().map_or(0, |(_, queue)| *queue),
            vlan: stream.vlan.unwrap_or(0),
            offset_ns: send.offset_ns,
            period_ns: stream.period_ns,
            way: way(network, &schedule.routes[expected.stream], stream.talker, station)?,
        })
    };
    all.into_iter().filter(|expected| expected.listener == station).filter_map(incoming).collect()
}

/// The way along a route to a station.
fn way(network: &Network, route: &[LinkId], talker: NodeId, station: NodeId) -> Option<Way> {
    let into = |node: NodeId| route.iter().copied().find(|link| network.links[*link].to == node);
    let link = into(station)?;
    let before = std::iter::successors(Some(link), |link| match network.links[*link].from {
        from if from == talker => None,
        from => into(from),
    });
    // A route that leads in a circle has no beginning.
    let links = before.take(route.len() + 1).count();
    (links <= route.len()).then_some(Way { link, links: links as u32 })
}

/// What two end points must have in common to understand each other: names, sizes, addresses, periods and planned times
/// of all streams, as a number.
pub fn fingerprint(network: &Network, schedule: &Schedule) -> u32 {
    let mut hash = Fnv::default();
    for (stream, address) in network.streams.iter().zip(network.addresses()) {
        hash.add(stream.name.as_bytes());
        hash.add(&address);
        for number in [u64::from(stream.size), stream.period_ns, stream.vlan.unwrap_or(0).into()] {
            hash.add(&number.to_be_bytes());
        }
    }
    for send in &schedule.sends {
        let queue = send.queues.first().map_or(0, |(_, queue)| u64::from(*queue));
        for number in [send.stream as u64, send.offset_ns, queue] {
            hash.add(&number.to_be_bytes());
        }
    }
    hash.0
}

/// FNV-1a (Fowler, Noll, Vo; RFC 9923) of 32 bits.
struct Fnv(u32);

impl Default for Fnv {
    fn default() -> Self {
        Self(0x811c_9dc5)
    }
}

impl Fnv {
    fn add(&mut self, octets: &[u8]) {
        // The length in front: "ab" and "c" are not "a" and "bc".
        let length = (octets.len() as u32).to_be_bytes();
        for octet in length.iter().chain(octets) {
            self.0 = (self.0 ^ u32::from(*octet)).wrapping_mul(0x0100_0193);
        }
    }
}

/// Octets of data of one frame of a message of `size` octets.
pub(super) fn data_octets(size: u32, part: u32) -> usize {
    usize::from(crate::frame::octets(size, part)) - (wire::HEADER + wire::TAG) as usize
}

#[cfg(test)]
mod tests {
    use ontick_tsn::network::samples;
    use ontick_tsn::planning::{Outcome, PlanOptions, gate_control_list, plan};

    use super::*;

    fn planned() -> (Network, Timetable, Schedule) {
        let network = samples::ring(4, 20);
        let Outcome::Planned(table) = plan(&network, &PlanOptions::default(), &Timetable::default(), &|| true) else {
            panic!()
        };
        let schedule = gate_control_list::schedule(&network, &table).unwrap();
        (network, table, schedule)
    }

    #[test]
    fn each_stream_leaves_one_station_and_comes_to_its_listeners() {
        let (network, table, schedule) = planned();
        let stations: Vec<NodeId> = (4..8).collect();
        let sent: usize = stations.iter().map(|station| outgoing(&network, &schedule, *station).len()).sum();
        assert_eq!(sent, 20);
        let mut came = 0;
        for station in stations {
            for of in incoming(&network, &table, &schedule, station) {
                let stream = &network.streams[of.expected.stream];
                assert!(stream.listeners.contains(&station) && of.name == stream.name);
                let talks = outgoing(&network, &schedule, stream.talker);
                let talked = talks.iter().find(|out| out.stream == of.expected.stream).unwrap();
                assert_eq!((talked.offset_ns, talked.pcp, talked.ports.len()), (of.offset_ns, of.pcp, 1));
                // From station to switch, between switches, and to the station.
                assert_eq!(network.links[of.way.link].to, station);
                assert!((3..=4).contains(&of.way.links), "{}", of.way.links);
                let (from_ns, until_ns) = of.expected.window_ns.unwrap();
                assert!(of.offset_ns < from_ns && from_ns < until_ns && until_ns <= stream.period_ns);
                came += 1;
            }
        }
        assert_eq!(came, 20);
    }

    #[test]
    fn a_stream_that_the_plan_has_no_place_for_is_waited_for_all_the_same() {
        let (network, mut table, schedule) = planned();
        let all = |table: &Timetable| -> Vec<Incoming> {
            (4..8).flat_map(|station| incoming(&network, table, &schedule, station)).collect()
        };
        let placed = all(&table);
        table.placed.iter_mut().for_each(|place| *place = None);
        let unplaced = all(&table);
        assert_eq!(unplaced.len(), 20);
        for (with, without) in placed.iter().zip(&unplaced) {
            assert_eq!((with.way, &with.name), (without.way, &without.name));
            assert_eq!(without.expected.window_ns, None);
        }
    }

    #[test]
    fn a_station_is_found_by_its_name_and_nothing_else_is_one() {
        let network = samples::ring(3, 1);
        assert_eq!(station(&network, "h1"), Ok(4));
        let said = |name| station(&network, name).unwrap_err().to_string();
        assert_eq!(said("h9"), "the network has no station h9; its stations are h0, h1, h2");
        assert_eq!(said("s1"), "s1 is a switch, and only stations send and receive streams");
    }

    #[test]
    fn another_plan_has_another_fingerprint() {
        let (network, _, schedule) = planned();
        let own = fingerprint(&network, &schedule);
        assert_eq!(own, fingerprint(&network.clone(), &schedule.clone()));
        let mut later = schedule.clone();
        later.sends[3].offset_ns += 1;
        let mut renamed = network.clone();
        renamed.streams[0].name = "g0".into();
        assert!(fingerprint(&network, &later) != own && fingerprint(&renamed, &schedule) != own);
    }
}
