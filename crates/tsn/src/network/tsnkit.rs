//! The tables of tsnkit (Xue et al., Real-Time Scheduling for 802.1Qbv Time-Sensitive Networking: A Systematic Review
//! and Experimental Study, RTAS 2024): `task.csv` with a stream in each row, `topo.csv` with a link in each. Times are
//! nanoseconds, sizes octets, nodes and streams have numbers for names.
//!
//! Two things are read otherwise than by that tool. A stream may have several destinations. And a `rate` other than 1
//! needs a word on what it means, for its documentation (nanoseconds for a bit) and its arithmetic (gigabits per second)
//! differ.

use std::collections::{BTreeMap, HashMap, HashSet};

use csv::{Position, StringRecord};

use super::read::{LARGEST_SIZE, LONGEST_PERIOD_NS, unreached};
use super::{Kind, Link, Network, Node, NodeId, Overhead, Stream};
use crate::config::{Errors, Problem};

/// What a `rate` other than 1 means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RateUnit {
    /// Nanoseconds for a bit: 10 is 100 Mbit/s.
    NsPerBit,
    /// Gigabits per second: 10 is 10 Gbit/s.
    Gbit,
}

/// Reads both texts.
pub fn read(task: &str, topo: &str, rates: Option<RateUnit>, overhead: Overhead) -> Result<Network, Errors> {
    let mut network = links(topo, rates)?;
    network.overhead = overhead;
    streams_of(task, network)
}

/// Why the tables cannot tell what a network has apart.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NamesError {
    /// A name is none of theirs.
    #[error("its tables have numbers for names, and here is \"{0}\"")]
    NotNumber(String),
    /// Two names of nodes, or of streams, are the same number.
    #[error("its tables have numbers for names, and \"{0}\" and \"{1}\" are the same one")]
    OneNumber(String, String),
    /// A link is known by its nodes alone.
    #[error("its tables name a link by its two nodes, and between {0} and {1} there are several cables")]
    SeveralCables(String, String),
}

/// Whether tables can be of this network.
pub fn check_names(network: &Network) -> Result<(), NamesError> {
    distinct(network.streams.iter().map(|stream| &stream.name))?;
    distinct(network.nodes.iter().map(|node| &node.name))?;
    let mut known = HashSet::new();
    match network.links.iter().find(|link| !known.insert((link.from, link.to))) {
        None => Ok(()),
        Some(Link { from, to, .. }) => {
            let [from, to] = [from, to].map(|node| network.nodes[*node].name.clone());
            Err(NamesError::SeveralCables(from, to))
        }
    }
}

fn distinct<'a>(names: impl Iterator<Item = &'a String>) -> Result<(), NamesError> {
    let mut known: HashMap<u64, &String> = HashMap::new();
    for name in names {
        let number = name.parse().map_err(|_| NamesError::NotNumber(name.clone()))?;
        if let Some(other) = known.insert(number, name) {
            return Err(NamesError::OneNumber(other.clone(), name.clone()));
        }
    }
    Ok(())
}

/// A table as it is read.
pub(crate) struct Rows<'a> {
    reader: csv::Reader<&'a [u8]>,
    /// Columns that are wanted, by their places in the file.
    places: Vec<Option<usize>>,
    columns: &'static [&'static str],
    problems: Vec<Problem>,
}

impl<'a> Rows<'a> {
    /// Columns with a `?` may be absent; others that are there are not looked at.
    pub(crate) fn new(text: &'a str, columns: &'static [&'static str]) -> Result<Self, Errors> {
        let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::Headers).from_reader(text.as_bytes());
        let header = reader.headers().map_err(|error| alone(problem_of(&error)))?.clone();
        let place = |column: &&str| header.iter().position(|name| name == column.trim_end_matches('?'));
        let places: Vec<Option<usize>> = columns.iter().map(place).collect();
        let missing = columns.iter().zip(&places).find(|(column, place)| place.is_none() && !column.ends_with('?'));
        if let Some((column, _)) = missing {
            let what = format!("there is no column `{column}`; the first line names them: {}", columns.join(","));
            return Err(alone(Problem { line: 1, column: 1, what }));
        }
        Ok(Self { reader, places, columns, problems: Vec::new() })
    }

    /// Reads the next row, if there is one.
    pub(crate) fn next(&mut self, record: &mut StringRecord) -> bool {
        loop {
            match self.reader.read_record(record) {
                Ok(is_there) => return is_there,
                Err(error) => {
                    self.problems.push(problem_of(&error));
                    // Behind a row of another length the next one can be read; behind what is no text nothing can.
                    if !matches!(error.kind(), csv::ErrorKind::UnequalLengths { .. }) {
                        return false;
                    }
                }
            }
        }
    }

    pub(crate) fn field<'r>(&self, record: &'r StringRecord, column: usize) -> Option<&'r str> {
        record.get(self.places[column]?).map(str::trim)
    }

    pub(crate) fn wrong(&mut self, record: &StringRecord, column: usize, what: impl std::fmt::Display) {
        self.wrong_at(record.position(), column, what);
    }

    fn wrong_at(&mut self, position: Option<&Position>, column: usize, what: impl std::fmt::Display) {
        let line = position.map_or(1, Position::line) as usize;
        let name = self.columns[column].trim_end_matches('?');
        let place = self.places[column].map_or(1, |place| place + 1);
        self.problems.push(Problem { line, column: place, what: format!("`{name}`: {what}") });
    }

    pub(crate) fn number(
        &mut self,
        record: &StringRecord,
        column: usize,
        range: std::ops::RangeInclusive<u64>,
    ) -> Option<u64> {
        let text = self.field(record, column)?;
        // Spreadsheets and data frames write whole numbers with a fraction of zero.
        let whole = text.strip_suffix(".0").unwrap_or(text);
        let number = whole.parse().ok().filter(|number| range.contains(number));
        if number.is_none() {
            let what = format!("\"{text}\" is not a whole number from {} to {}", range.start(), range.end());
            self.wrong(record, column, what);
        }
        number
    }

    pub(crate) fn finish(self) -> Result<(), Errors> {
        if self.problems.is_empty() { Ok(()) } else { Err(Errors { problems: self.problems }) }
    }
}

fn alone(problem: Problem) -> Errors {
    Errors { problems: vec![problem] }
}

fn problem_of(error: &csv::Error) -> Problem {
    let line = error.position().map_or(1, Position::line) as usize;
    let what = match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("{len} columns where the first line has {expected_len}")
        }
        csv::ErrorKind::Utf8 { .. } => "not a text in UTF-8".into(),
        other => format!("not a table: {other:?}"),
    };
    Problem { line, column: 1, what }
}

/// Numbers in brackets: `(3, 4)`, `[12]`.
pub(crate) fn numbers(text: &str, open: char, close: char) -> Option<Vec<u64>> {
    let inside = text.trim().strip_prefix(open)?.strip_suffix(close)?.trim().trim_end_matches(',');
    inside.split(',').map(|part| part.trim().parse().ok()).collect()
}

const TOPO: &[&str] = &["link", "q_num", "rate", "t_proc", "t_prop"];

/// Reads the nodes and links of `topo.csv`.
pub fn links(text: &str, rates: Option<RateUnit>) -> Result<Network, Errors> {
    let mut rows = Rows::new(text, TOPO)?;
    let mut nodes: BTreeMap<u64, ()> = BTreeMap::new();
    let mut found = Vec::new();
    let mut known = HashSet::new();
    let mut record = StringRecord::new();
    while rows.next(&mut record) {
        let ends = rows.field(&record, 0).and_then(|text| numbers(text, '(', ')'));
        let queues = rows.number(&record, 1, 1..=8);
        let rate = rows.number(&record, 2, 1..=1_000);
        let processing = rows.number(&record, 3, 0..=1_000_000_000);
        let propagation = rows.number(&record, 4, 0..=1_000_000_000);
        let rate = rate.and_then(|rate| match (rate, rates) {
            (1, _) => Some(1_000_000_000),
            (rate, Some(RateUnit::NsPerBit)) => Some(1_000_000_000 / rate),
            (rate, Some(RateUnit::Gbit)) => Some(1_000_000_000 * rate),
            (rate, None) => {
                let what = format!(
                    "{rate} can mean {rate} ns for a bit or {rate} Gbit/s; say which unit rates have (ns-per-bit or gbit)"
                );
                rows.wrong(&record, 2, what);
                None
            }
        });
        match ends.as_deref() {
            Some(&[from, to]) if from != to => {
                if !known.insert((from, to)) {
                    rows.wrong(&record, 0, format!("({from}, {to}) is there already"));
                }
                nodes.extend([(from, ()), (to, ())]);
                if let (Some(queues), Some(rate), Some(processing), Some(propagation)) =
                    (queues, rate, processing, propagation)
                {
                    found.push((from, to, queues as u8, rate, processing, propagation));
                }
            }
            _ => rows.wrong(&record, 0, "not a pair of two nodes such as \"(0, 1)\""),
        }
    }
    rows.finish()?;
    if found.is_empty() {
        return Err(alone(Problem { line: 1, column: 1, what: "there is no link below the first line".into() }));
    }
    let places: HashMap<u64, NodeId> = nodes.keys().enumerate().map(|(place, name)| (*name, place)).collect();
    let links: Vec<Link> = found
        .into_iter()
        .map(|(from, to, queues, rate, processing_ns, propagation_ns)| Link {
            from: places[&from],
            to: places[&to],
            port: None,
            rate,
            propagation_ns,
            processing_ns,
            queues,
        })
        .collect();
    // A node with one neighbour has nobody to forward to.
    let mut neighbours: Vec<HashSet<NodeId>> = vec![HashSet::new(); places.len()];
    for link in &links {
        neighbours[link.from].insert(link.to);
        neighbours[link.to].insert(link.from);
    }
    let kind = |place: usize| if neighbours[place].len() > 1 { Kind::Switch } else { Kind::Station };
    let nodes = nodes
        .keys()
        .enumerate()
        .map(|(place, name)| Node { name: name.to_string(), system_name: None, kind: kind(place) })
        .collect();
    Ok(Network::without_streams(nodes, links))
}

const TASK: &[&str] = &["stream", "src", "dst", "size", "period", "deadline", "jitter?"];

/// Reads the streams of `task.csv` between the nodes of a network.
pub fn streams(text: &str, network: &Network) -> Result<Vec<Stream>, Errors> {
    let network = Network { streams: Vec::new(), ..network.clone() };
    Ok(streams_of(text, network)?.streams)
}

/// The network with these streams.
fn streams_of(text: &str, mut network: Network) -> Result<Network, Errors> {
    // Older tables call it so.
    let text = match text.strip_prefix("id,") {
        Some(rest) => std::borrow::Cow::Owned(format!("stream,{rest}")),
        None => std::borrow::Cow::Borrowed(text),
    };
    let mut rows = Rows::new(&text, TASK)?;
    let places: HashMap<&str, NodeId> =
        network.nodes.iter().enumerate().map(|(place, node)| (node.name.as_str(), place)).collect();
    let mut known: HashMap<u64, u64> = HashMap::new();
    let mut streams = Vec::new();
    let mut positions = Vec::new();
    let mut record = StringRecord::new();
    while rows.next(&mut record) {
        let before = rows.problems.len();
        let name = rows.number(&record, 0, 0..=u64::from(u32::MAX)).unwrap_or(0);
        let line = record.position().map_or(1, Position::line);
        if let Some(line) = known.insert(name, line) {
            rows.wrong(&record, 0, format!("{name} is there already, in line {line}"));
        }
        let node = |number: u64| places.get(number.to_string().as_str()).copied();
        let talker = rows.number(&record, 1, 0..=u64::MAX).and_then(|number| {
            let found = node(number);
            if found.is_none() {
                rows.wrong(&record, 1, format!("no link has a node {number}"));
            }
            found
        });
        let listeners =
            rows.field(&record, 2).and_then(|text| numbers(text, '[', ']').or(text.parse().ok().map(|n| vec![n])));
        let listeners: Vec<Option<NodeId>> = listeners.unwrap_or_default().into_iter().map(node).collect();
        let mut unique = listeners.clone();
        unique.sort_unstable();
        unique.dedup();
        if listeners.is_empty()
            || unique.len() < listeners.len()
            || listeners.iter().any(|node| node.is_none() || *node == talker)
        {
            rows.wrong(
                &record,
                2,
                "not a list of nodes such as \"[12]\", each there once, in some link, and not the source",
            );
        }
        let size = rows.number(&record, 3, 1..=LARGEST_SIZE);
        let period = rows.number(&record, 4, 1..=LONGEST_PERIOD_NS);
        let deadline = rows.number(&record, 5, 1..=period.unwrap_or(u64::MAX));
        let jitter = if rows.places[6].is_some() { rows.number(&record, 6, 0..=u64::MAX) } else { Some(0) };
        let listeners: Vec<NodeId> = listeners.into_iter().flatten().collect();
        if rows.problems.len() > before {
            continue;
        }
        if let (Some(talker), Some(size), Some(period_ns), Some(deadline_ns), Some(jitter_ns)) =
            (talker, size, period, deadline, jitter)
        {
            let size = size as u32;
            streams.push(Stream {
                name: name.to_string(),
                talker,
                listeners,
                size,
                period_ns,
                deadline_ns,
                jitter_ns,
                queue: None,
                address: None,
                vlan: None,
            });
            positions.push(record.position().cloned());
        }
    }
    network.streams = streams;
    for (stream, to) in unreached(&network) {
        let (from, to) = (&network.nodes[network.streams[stream].talker].name, &network.nodes[to].name);
        rows.wrong_at(positions[stream].as_ref(), 2, format!("no links lead from {from} to {to}"));
    }
    rows.problems.sort_by_key(|problem| problem.line);
    rows.finish()?;
    if network.streams.is_empty() {
        return Err(alone(Problem { line: 1, column: 1, what: "there is no stream below the first line".into() }));
    }
    Ok(network)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOPOLOGY: &str = "link,q_num,rate,t_proc,t_prop\n\"(0, 1)\",8,1,2000,0\n\"(1, 0)\",8,1,2000,0\n\
                            \"(2, 0)\",8,1,2000,0\n\"(0, 2)\",8,1,2000,0\n\"(0, 3)\",8,1,2000,0\n";
    const TASKS: &str = "stream,src,dst,size,period,deadline,jitter\n0,1,[2],100,500000,500000,500000\n\
                         1,2,\"[1, 3]\",200,2000000,2000000,0\n";

    fn read(task: &str, topo: &str, rates: Option<RateUnit>) -> Result<Network, String> {
        let mut network = links(topo, rates).map_err(|errors| errors.in_file("topo.csv"))?;
        network.streams = streams(task, &network).map_err(|errors| errors.in_file("task.csv"))?;
        Ok(network)
    }

    #[test]
    fn both_tables_are_read() {
        let network = read(TASKS, TOPOLOGY, None).unwrap();
        let kinds: Vec<Kind> = network.nodes.iter().map(|node| node.kind).collect();
        assert_eq!(kinds, [Kind::Switch, Kind::Station, Kind::Station, Kind::Station]);
        assert_eq!(network.streams[1].listeners, [1, 3]);
        assert_eq!(network.links[0].processing_ns, 2_000);
    }

    #[test]
    fn what_tables_cannot_tell_apart_is_found() {
        let network = read(TASKS, TOPOLOGY, None).unwrap();
        assert_eq!(check_names(&network), Ok(()));
        let said = |change: fn(&mut Network)| {
            let mut network = network.clone();
            change(&mut network);
            check_names(&network).unwrap_err().to_string()
        };
        let same = "its tables have numbers for names, and \"1\" and \"01\" are the same one";
        assert_eq!(said(|network| network.nodes[2].name = "01".into()), same);
        let same = "its tables have numbers for names, and \"00\" and \"0\" are the same one";
        assert_eq!(
            said(|network| (network.streams[0].name, network.streams[1].name) = ("00".into(), "0".into())),
            same
        );
        let none = "its tables have numbers for names, and here is \"s1\"";
        assert_eq!(said(|network| network.nodes[1].name = "s1".into()), none);
        let several = "its tables name a link by its two nodes, and between 2 and 0 there are several cables";
        assert_eq!(said(|network| network.links.push(network.links[2].clone())), several);
    }

    #[test]
    fn a_rate_is_said() {
        let topology = TOPOLOGY.replacen("8,1,", "8,10,", 1);
        let said = read(TASKS, &topology, None).unwrap_err();
        assert!(said.starts_with("topo.csv:2:3: `rate`: 10 can mean 10 ns for a bit or 10 Gbit/s"), "{said}");
        assert_eq!(read(TASKS, &topology, Some(RateUnit::NsPerBit)).unwrap().links[0].rate, 100_000_000);
        assert_eq!(read(TASKS, &topology, Some(RateUnit::Gbit)).unwrap().links[0].rate, 10_000_000_000);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        for (from, to, said) in [
            ("[2]", "[9]", "task.csv:2:3: `dst`: not a list of nodes"),
            ("[2]", "[1]", "task.csv:2:3: `dst`: not a list of nodes"),
            ("1,[2]", "7,[2]", "task.csv:2:2: `src`: no link has a node 7"),
            ("1,[2]", "3,[2]", "task.csv:2:3: `dst`: no links lead from 3 to 2"),
            ("100,", "-5,", "task.csv:2:4: `size`: \"-5\" is not a whole number from 1"),
            ("500000,500000,", "0,500000,", "task.csv:2:5: `period`: \"0\" is not"),
            (
                "500000,500000,",
                "500000,500001,",
                "task.csv:2:6: `deadline`: \"500001\" is not a whole number from 1 to 500000",
            ),
            ("\n1,2,", "\n0,2,", "task.csv:3:1: `stream`: 0 is there already, in line 2"),
            (",500000\n", "\n", "task.csv:2:1: 6 columns where the first line has 7"),
            ("period", "pariod", "task.csv:1:1: there is no column `period`"),
        ] {
            let text = TASKS.replacen(from, to, 1);
            let wrong = read(&text, TOPOLOGY, None).unwrap_err();
            assert!(wrong.starts_with(said), "{said}: {wrong}");
        }
        let wrong = read(TASKS, &TOPOLOGY.replacen("(0, 1)", "(0; 1)", 1), None).unwrap_err();
        assert!(wrong.starts_with("topo.csv:2:1: `link`: not a pair"), "{wrong}");
    }
}
