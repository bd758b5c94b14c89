//! Reads gate parameters and streams out of a document.

use super::control_list::ControlList;
use super::node::{Node, YangError};
use super::notes::{Notes, Otherwise};
use super::streams::{self, ImportedStream};
use super::{BRIDGE, INTERFACES, Priorities, SCHED, SCHED_BRIDGE, SCHED_IF, json, preemption, shaper};
use crate::model::{Entry, Gates, Guard, STANDARD_CLASSES};

/// The list of interfaces is bounded.
const MOST: usize = 1024;

/// What a document says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// Interfaces that are ports of a bridge, or have gates.
    pub interfaces: Vec<Interface>,
    /// Streams in the order in which frames are held against them; absent where it says nothing of streams.
    pub streams: Option<Vec<ImportedStream>>,
    /// What follows from it, and is perhaps not expected: sentences with their paths.
    pub notes: Vec<String>,
    /// What is done otherwise than it says.
    pub otherwise: Vec<Otherwise>,
}

/// One interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// Whether it is a port of a bridge; else it is of an end station.
    pub bridged: bool,
    /// Whether it has a table of gate parameters; one without says nothing of gates and frame sizes.
    pub has_table: bool,
    /// Its gates, where they are enabled; bit n is the gate of traffic class n.
    pub gates: Option<Gates>,
    /// The index of each entry of its gates in the document; an entry behind them continues the last one.
    pub indices: Vec<u32>,
    /// The largest service data unit of each traffic class.
    pub max_sdu: [Option<u32>; STANDARD_CLASSES],
    /// Which priority belongs to which class, where it says so.
    pub priorities: Option<Priorities>,
    /// Whether the frames of each priority are preempted, where it says so.
    pub preemptable: Option<[bool; 8]>,
    /// Idle slope of each traffic class that is shaped, in bits per second, where it says so.
    pub idle_slopes: Option<[Option<u64>; STANDARD_CLASSES]>,
}

/// Reads a document.
pub fn import(text: &str) -> Result<Imported, YangError> {
    let document = json::read(text).map_err(|error| not_read(text, &error))?;
    let root = Node::root(&document);
    let mut notes = Notes::default();
    let streams = streams::import(&root, &mut notes)?;
    let list = match (&streams, root.member(INTERFACES, "interfaces")?) {
        (Some(_), None) => {
            let Notes { sentences: notes, otherwise } = notes;
            return Ok(Imported { interfaces: Vec::new(), streams, notes, otherwise });
        }
        _ => root.require(INTERFACES, "interfaces")?.require(INTERFACES, "interface")?,
    };
    let items = list.items()?;
    if items.len() > MOST {
        return Err(list.error(format!("{} interfaces; {MOST} at most", items.len())));
    }
    let mut interfaces: Vec<Interface> = Vec::new();
    for item in items {
        let name = item.require(INTERFACES, "name")?;
        let text = name.text()?;
        if interfaces.iter().any(|other| other.name == text) {
            return Err(name.error(format!("there are two interfaces \"{text}\"")));
        }
        interfaces.extend(interface(text, &item.keyed("name", text), &mut notes)?);
    }
    let has_none = |interface: &Interface| {
        let has_sizes = interface.max_sdu != [None; STANDARD_CLASSES];
        let has_others = interface.preemptable.is_some() || interface.idle_slopes.is_some();
        interface.gates.is_none() && !has_sizes && !has_others
    };
    if streams.is_none() && interfaces.iter().all(has_none) {
        return Err(list.error(format!(
            "no interface has gates that are enabled ({BRIDGE}:bridge-port/{SCHED_BRIDGE}:gate-parameter-table with gate-enabled true)"
        )));
    }
    let Notes { sentences: notes, otherwise } = notes;
    Ok(Imported { interfaces, streams, notes, otherwise })
}

fn not_read(text: &str, error: &serde_json::Error) -> YangError {
    let whole = error.to_string();
    let what = whole.rsplit_once(" at line").map_or(whole.as_str(), |(what, _)| what);
    YangError {
        path: format!("line {} column {}", error.line(), error.column()),
        what: match (text.trim().is_empty(), error.is_data()) {
            (true, _) => "the file is empty".into(),
            (false, true) => what.into(),
            (false, false) => format!("not JSON: {what}"),
        },
        missing: None,
    }
}

fn interface(name: &str, node: &Node, notes: &mut Notes) -> Result<Option<Interface>, YangError> {
    let port = node.member(BRIDGE, "bridge-port")?;
    let table = match &port {
        Some(port) => port.member(SCHED_BRIDGE, "gate-parameter-table")?,
        None => node.member(SCHED_IF, "gate-parameter-table")?,
    };
    let idle_slopes = shaper::import(node, port.as_ref(), notes)?;
    if port.is_none() && table.is_none() && idle_slopes.is_none() {
        return Ok(None);
    }
    let priorities = port.as_ref().map(priorities).transpose()?.flatten();
    let preemptable = port.as_ref().map(preemption::import).transpose()?.flatten();
    let (gates, max_sdu) = match &table {
        Some(table) => (gates(table, notes)?, max_sdu(table)?),
        None => (None, [None; STANDARD_CLASSES]),
    };
    let (gates, indices) = gates.unzip();
    Ok(Some(Interface {
        name: name.into(),
        bridged: port.is_some(),
        has_table: table.is_some(),
        gates,
        indices: indices.unwrap_or_default(),
        max_sdu,
        priorities,
        preemptable,
        idle_slopes,
    }))
}

fn priorities(port: &Node) -> Result<Option<Priorities>, YangError> {
    let Some(table) = port.member(BRIDGE, "traffic-class")? else { return Ok(None) };
    let Some(table) = table.member(BRIDGE, "traffic-class-table")? else { return Ok(None) };
    let count = table.member(BRIDGE, "number-of-traffic-classes")?;
    let count = count.map_or(Ok(STANDARD_CLASSES as u64), |count| count.number(1..=STANDARD_CLASSES as u64))?;
    let mut priorities = Priorities::recommended(count as u8);
    for (priority, class) in priorities.class.iter_mut().enumerate() {
        if let Some(leaf) = table.member(BRIDGE, &format!("priority{priority}"))? {
            *class = leaf.number(0..=count - 1)? as u8;
        }
    }
    Ok(Some(priorities))
}

fn max_sdu(table: &Node) -> Result<[Option<u32>; STANDARD_CLASSES], YangError> {
    let mut largest = [None; STANDARD_CLASSES];
    let Some(list) = table.member(SCHED_BRIDGE, "queue-max-sdu-table")? else { return Ok(largest) };
    let mut seen = [false; STANDARD_CLASSES];
    for item in list.items()? {
        let item = item.keyed_by(SCHED_BRIDGE, "traffic-class")?;
        let class = shaper::traffic_class(&item, SCHED_BRIDGE, &mut seen)?;
        let size =
            item.member(SCHED_BRIDGE, "queue-max-sdu")?.map_or(Ok(0), |size| size.number(0..=u32::MAX.into()))?;
        // 0 is what the MAC carries (12.29.1.1.1).
        largest[class] = (size > 0).then_some(size as u32);
    }
    Ok(largest)
}

fn gates(table: &Node, notes: &mut Notes) -> Result<Option<(Gates, Vec<u32>)>, YangError> {
    let enabled = table.member(SCHED_BRIDGE, "gate-enabled")?.map_or(Ok(false), |leaf| leaf.flag())?;
    if !enabled {
        return Ok(None);
    }
    if let Some(states) = table.member(SCHED_BRIDGE, "admin-gate-states")? {
        if states.number(0..=255)? != 255 {
            notes.otherwise(&states, "before the base time all gates are open here; write 255");
        }
    }
    let list = ControlList::read(table, SCHED_BRIDGE, notes, |item, notes| {
        operation(item, notes)?;
        let open = item.require(SCHED_BRIDGE, "gate-states-value")?.number(0..=255)? as u16;
        Ok(Entry { open, for_ns: 0 })
    })?;
    let ControlList { base, cycle_ns, entries, indices } = list;
    Ok(Some((Gates { base, cycle_ns, guard: Guard::None, entries }, indices)))
}

fn operation(item: &Node, notes: &mut Notes) -> Result<(), YangError> {
    let node = item.require(SCHED_BRIDGE, "operation-name")?;
    let name = node.text()?;
    // Some tools write the prefix instead of the module's name.
    let plain = [SCHED, "sched"].iter().find_map(|module| name.strip_prefix(module)?.strip_prefix(':')).unwrap_or(name);
    match plain {
        "set-gate-states" => Ok(()),
        "set-and-hold-mac" | "set-and-release-mac" => {
            notes.otherwise(&node, format!("gates are set, and no frame is held here; write {SCHED}:set-gate-states"));
            Ok(())
        }
        _ => Err(node.error(format!("\"{name}\" is no operation; \"{SCHED}:set-gate-states\" is"))),
    }
}
