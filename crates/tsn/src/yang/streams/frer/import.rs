//! Reads the functions of streams that take several paths.

use std::collections::{BTreeMap, BTreeSet};

use super::super::super::node::{Node, YangError};
use super::super::super::notes::Notes;
use super::super::super::{FRER, STREAM_IDENTIFICATION};
use super::super::numbers::{handle_of, numbered};
use super::MILLISECOND_NS;
use crate::config::{HISTORY_LENGTH, MOST_STREAMS, PATHS, RESET_TIMEOUT_NS};
use crate::model::Elimination;

const GENERATION: [&str; 4] = ["index", "stream", "direction-out-facing", "reset"];
/// State is read over.
const RECOVERY: [&str; 13] = [
    "index",
    "stream",
    "port",
    "direction-out-facing",
    "reset",
    "algorithm",
    "history-length",
    "reset-timeout",
    "invalid-sequence-value",
    "take-no-sequence",
    "individual-recovery",
    "latent-error-detection",
    "latent-error-detection-parameters",
];
const IDENTIFICATION: [&str; 5] = ["port", "direction-out-facing", "stream", "active", "encapsulation"];
const LATENT: [&str; 4] = ["difference", "period", "paths", "reset-period"];

/// What is done with the frames of a stream beside forwarding.
#[derive(Default)]
pub(in super::super) struct Redundancy {
    pub eliminate: Option<Elimination>,
    pub replicate: Option<Vec<String>>,
}

/// The tables of a document, by stream_handle. What a stream has is taken out.
#[derive(Default)]
pub(in super::super) struct Frer<'a> {
    generations: BTreeMap<u32, Entry<'a>>,
    recoveries: BTreeMap<u32, Recovery<'a>>,
    /// Where numbers are read.
    decoders: BTreeMap<u32, Coders<'a>>,
    /// Where numbers are written.
    encoders: BTreeMap<u32, Coders<'a>>,
}

/// An entry of a table, and where it names a stream.
struct Entry<'a> {
    node: Node<'a>,
    stream: Node<'a>,
}

struct Recovery<'a> {
    entry: Entry<'a>,
    ports: Node<'a>,
    elimination: Elimination,
}

/// By the name of their port.
type Coders<'a> = BTreeMap<&'a str, Entry<'a>>;

impl<'a> Frer<'a> {
    pub fn of(frer: &Node<'a>, notes: &mut Notes) -> Result<Self, YangError> {
        if let Some(split) = frer.member(FRER, "stream-split")? {
            let what = "is not supported; the copies of a frame are alike, and leave by each output-port of their \
                        stream-identity";
            return Err(split.error(what));
        }
        frer.only(FRER, &["sequence-generation", "sequence-recovery", "sequence-identification"])?;
        let mut tables = Self::default();
        for node in numbered(frer.member(FRER, "sequence-generation")?, FRER, "index")?.into_values() {
            node.only(FRER, &GENERATION)?;
            is_out_facing(&node, false, "each frame has its number before its copies leave")?;
            node.off(FRER, "reset")?;
            let (handle, entry) = of_one_stream(node)?;
            put(&mut tables.generations, handle, entry, |entry| &entry.node)?;
        }
        for node in numbered(frer.member(FRER, "sequence-recovery")?, FRER, "index")?.into_values() {
            let elimination = elimination(&node, notes)?;
            let ports = node.require(FRER, "port")?;
            let (handle, entry) = of_one_stream(node)?;
            put(&mut tables.recoveries, handle, Recovery { entry, ports, elimination }, |new| &new.entry.node)?;
        }
        tables.identification(frer)?;
        Ok(tables)
    }

    fn identification(&mut self, frer: &Node<'a>) -> Result<(), YangError> {
        let Some(list) = frer.member(FRER, "sequence-identification")? else { return Ok(()) };
        let mut keys = BTreeSet::new();
        for node in list.items()? {
            let port = node.require(FRER, "port")?.text()?;
            let is_out_facing = node.require(FRER, "direction-out-facing")?.flag()?;
            if !keys.insert((port, is_out_facing)) {
                return Err(node.error("there are two entries with this port and direction"));
            }
            let node = node.keyed("port", port).also_keyed("direction-out-facing", &is_out_facing.to_string());
            node.only(FRER, &IDENTIFICATION)?;
            let active = node.require(FRER, "active")?;
            if active.flag()? == is_out_facing {
                let what = "numbers are read out-facing, with active false, and written in-facing, with active true";
                return Err(active.error(what));
            }
            let encapsulation = node.require(FRER, "encapsulation")?;
            alone(&encapsulation, "r-tag", "numbers stand in redundancy tags")?;
            let coders = if is_out_facing { &mut self.decoders } else { &mut self.encoders };
            for stream in streams(&node)? {
                let handle = handle_of(&stream)?;
                let stream = stream.keyed(".", &handle.to_string());
                coders.entry(handle).or_default().insert(port, Entry { node: node.clone(), stream });
            }
        }
        Ok(())
    }

    /// What is done with the frames of a stream that come in by these ports; `facing` names both.
    pub fn take(&mut self, handle: u32, facing: &Node<'a>, ingress: &[String]) -> Result<Redundancy, YangError> {
        let eliminate = self.take_recovery(handle, ingress)?;
        let replicate = self.take_generation(handle, eliminate.is_some(), facing, ingress)?;
        Ok(Redundancy { eliminate, replicate })
    }

    fn take_recovery(&mut self, handle: u32, ingress: &[String]) -> Result<Option<Elimination>, YangError> {
        let decoders = self.decoders.remove(&handle).unwrap_or_default();
        let Some(Recovery { entry, ports, elimination }) = self.recoveries.remove(&handle) else {
            return match decoders.values().next() {
                Some(decoder) => Err(decoder.stream.error("no sequence-recovery looks at its numbers; leave it out")),
                None => Ok(None),
            };
        };
        let names = ports.items()?.iter().map(Node::text).collect::<Result<BTreeSet<_>, _>>()?;
        if names != ingress.iter().map(String::as_str).collect() {
            let what = "are not the ports that the stream comes in by, which are those of out-facing/input-port";
            return Err(ports.error(what));
        }
        at_all(&decoders, ingress, &entry.node, "no out-facing sequence-identification reads its numbers")?;
        Ok(Some(elimination))
    }

    fn take_generation(
        &mut self,
        handle: u32,
        is_recovered: bool,
        facing: &Node<'a>,
        ingress: &[String],
    ) -> Result<Option<Vec<String>>, YangError> {
        let encoders = self.encoders.remove(&handle).unwrap_or_default();
        let generation = self.generations.remove(&handle);
        let lacking = "no in-facing sequence-identification writes its numbers";
        match (&generation, encoders.values().next(), is_recovered) {
            (None, None, _) => match facing.member(STREAM_IDENTIFICATION, "output-port")? {
                Some(ports) => {
                    let what = "goes with an in-facing sequence-identification of the stream; else the bridge decides by \
                                which ports frames leave, so leave it out";
                    return Err(ports.error(what));
                }
                None => return Ok(None),
            },
            (None, Some(encoder), false) => {
                return Err(encoder.stream.error("no sequence-generation gives it numbers; have one"));
            }
            (Some(generation), _, true) => {
                let what = "frames that were recovered keep their numbers; leave it out";
                return Err(generation.stream.error(what));
            }
            (Some(generation), _, false) => at_all(&encoders, ingress, &generation.node, lacking)?,
            (None, Some(encoder), true) => at_all(&encoders, ingress, &encoder.node, lacking)?,
        }
        let ports = facing.require(STREAM_IDENTIFICATION, "output-port")?;
        let names = ports.items()?.iter().map(|port| port.text().map(str::to_owned)).collect::<Result<Vec<_>, _>>()?;
        match names.iter().collect::<BTreeSet<_>>().len() {
            0 | 1 => Err(ports.error("names less than two ports; a stream is replicated to two or more")),
            _ => Ok(Some(names)),
        }
    }

    /// What no stream has been given is of none.
    pub fn all_used(&self) -> Result<(), YangError> {
        let coders = self.decoders.iter().chain(&self.encoders);
        let coders = coders.filter_map(|(handle, coders)| Some((handle, coders.values().next()?)));
        let recoveries = self.recoveries.iter().map(|(handle, recovery)| (handle, &recovery.entry));
        match self.generations.iter().chain(recoveries).chain(coders).next() {
            None => Ok(()),
            Some((handle, entry)) => {
                Err(entry.stream.error(format!("no entry of stream-identity has the handle {handle}")))
            }
        }
    }
}

fn put<'a, T>(
    table: &mut BTreeMap<u32, T>,
    handle: u32,
    new: T,
    node: impl Fn(&T) -> &Node<'a>,
) -> Result<(), YangError> {
    if table.contains_key(&handle) {
        return Err(node(&new).error(format!("there is an entry of the stream {handle} already")));
    }
    table.insert(handle, new);
    Ok(())
}

/// That there is one at each of these ports, and at no other.
fn at_all(coders: &Coders, ports: &[String], of: &Node, lacking: &str) -> Result<(), YangError> {
    if let Some(port) = ports.iter().find(|port| !coders.contains_key(port.as_str())) {
        return Err(of.error(format!("{lacking} at port {port}")));
    }
    match coders.iter().find(|(name, _)| ports.iter().all(|port| port != *name)) {
        Some((name, coder)) => Err(coder.stream.error(format!("the stream does not come in by {name}"))),
        None => Ok(()),
    }
}

fn streams<'a>(node: &Node<'a>) -> Result<Vec<Node<'a>>, YangError> {
    let list = node.require(FRER, "stream")?;
    let items = list.items()?;
    match items.len() {
        0 => Err(list.error("names no stream")),
        count if count > MOST_STREAMS => Err(list.error(format!("{count} streams; {MOST_STREAMS} at most"))),
        _ => Ok(items),
    }
}

/// Numbers are counted for each stream.
fn of_one_stream(node: Node) -> Result<(u32, Entry), YangError> {
    match streams(&node)?.as_slice() {
        [stream] => {
            let handle = handle_of(stream)?;
            let stream = stream.clone().keyed(".", &handle.to_string());
            Ok((handle, Entry { node, stream }))
        }
        _ => Err(node.require(FRER, "stream")?.error("names several streams; each has an entry of its own here")),
    }
}

fn is_out_facing(node: &Node, value: bool, why: &str) -> Result<(), YangError> {
    let leaf = node.require(FRER, "direction-out-facing")?;
    match leaf.flag()? == value {
        true => Ok(()),
        false => Err(leaf.error(format!("{why}; write {value}"))),
    }
}

/// That of the cases of a choice the one is there that can be.
fn alone(choice: &Node, case: &str, why: &str) -> Result<(), YangError> {
    if let Some(other) = choice.other(FRER, &[case])? {
        return Err(choice.error(format!("`{other}` is not supported; {why}: write `{case}`")));
    }
    choice.require(FRER, case)?.only(FRER, &["type-number", "oui-cid"])
}

fn elimination(node: &Node, notes: &mut Notes) -> Result<Elimination, YangError> {
    node.only(FRER, &RECOVERY)?;
    is_out_facing(node, true, "copies are dropped where they come in")?;
    for name in ["reset", "take-no-sequence", "individual-recovery"] {
        node.off(FRER, name)?;
    }
    if let Some(algorithm) = node.member(FRER, "algorithm")? {
        alone(&algorithm, "vector", "numbers are recovered by the vector algorithm")?;
    }
    let usual = Elimination::default();
    // Where it is not there, the model has 2.
    let history_length = match node.member(FRER, "history-length")? {
        Some(length) => length.number(HISTORY_LENGTH)? as u32,
        None => *HISTORY_LENGTH.start() as u32,
    };
    let reset_timeout_ns = match node.member(FRER, "reset-timeout")? {
        Some(timeout) => {
            let (least, most) = (RESET_TIMEOUT_NS.start() / MILLISECOND_NS, RESET_TIMEOUT_NS.end() / MILLISECOND_NS);
            timeout.number(least..=most)? * MILLISECOND_NS
        }
        None => {
            let usual_ms = usual.reset_timeout_ns / MILLISECOND_NS;
            notes.push(format!("{}: no reset-timeout; it is {usual_ms} ms", node.path()));
            usual.reset_timeout_ns
        }
    };
    let detection = node.member(FRER, "latent-error-detection")?;
    if let Some(detection) = detection.as_ref().filter(|leaf| leaf.flag() == Ok(false)) {
        notes.otherwise(detection, "latent errors are looked for all the same; write true");
    }
    detection.map(|leaf| leaf.flag()).transpose()?;
    let paths = node.member(FRER, "latent-error-detection-parameters")?.map(|node| paths(&node)).transpose()?;
    Ok(Elimination { history_length, reset_timeout_ns, paths: paths.flatten().unwrap_or(usual.paths) })
}

fn paths(node: &Node) -> Result<Option<u32>, YangError> {
    node.only(FRER, &LATENT)?;
    let fixed = [
        ("difference", Elimination::LATENT_ERROR_DIFFERENCE),
        ("period", Elimination::LATENT_ERROR_PERIOD_MS),
        ("reset-period", Elimination::LATENT_RESET_PERIOD_MS),
    ];
    for (name, value) in fixed {
        if let Some(leaf) = node.member(FRER, name)? {
            if leaf.number(0..=u32::MAX.into()).ok() != Some(value) {
                return Err(leaf.error(format!("cannot be changed; write {value}")));
            }
        }
    }
    let paths = node.member(FRER, "paths")?;
    Ok(paths.map(|paths| paths.number(PATHS)).transpose()?.map(|paths| paths as u32))
}
