//! A plan as a JSON document: what talkers and gates do, by names, so that it outlives the file it was made from.

use std::collections::{HashMap, HashSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::suits::suits;
use super::timetable::{Placed, PlacedHop, Timetable};
use crate::config::show_mac;
use crate::network::{LinkId, Network, NodeId, StreamId};
use crate::validate::{Schedule, Send, Window};

/// The latest time and the longest cycle in a document, in ns: more than two years, as in tsnkit's tables.
const LATEST_NS: u64 = 1 << 56;

/// The document's version.
pub const VERSION: u32 = 1;

/// When each message is on which link, and when which gate is open. Times are in nanoseconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// Version of this form, 1.
    pub ontick_plan: u32,
    /// Streams that have a place.
    pub streams: Vec<PlannedStream>,
    /// Gates of each port that sends scheduled messages.
    pub gates: Vec<PlannedGates>,
}

/// A stream's place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlannedStream {
    /// Its name.
    pub name: String,
    /// Its period.
    pub period_ns: u64,
    /// Octets of data of a message.
    pub size: u32,
    /// When the talker begins, from the beginning of each period.
    pub offset_ns: u64,
    /// From the beginning of a period until the last listener has the last bit.
    pub latency_ns: u64,
    /// The queue of its frames on every port, and their priority code point.
    pub queue: u8,
    /// Destination address of its frames.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// VLAN identifier of its frames; absent: switches do not look at it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vlan: Option<u16>,
    /// Whether it waits in switches, and does not run through.
    pub waits: bool,
    /// Its links, each behind the one that it comes from.
    pub hops: Vec<PlannedHop>,
}

/// One link of a stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlannedHop {
    /// The nodes at its ends.
    pub link: (String, String),
    /// Which of several cables between them, from 2 on; the first is not numbered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cable: Option<usize>,
    /// From when on a frame may be in the queue, from the beginning of a period; negative: before it, as clocks differ.
    pub arrives_ns: i64,
    /// When the gate opens for it.
    pub begin_ns: u64,
    /// When its last bit has left, and the gap behind it is over.
    pub end_ns: u64,
    /// When the last bit is at the other end, where a listener is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivered_ns: Option<u64>,
}

/// The gates of one port.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlannedGates {
    /// The nodes at the ends of its link.
    pub link: (String, String),
    /// Which of several cables between them, from 2 on; the first is not numbered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cable: Option<usize>,
    /// After which they repeat.
    pub cycle_ns: u64,
    /// Queue, begin and end of each window, one for each message; all else is open between them.
    pub windows: Vec<(u8, u64, u64)>,
}

/// Why a document is of no use.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DocumentError {
    /// It is none.
    #[error("not a plan of ontick: {0}")]
    Form(String),
    /// It names what the network has not.
    #[error("{0}; the plan is of another network")]
    Unknown(String),
}

impl Document {
    /// Of a plan.
    pub fn new(network: &Network, table: &Timetable, schedule: &Schedule) -> Self {
        let ends = |link: LinkId| {
            let link = &network.links[link];
            (network.nodes[link.from].name.clone(), network.nodes[link.to].name.clone())
        };
        let cables = network.cables();
        let cable = |link: LinkId| Some(cables[link] + 1).filter(|cable| *cable > 1);
        let addresses = network.addresses();
        let hop = |hop: &PlacedHop| PlannedHop {
            link: ends(hop.link),
            cable: cable(hop.link),
            arrives_ns: hop.arrives_ns,
            begin_ns: hop.begin_ns,
            end_ns: hop.end_ns,
            delivered_ns: hop.delivered_ns,
        };
        let stream = |placed: &Placed| {
            let of = &network.streams[placed.stream];
            PlannedStream {
                name: of.name.clone(),
                period_ns: of.period_ns,
                size: of.size,
                offset_ns: placed.offset_ns(),
                latency_ns: placed.latency_ns(),
                queue: placed.queue,
                address: Some(show_mac(addresses[placed.stream])),
                vlan: of.vlan,
                waits: placed.waits,
                hops: placed.hops.iter().map(hop).collect(),
            }
        };
        let mut gates: Vec<PlannedGates> = Vec::new();
        let mut last = None;
        for window in &schedule.windows {
            if last != Some(window.link) {
                last = Some(window.link);
                gates.push(PlannedGates {
                    link: ends(window.link),
                    cable: cable(window.link),
                    cycle_ns: window.cycle_ns,
                    windows: Vec::new(),
                });
            }
            if let Some(gates) = gates.last_mut() {
                gates.windows.push((window.queue, window.begin_ns, window.end_ns));
            }
        }
        Self { ontick_plan: VERSION, streams: table.placed.iter().flatten().map(stream).collect(), gates }
    }

    /// The JSON Schema of this form.
    pub fn schema() -> serde_json::Value {
        schemars::schema_for!(Document).to_value()
    }

    /// Of its JSON text.
    pub fn read(text: &str) -> Result<Self, DocumentError> {
        let wrong =
            |why: String| DocumentError::Form(if text.trim().is_empty() { "the file is empty".into() } else { why });
        let document: Document = serde_json::from_str(text).map_err(|error| wrong(error.to_string()))?;
        match document.ontick_plan {
            VERSION => document.within_limits()?.consistent(),
            other => Err(DocumentError::Form(format!("version {other}, and this program reads {VERSION}"))),
        }
    }

    /// Sums of its times are numbers, and cycles can be followed.
    fn within_limits(self) -> Result<Self, DocumentError> {
        let late = |of: &str, name: &str, ns: u64| {
            Err(DocumentError::Form(format!("{of} {name}: {ns} ns is more than two years")))
        };
        for stream in &self.streams {
            let hop = |hop: &PlannedHop| {
                let arrives_ns = hop.arrives_ns.unsigned_abs();
                arrives_ns.max(hop.begin_ns).max(hop.end_ns).max(hop.delivered_ns.unwrap_or(0))
            };
            let own = stream.period_ns.max(stream.offset_ns).max(stream.latency_ns);
            let latest = stream.hops.iter().map(hop).fold(own, u64::max);
            if latest > LATEST_NS {
                return late("stream", &stream.name, latest);
            }
        }
        for gates in &self.gates {
            let name = format!("{}>{}", gates.link.0, gates.link.1);
            let latest =
                gates.windows.iter().map(|(_, begin_ns, end_ns)| *begin_ns.max(end_ns)).fold(gates.cycle_ns, u64::max);
            if latest > LATEST_NS {
                return late("the gates of link", &name, latest);
            }
            if gates.cycle_ns == 0 {
                return Err(DocumentError::Form(format!("the gates of link {name}: a cycle of 0 ns")));
            }
        }
        Ok(self)
    }

    /// Each stream stands once, and what is said of it twice is the same.
    fn consistent(self) -> Result<Self, DocumentError> {
        let mut names = HashSet::new();
        for stream in &self.streams {
            let wrong = |what: String| Err(DocumentError::Form(format!("stream {}: {what}", stream.name)));
            if !names.insert(&stream.name) {
                return wrong("it stands there twice".into());
            }
            let last_ns = stream.hops.iter().filter_map(|hop| hop.delivered_ns).max();
            if last_ns.is_some_and(|last_ns| last_ns != stream.latency_ns) {
                return wrong(format!("latency_ns is {}, and its hops end with another", stream.latency_ns));
            }
            if stream.hops.first().is_some_and(|hop| hop.begin_ns != stream.offset_ns) {
                return wrong(format!("offset_ns is {}, and its hops begin with another", stream.offset_ns));
            }
        }
        Ok(self)
    }

    /// As JSON text, a line for each stream and each port.
    pub fn write(&self) -> Result<String, serde_json::Error> {
        let lines = |items: Vec<Result<String, serde_json::Error>>| -> Result<String, serde_json::Error> {
            Ok(items.into_iter().collect::<Result<Vec<_>, _>>()?.join(",\n    "))
        };
        let streams = lines(self.streams.iter().map(serde_json::to_string).collect())?;
        let gates = lines(self.gates.iter().map(serde_json::to_string).collect())?;
        let version = self.ontick_plan;
        Ok(format!(
            "{{\n  \"ontick_plan\": {version},\n  \"streams\": [\n    {streams}\n  ],\n  \"gates\": [\n    {gates}\n  ]\n}}\n"
        ))
    }

    /// Places of those streams that the network still has, and carries, as they were planned; all others have none.
    pub fn timetable(&self, network: &Network) -> Timetable {
        let names = Names::new(network);
        let mut table = Timetable { placed: vec![None; network.streams.len()] };
        for planned in &self.streams {
            let Some(&stream) = names.streams.get(planned.name.as_str()) else { continue };
            if let Some(placed) = same(network, &names, stream, planned) {
                table.placed[stream] = Some(placed);
            }
        }
        table
    }

    /// What a network would carry out.
    pub fn schedule(&self, network: &Network) -> Result<Schedule, DocumentError> {
        let names = Names::new(network);
        let mut schedule = Schedule { routes: vec![Vec::new(); network.streams.len()], ..Schedule::default() };
        for gates in &self.gates {
            let link = names.link(&gates.link, gates.cable)?;
            let window = |&(queue, begin_ns, end_ns): &(u8, u64, u64)| Window {
                link,
                queue,
                begin_ns,
                end_ns,
                cycle_ns: gates.cycle_ns,
            };
            schedule.windows.extend(gates.windows.iter().map(window));
        }
        for planned in &self.streams {
            let stream = *names
                .streams
                .get(planned.name.as_str())
                .ok_or_else(|| DocumentError::Unknown(format!("there is no stream \"{}\"", planned.name)))?;
            let route: Vec<LinkId> =
                planned.hops.iter().map(|hop| names.link(&hop.link, hop.cable)).collect::<Result<_, _>>()?;
            let queues = route.iter().map(|link| (*link, planned.queue)).collect();
            schedule.sends.push(Send { stream, offset_ns: planned.offset_ns, queues });
            schedule.routes[stream] = route;
        }
        Ok(schedule)
    }
}

/// Names and what they stand for.
struct Names<'a> {
    nodes: HashMap<&'a str, NodeId>,
    links: HashMap<(NodeId, NodeId, usize), LinkId>,
    streams: HashMap<&'a str, StreamId>,
}

impl<'a> Names<'a> {
    fn new(network: &'a Network) -> Self {
        let cables = network.cables();
        let links = network.links.iter().enumerate().map(|(id, link)| ((link.from, link.to, cables[id]), id)).collect();
        Self {
            nodes: network.nodes.iter().enumerate().map(|(id, node)| (node.name.as_str(), id)).collect(),
            links,
            streams: network.streams.iter().enumerate().map(|(id, stream)| (stream.name.as_str(), id)).collect(),
        }
    }

    fn link(&self, (from, to): &(String, String), cable: Option<usize>) -> Result<LinkId, DocumentError> {
        let cable = cable.unwrap_or(1).saturating_sub(1);
        let ends = self.nodes.get(from.as_str()).zip(self.nodes.get(to.as_str()));
        let link = ends.and_then(|(from, to)| self.links.get(&(*from, *to, cable)));
        link.copied().ok_or_else(|| DocumentError::Unknown(format!("there is no link from \"{from}\" to \"{to}\"")))
    }
}

/// The place, if the stream and its way are still what it was planned for.
fn same(network: &Network, names: &Names, stream: StreamId, planned: &PlannedStream) -> Option<Placed> {
    let of = &network.streams[stream];
    let unchanged = of.period_ns == planned.period_ns
        && of.size == planned.size
        && planned.latency_ns <= of.deadline_ns
        && of.queue.is_none_or(|queue| queue == planned.queue);
    let mut hops: Vec<PlacedHop> = Vec::new();
    for hop in &planned.hops {
        let link = names.link(&hop.link, hop.cable).ok()?;
        let from = network.links[link].from;
        let before = hops.iter().position(|hop| network.links[hop.link].to == from);
        let (arrives_ns, begin_ns, end_ns) = (hop.arrives_ns, hop.begin_ns, hop.end_ns);
        let sound = (from == of.talker || before.is_some())
            && i128::from(arrives_ns) <= i128::from(begin_ns)
            && begin_ns < end_ns;
        if !sound || planned.queue >= network.links[link].queues {
            return None;
        }
        let delivers = of.listeners.contains(&network.links[link].to);
        if delivers != hop.delivered_ns.is_some() {
            return None;
        }
        hops.push(PlacedHop { link, before, arrives_ns, begin_ns, end_ns, delivered_ns: hop.delivered_ns });
    }
    let delivered = hops.iter().filter(|hop| hop.delivered_ns.is_some()).count();
    let placed = Placed { stream, queue: planned.queue, waits: planned.waits, hops };
    (unchanged && delivered == of.listeners.len() && suits(network, &placed)).then_some(placed)
}

#[cfg(test)]
mod tests {
    use super::super::{Outcome, PlanOptions, gate_control_list, plan};
    use super::*;
    use crate::network::samples;

    #[test]
    fn times_that_nobody_can_follow_are_errors() {
        let network = samples::ring(3, 3);
        let Outcome::Planned(table) = plan(&network, &PlanOptions::default(), &Timetable::default(), &|| true) else {
            panic!()
        };
        let document = Document::new(&network, &table, &gate_control_list::schedule(&network, &table).unwrap());
        let said = |change: fn(&mut Document)| {
            let mut document = document.clone();
            change(&mut document);
            Document::read(&document.write().unwrap()).map(drop).map_err(|error| error.to_string())
        };
        assert_eq!(said(|_| ()), Ok(()));
        let late = [
            said(|document| document.gates[0].cycle_ns = 1 << 63),
            said(|document| document.gates[0].windows[0].2 = u64::MAX),
            said(|document| document.streams[0].offset_ns = u64::MAX),
            said(|document| document.streams[0].hops[1].end_ns = (1 << 56) + 1),
        ];
        for error in late.map(Result::unwrap_err) {
            assert!(error.contains("is more than two years"), "{error}");
        }
        assert!(said(|document| document.gates[0].cycle_ns = 0).unwrap_err().contains("a cycle of 0 ns"));
        assert_eq!(said(|document| document.gates[0].cycle_ns = 1 << 56), Ok(()));
    }

    #[test]
    fn what_a_document_says_of_a_stream_is_one_thing() {
        let network = samples::ring(3, 3);
        let Outcome::Planned(table) = plan(&network, &PlanOptions::default(), &Timetable::default(), &|| true) else {
            panic!()
        };
        let document = Document::new(&network, &table, &gate_control_list::schedule(&network, &table).unwrap());
        let said = |change: fn(&mut Document)| {
            let mut document = document.clone();
            change(&mut document);
            Document::read(&document.write().unwrap()).unwrap_err().to_string()
        };
        let twice = said(|document| document.streams.push(document.streams[0].clone()));
        assert!(twice.ends_with("stream f0: it stands there twice"), "{twice}");
        let latency = said(|document| document.streams[1].latency_ns -= 1);
        assert!(latency.contains("stream f1: latency_ns is "), "{latency}");
        let offset = said(|document| document.streams[2].offset_ns += 1);
        assert!(offset.contains("stream f2: offset_ns is "), "{offset}");
    }

    #[test]
    fn a_plan_survives_its_document() {
        let network = samples::ring(5, 60);
        let Outcome::Planned(table) = plan(&network, &PlanOptions::default(), &Timetable::default(), &|| true) else {
            panic!()
        };
        let schedule = gate_control_list::schedule(&network, &table).unwrap();
        let text = Document::new(&network, &table, &schedule).write().unwrap();
        let read = Document::read(&text).unwrap();
        assert_eq!(read.timetable(&network), table);
        assert_eq!(read.schedule(&network).unwrap(), schedule);

        // A stream that has become longer has no place any more; all others keep theirs.
        let mut other = network.clone();
        other.streams[3].size += 500;
        assert_eq!(read.timetable(&other).missing().collect::<Vec<_>>(), [3]);
        // So has one whose period is another, whose deadline comes before its end, or that wants another queue.
        let left = |change: fn(&mut crate::network::Stream)| {
            let mut other = network.clone();
            change(&mut other.streams[3]);
            read.timetable(&other).missing().collect::<Vec<_>>()
        };
        assert_eq!(left(|stream| stream.period_ns *= 2), [3]);
        assert_eq!(left(|stream| stream.deadline_ns = 1_000), [3]);
        assert_eq!(left(|stream| stream.queue = Some(3)), [3]);
        assert_eq!(left(|stream| stream.queue = Some(7)), [0; 0]);

        other.nodes[0].name = "elsewhere".into();
        assert!(matches!(read.schedule(&other), Err(DocumentError::Unknown(_))));
        assert_eq!(Document::read("\n").unwrap_err().to_string(), "not a plan of ontick: the file is empty");
        assert!(Document::read("{}").unwrap_err().to_string().starts_with("not a plan of ontick: missing field"));
        assert!(Document::read(&text.replace("\"ontick_plan\": 1", "\"ontick_plan\": 2")).is_err());
    }

    /// Whoever wrote the file: what could not be on the links is no plan of the stream any more.
    #[test]
    fn a_stream_whose_hops_could_not_be_has_no_place() {
        let network = samples::ring(3, 1);
        let Outcome::Planned(table) = plan(&network, &PlanOptions::default(), &Timetable::default(), &|| true) else {
            panic!()
        };
        let document = Document::new(&network, &table, &gate_control_list::schedule(&network, &table).unwrap());
        let keeps = |change: fn(&mut Vec<PlannedHop>)| {
            let mut document = document.clone();
            change(&mut document.streams[0].hops);
            document.timetable(&network).missing().next().is_none()
        };
        assert!(keeps(|_| ()));
        assert!(keeps(|hops| hops[1].arrives_ns = hops[1].begin_ns as i64) && keeps(|hops| hops[1].arrives_ns -= 1));
        assert!(keeps(|hops| hops[2].end_ns += 5));
        assert!(keeps(|hops| hops[1].arrives_ns = -1));
        assert!(!keeps(|hops| hops[1].arrives_ns = hops[1].begin_ns as i64 + 1));
        assert!(!keeps(|hops| hops[1].end_ns -= 1) && !keeps(|hops| hops[1].end_ns = hops[1].begin_ns));
        assert!(!keeps(|hops| hops[1].end_ns = hops[1].begin_ns - 1));
        assert!(!keeps(|hops| hops[2].delivered_ns = None) && !keeps(|hops| hops[1].delivered_ns = Some(9_000)));
        // A queue that a port lacks, whatever else it has.
        let in_queue = |queue| {
            let mut document = document.clone();
            document.streams[0].queue = queue;
            document.timetable(&network).missing().next().is_none()
        };
        assert_eq!([6, 7, 8, 9, 255].map(in_queue), [true, true, false, false, false]);
        // Links that do not lead on from the talker.
        assert!(!keeps(|hops| drop(hops.remove(0))) && !keeps(|hops| hops.swap(0, 1)));
    }

    #[test]
    fn two_years_to_the_nanosecond_are_no_more_than_two_years() {
        let network = samples::ring(3, 1);
        let Outcome::Planned(table) = plan(&network, &PlanOptions::default(), &Timetable::default(), &|| true) else {
            panic!()
        };
        let document = Document::new(&network, &table, &gate_control_list::schedule(&network, &table).unwrap());
        let read = |change: fn(&mut Document, u64), ns| {
            let mut document = document.clone();
            change(&mut document, ns);
            Document::read(&document.write().unwrap()).is_ok()
        };
        let changes: [fn(&mut Document, u64); 5] = [
            |document, ns| document.streams[0].period_ns = ns,
            |document, ns| document.streams[0].hops[0].arrives_ns = -(ns as i64),
            |document, ns| {
                document.streams[0].latency_ns = ns;
                document.streams[0].hops[2].delivered_ns = Some(ns);
            },
            |document, ns| document.gates[0].cycle_ns = ns,
            |document, ns| document.gates[0].windows[0].1 = ns,
        ];
        assert!(changes.iter().all(|change| read(*change, LATEST_NS) && !read(*change, LATEST_NS + 1)));
        let schema = Document::schema().to_string();
        assert!(["ontick_plan", "streams", "delivered_ns", "cycle_ns"].iter().all(|field| schema.contains(field)));
    }
}
