//! Reads gate parameters out of a document.

use ontick_units::exact;
use serde_json::Value;

use super::node::{Node, YangError};
use super::{ALL_OPEN, BRIDGE, INTERFACES, Priorities, SCHED, SCHED_BRIDGE, SCHED_IF};
use crate::model::{Base, Entry, Gates, Guard, STANDARD_CLASSES};

/// Lists of interfaces and of gates are bounded.
const MOST: usize = 1024;
/// The beginning of 2000, before which no base time is taken, in ns.
const Y2000_NS: u64 = 946_684_800_000_000_000;
const SECOND_NS: u64 = 1_000_000_000;

/// What a document says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// Interfaces that are ports of a bridge, or have gates.
    pub interfaces: Vec<Interface>,
    /// What is done otherwise than it says, each with its path.
    pub notes: Vec<String>,
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
    /// The largest service data unit of each traffic class.
    pub max_sdu: [Option<u32>; STANDARD_CLASSES],
    /// Which priority belongs to which class, where it says so.
    pub priorities: Option<Priorities>,
}

/// Reads a document.
pub fn import(text: &str) -> Result<Imported, YangError> {
    let document: Value = serde_json::from_str(text).map_err(|error| YangError {
        path: format!("line {} column {}", error.line(), error.column()),
        what: format!("not JSON: {}", error.to_string().split(" at line").next().unwrap_or_default()),
    })?;
    let root = Node::root(&document);
    let list = root.require(INTERFACES, "interfaces")?.require(INTERFACES, "interface")?;
    let items = list.items()?;
    if items.len() > MOST {
        return Err(list.error(format!("{} interfaces; {MOST} at most", items.len())));
    }
    let mut notes = Vec::new();
    let mut interfaces: Vec<Interface> = Vec::new();
    for item in items {
        let name = item.require(INTERFACES, "name")?;
        let text = name.text()?;
        if interfaces.iter().any(|other| other.name == text) {
            return Err(name.error(format!("there are two interfaces \"{text}\"")));
        }
        interfaces.extend(interface(text, &item.keyed("name", text), &mut notes)?);
    }
    if interfaces.iter().all(|interface| interface.gates.is_none() && interface.max_sdu == [None; STANDARD_CLASSES]) {
        return Err(list.error(format!(
            "no interface has gates that are enabled ({BRIDGE}:bridge-port/{SCHED_BRIDGE}:gate-parameter-table with gate-enabled true)"
        )));
    }
    Ok(Imported { interfaces, notes })
}

fn interface(name: &str, node: &Node, notes: &mut Vec<String>) -> Result<Option<Interface>, YangError> {
    let port = node.member(BRIDGE, "bridge-port")?;
    let table = match &port {
        Some(port) => port.member(SCHED_BRIDGE, "gate-parameter-table")?,
        None => node.member(SCHED_IF, "gate-parameter-table")?,
    };
    if port.is_none() && table.is_none() {
        return Ok(None);
    }
    let priorities = port.as_ref().map(priorities).transpose()?.flatten();
    let (gates, max_sdu) = match &table {
        Some(table) => (gates(table, notes)?, max_sdu(table)?),
        None => (None, [None; STANDARD_CLASSES]),
    };
    let (bridged, has_table) = (port.is_some(), table.is_some());
    Ok(Some(Interface { name: name.into(), bridged, has_table, gates, max_sdu, priorities }))
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
    for item in list.items()? {
        let class = item.require(SCHED_BRIDGE, "traffic-class")?.number(0..=STANDARD_CLASSES as u64 - 1)?;
        let size =
            item.member(SCHED_BRIDGE, "queue-max-sdu")?.map_or(Ok(0), |size| size.number(0..=u32::MAX.into()))?;
        // 0 is what the MAC carries (12.29.1.1.1).
        largest[class as usize] = (size > 0).then_some(size as u32);
    }
    Ok(largest)
}

fn gates(table: &Node, notes: &mut Vec<String>) -> Result<Option<Gates>, YangError> {
    let enabled = table.member(SCHED_BRIDGE, "gate-enabled")?.map_or(Ok(false), |leaf| leaf.flag())?;
    if !enabled {
        return Ok(None);
    }
    if let Some(states) = table.member(SCHED_BRIDGE, "admin-gate-states")? {
        if states.number(0..=255)? != 255 {
            notes.push(format!("{}: before the base time all gates are open here", states.path()));
        }
    }
    if let Some(extension) = table.member(SCHED_BRIDGE, "admin-cycle-time-extension")? {
        if extension.number(0..=u32::MAX.into())? != 0 {
            notes.push(format!("{}: a new schedule begins with a whole cycle here", extension.path()));
        }
    }
    let list = table.require(SCHED_BRIDGE, "admin-control-list")?.require(SCHED_BRIDGE, "gate-control-entry")?;
    let entries = entries(&list, notes)?;
    let cycle = table.member(SCHED_BRIDGE, "admin-cycle-time")?;
    let cycle_ns = match &cycle {
        Some(cycle) => cycle_ns(cycle)?,
        None => entries.iter().map(|entry| entry.for_ns).sum(),
    };
    let entries = fitted(entries, cycle_ns, cycle.as_ref().unwrap_or(&list), notes)?;
    let base = table.member(SCHED_BRIDGE, "admin-base-time")?;
    let base = base.map_or(Ok(Base::NextSecond), |node| base_time(&node, cycle_ns, notes))?;
    Ok(Some(Gates { base, cycle_ns, guard: Guard::None, entries }))
}

fn entries(list: &Node, notes: &mut Vec<String>) -> Result<Vec<Entry>, YangError> {
    let items = list.items()?;
    if items.is_empty() || items.len() > MOST {
        return Err(list.error(format!("{} entries; from 1 to {MOST} can be", items.len())));
    }
    let mut entries: Vec<(u64, Entry)> = Vec::new();
    for item in items {
        let index = item.require(SCHED_BRIDGE, "index")?;
        let number = index.number(0..=u32::MAX.into())?;
        if entries.iter().any(|(other, _)| *other == number) {
            return Err(index.error(format!("there are two entries with index {number}")));
        }
        let item = item.keyed("index", &number.to_string());
        operation(&item, notes)?;
        let open = item.require(SCHED_BRIDGE, "gate-states-value")?.number(0..=255)? as u16;
        let time = item.require(SCHED_BRIDGE, "time-interval-value")?;
        match time.number(0..=u32::MAX.into())? {
            0 => notes.push(format!("{}: an entry of no length is left out", time.path())),
            for_ns => entries.push((number, Entry { open, for_ns })),
        }
    }
    if entries.is_empty() {
        return Err(list.error("all entries are of no length"));
    }
    entries.sort_by_key(|(index, _)| *index);
    Ok(entries.into_iter().map(|(_, entry)| entry).collect())
}

fn operation(item: &Node, notes: &mut Vec<String>) -> Result<(), YangError> {
    let node = item.require(SCHED_BRIDGE, "operation-name")?;
    let name = node.text()?;
    // Some tools write the prefix instead of the module's name.
    let plain = [SCHED, "sched"].iter().find_map(|module| name.strip_prefix(module)?.strip_prefix(':')).unwrap_or(name);
    match plain {
        "set-gate-states" => Ok(()),
        "set-and-hold-mac" | "set-and-release-mac" => {
            notes.push(format!("{}: gates are set; frames are not preempted here", node.path()));
            Ok(())
        }
        _ => Err(node.error(format!("\"{name}\" is no operation; \"{SCHED}:set-gate-states\" is"))),
    }
}

fn cycle_ns(cycle: &Node) -> Result<u64, YangError> {
    let part = |name| cycle.require(SCHED_BRIDGE, name)?.number(1..=u32::MAX.into());
    let (numerator, denominator) = (u128::from(part("numerator")?), u128::from(part("denominator")?));
    let ns = numerator * u128::from(SECOND_NS);
    if ns % denominator != 0 {
        return Err(cycle.error(format!("{numerator}/{denominator} s is not a whole number of nanoseconds")));
    }
    u64::try_from(ns / denominator).map_err(|_| cycle.error("too long a time"))
}

/// The cycle begins anew at its end, wherever the list is; a list that ends before leaves the gates as they are
/// (IEEE 802.1Q-2022 clause 8.6.9.2).
fn fitted(
    mut entries: Vec<Entry>,
    cycle_ns: u64,
    cycle: &Node,
    notes: &mut Vec<String>,
) -> Result<Vec<Entry>, YangError> {
    let sum_ns: u64 = entries.iter().map(|entry| entry.for_ns).sum();
    let (sum, whole) = (exact(sum_ns), exact(cycle_ns));
    if sum_ns < cycle_ns {
        // An entry's time is a 32-bit number.
        let last_ns = entries.last().map_or(0, |entry| entry.for_ns) + (cycle_ns - sum_ns);
        let needed = entries.len().saturating_sub(1) as u64 + last_ns.div_ceil(u32::MAX.into());
        if needed > MOST as u64 {
            return Err(cycle.error(format!(
                "a cycle of {whole} takes {needed} entries of {} at most; {MOST} can be",
                exact(u32::MAX.into())
            )));
        }
        notes.push(format!(
            "{}: the entries last {sum} and the cycle {whole}; the last one stays until its end",
            cycle.path()
        ));
        let mut left_ns = cycle_ns - sum_ns;
        let last = entries.pop().unwrap_or(Entry { open: ALL_OPEN, for_ns: 0 });
        let mut for_ns = last.for_ns;
        while left_ns > 0 {
            let room = u64::from(u32::MAX) - for_ns;
            let more = left_ns.min(room);
            entries.push(Entry { open: last.open, for_ns: for_ns + more });
            (left_ns, for_ns) = (left_ns - more, 0);
        }
    } else if sum_ns > cycle_ns {
        notes.push(format!(
            "{}: the entries last {sum} and the cycle {whole}; what is behind its end is left out",
            cycle.path()
        ));
        let mut left_ns = cycle_ns;
        for entry in &mut entries {
            entry.for_ns = entry.for_ns.min(left_ns);
            left_ns -= entry.for_ns;
        }
        entries.retain(|entry| entry.for_ns > 0);
    }
    Ok(entries)
}

fn base_time(node: &Node, cycle_ns: u64, notes: &mut Vec<String>) -> Result<Base, YangError> {
    let seconds = node.require(SCHED_BRIDGE, "seconds")?.number(0..=u64::MAX / SECOND_NS - 1)?;
    let ns = node.member(SCHED_BRIDGE, "nanoseconds")?.map_or(Ok(0), |ns| ns.number(0..=SECOND_NS - 1))?;
    let base_ns = seconds * SECOND_NS + ns;
    if base_ns >= Y2000_NS {
        return Ok(Base::At(base_ns));
    }
    if base_ns % SECOND_NS == 0 && SECOND_NS % cycle_ns == 0 {
        notes.push(format!("{}: cycles begin with every second, so with the next one", node.path()));
        return Ok(Base::NextSecond);
    }
    // The same cycles, counted from a later one on.
    let later_ns = base_ns + (Y2000_NS - base_ns).div_ceil(cycle_ns) * cycle_ns;
    notes.push(format!("{}: written as {later_ns}, from which the same cycles count", node.path()));
    Ok(Base::At(later_ns))
}
