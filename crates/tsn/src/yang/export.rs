//! Writes the gate parameters of a switch as a document.

use crate::model::Clock;
use serde_json::{Map, Value, json};

use super::{BRIDGE, INTERFACES, Priorities, SCHED, SCHED_BRIDGE, SCHED_IF};
use crate::model::{Base, CLASSES, Entry, Gates, Guard, Port, Role, STANDARD_CLASSES, Switch};
use crate::schedule::{guard_ns, with_guards};
use crate::wire;

const SECOND_NS: u64 = 1_000_000_000;

/// A document, and what it says otherwise than the switch.
#[derive(Debug, Clone, PartialEq)]
pub struct Exported {
    /// The document.
    pub document: Value,
    /// Each a sentence.
    pub notes: Vec<String>,
}

/// Why a switch cannot be written; one sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// Base times are of the PTP timescale.
    #[error("port {port}: a base time of the {clock} clock is none of PTP's timescale; write clock = \"tai\"")]
    NotTai {
        /// Which.
        port: String,
        /// The switch's.
        clock: &'static str,
    },
    /// It is a fraction of two 32-bit numbers there.
    #[error("port {port}: a cycle of {cycle_ns} ns is no fraction of 32-bit numbers of seconds")]
    Cycle {
        /// Which.
        port: String,
        /// Its cycle.
        cycle_ns: u64,
    },
    /// The standard has eight.
    #[error("class {class}: queue = {queue} is beyond the eight traffic classes of IEEE 802.1Q")]
    Classes {
        /// Which.
        class: String,
        /// Its number.
        queue: u8,
    },
    /// It tells how long a frame takes.
    #[error("port {port}: guard-band = \"largest-frame\" is a time only where the port's `rate` is known; write it")]
    Rate {
        /// Which.
        port: String,
    },
}

/// Writes a switch.
pub fn export(switch: &Switch) -> Result<Exported, ExportError> {
    if let Some(class) = switch.classes.iter().find(|class| usize::from(class.queue) >= STANDARD_CLASSES) {
        return Err(ExportError::Classes { class: class.name.clone(), queue: class.queue });
    }
    let mut notes = Vec::new();
    let priorities = Priorities::of(&switch.classes);
    if priorities.is_none() && switch.role == Role::Bridge {
        notes.push("rules of classes use more than the priority of the tag, which the document cannot express".into());
    }
    if switch.forwarding != crate::model::Forwarding::default() {
        notes.push("`learning`, `flood` and [[forward]] are of the bridge, which the document leaves out".into());
    }
    if !switch.streams.is_empty() {
        notes.push("[[stream]] is of the bridge, which the document leaves out".into());
    }
    let ports = switch.ports.iter().map(|port| interface(switch, port, priorities, &mut notes));
    let interfaces: Vec<Value> = ports.collect::<Result<_, _>>()?;
    let document = json!({ format!("{INTERFACES}:interfaces"): { "interface": interfaces } });
    Ok(Exported { document, notes })
}

fn interface(
    switch: &Switch,
    port: &Port,
    priorities: Option<Priorities>,
    notes: &mut Vec<String>,
) -> Result<Value, ExportError> {
    let table = table(switch, port, notes)?;
    let mut interface = Map::new();
    interface.insert("name".into(), json!(port.name));
    interface.insert("type".into(), json!("iana-if-type:ethernetCsmacd"));
    match switch.role {
        Role::Station => drop(interface.insert(format!("{SCHED_IF}:gate-parameter-table"), table)),
        Role::Bridge => {
            let mut bridged = Map::new();
            bridged.insert("bridge-name".into(), json!(switch.name));
            if let Some(Priorities { count, class }) = priorities {
                let mut classes = Map::new();
                classes.insert("number-of-traffic-classes".into(), json!(count));
                classes.extend(class.iter().enumerate().map(|(n, class)| (format!("priority{n}"), json!(class))));
                bridged.insert("traffic-class".into(), json!({ "traffic-class-table": classes }));
            }
            bridged.insert(format!("{SCHED_BRIDGE}:gate-parameter-table"), table);
            interface.insert(format!("{BRIDGE}:bridge-port"), Value::Object(bridged));
        }
    }
    Ok(Value::Object(interface))
}

fn table(switch: &Switch, port: &Port, notes: &mut Vec<String>) -> Result<Value, ExportError> {
    let mut table = Map::new();
    let sizes = switch.classes.iter().zip(&port.max_sdu).filter_map(|(class, size)| Some((class.queue, (*size)?)));
    let sizes: Vec<Value> =
        sizes.map(|(queue, size)| json!({ "traffic-class": queue, "queue-max-sdu": size })).collect();
    if !sizes.is_empty() {
        table.insert("queue-max-sdu-table".into(), sizes.into());
    }
    table.insert("gate-enabled".into(), json!(port.gates.is_some()));
    if let Some(gates) = &port.gates {
        table.extend(parameters(switch, port, gates, notes)?);
    }
    Ok(Value::Object(table))
}

fn parameters(
    switch: &Switch,
    port: &Port,
    gates: &Gates,
    notes: &mut Vec<String>,
) -> Result<Map<String, Value>, ExportError> {
    let entry = |(index, entry): (usize, &Entry)| {
        json!({
            "index": index,
            "operation-name": format!("{SCHED}:set-gate-states"),
            "time-interval-value": entry.for_ns,
            "gate-states-value": entry.open,
        })
    };
    let entries: Vec<Value> = guarded(switch, port, gates, notes)?.iter().enumerate().map(entry).collect();
    let (numerator, denominator) = fraction(gates.cycle_ns)
        .ok_or_else(|| ExportError::Cycle { port: port.name.clone(), cycle_ns: gates.cycle_ns })?;
    let base_ns = match gates.base {
        Base::At(_) if switch.clock != Clock::Tai => {
            return Err(ExportError::NotTai { port: port.name.clone(), clock: switch.clock.name() });
        }
        Base::At(ns) => ns,
        Base::NextSecond => {
            if SECOND_NS % gates.cycle_ns != 0 {
                notes.push(format!("{}: \"next second\" has no date; the base time 0 is written", port.name));
            }
            0
        }
    };
    let parameters = json!({
        "admin-gate-states": 255,
        "admin-control-list": { "gate-control-entry": entries },
        "admin-cycle-time": { "numerator": numerator, "denominator": denominator },
        "admin-cycle-time-extension": 0,
        // A 64-bit number is a text (RFC 7951 section 6.1).
        "admin-base-time": { "seconds": (base_ns / SECOND_NS).to_string(), "nanoseconds": base_ns % SECOND_NS },
        "config-change": true,
    });
    match parameters {
        Value::Object(parameters) => Ok(parameters),
        _ => Ok(Map::new()),
    }
}

/// The entries, with guard bands as gates that close earlier: the document has no other way to say it.
fn guarded(switch: &Switch, port: &Port, gates: &Gates, notes: &mut Vec<String>) -> Result<Vec<Entry>, ExportError> {
    if gates.guard == Guard::None {
        return Ok(gates.entries.clone());
    }
    let rate = match (gates.guard, port.rate) {
        (Guard::LargestFrame, None) => return Err(ExportError::Rate { port: port.name.clone() }),
        (_, rate) => rate.unwrap_or_default(),
    };
    notes.push(format!("{}: the guard band is written as gates that close earlier", port.name));
    let mut guards_ns = [0; CLASSES];
    for (class, size) in switch.classes.iter().zip(&port.max_sdu) {
        guards_ns[usize::from(class.queue)] = guard_ns(gates.guard, size.unwrap_or(wire::LARGEST_SDU), rate);
    }
    Ok(with_guards(&gates.entries, &guards_ns))
}

/// A time as a fraction of seconds, of 32-bit numbers: in nanoseconds where that goes, else in its lowest terms.
fn fraction(ns: u64) -> Option<(u32, u32)> {
    if let Ok(ns) = u32::try_from(ns) {
        return Some((ns, SECOND_NS as u32));
    }
    let (mut a, mut b) = (ns, SECOND_NS);
    while b > 0 {
        (a, b) = (b, a % b);
    }
    Some((u32::try_from(ns / a).ok()?, u32::try_from(SECOND_NS / a).ok()?))
}
