//! Writes the gate parameters and the streams of a switch as a document.

use serde_json::{Map, Value, json};

use super::{ALL_OPEN, BRIDGE, INTERFACES, Priorities, SCHED, SCHED_BRIDGE, SCHED_IF, SECOND_NS, streams};
use crate::model::{Base, CLASSES, Clock, Entry, Gates, Guard, Port, Role, STANDARD_CLASSES, Switch};
use crate::schedule::{guard_ns, with_guards};
use crate::wire;

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
    #[error("{gates_of}: a base time of the {clock} clock is none of PTP's timescale; write clock = \"tai\"")]
    NotTai {
        /// Which port or stream.
        gates_of: String,
        /// The switch's.
        clock: &'static str,
    },
    /// It is a fraction of two 32-bit numbers there.
    #[error("{gates_of}: a cycle of {cycle_ns} ns is no fraction of 32-bit numbers of seconds")]
    Cycle {
        /// Which port or stream.
        gates_of: String,
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
    let ports = switch.ports.iter().map(|port| interface(switch, port, priorities, &mut notes));
    let interfaces: Vec<Value> = ports.collect::<Result<_, _>>()?;
    let mut document = Map::new();
    document.insert(format!("{INTERFACES}:interfaces"), json!({ "interface": interfaces }));
    if switch.role == Role::Bridge {
        let component = streams::export(switch, &mut document, &mut notes)?;
        document.insert(format!("{BRIDGE}:bridges"), json!({ "bridge": [bridge(switch, component)] }));
    }
    Ok(Exported { document: Value::Object(document), notes })
}

/// The bridge that the ports are of, with its one component.
fn bridge(switch: &Switch, streams: Map<String, Value>) -> Value {
    let mut component = Map::new();
    component.insert("name".into(), json!(switch.name));
    component.insert("type".into(), json!(format!("{BRIDGE}:c-vlan-component")));
    component.extend(streams);
    json!({
        "name": switch.name,
        // It must be there, and the file of a switch has none.
        "address": "00-00-00-00-00-00",
        "bridge-type": format!("{BRIDGE}:customer-vlan-bridge"),
        "component": [component],
    })
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
    let times = Times { gates_of: format!("port {}", port.name), base: gates.base, cycle_ns: gates.cycle_ns };
    let mut parameters = times.parameters(switch.clock, entries, notes)?;
    parameters.insert("admin-gate-states".into(), json!(ALL_OPEN));
    Ok(parameters)
}

/// When the cycles of gates begin, and how long they are.
pub(super) struct Times {
    /// `port swp1`, `stream axis1`
    pub gates_of: String,
    pub base: Base,
    pub cycle_ns: u64,
}

impl Times {
    /// What gates of ports and of streams have in common.
    pub(super) fn parameters(
        self,
        clock: Clock,
        entries: Vec<Value>,
        notes: &mut Vec<String>,
    ) -> Result<Map<String, Value>, ExportError> {
        let Self { gates_of, base, cycle_ns } = self;
        let Some((numerator, denominator)) = fraction(cycle_ns) else {
            return Err(ExportError::Cycle { gates_of, cycle_ns });
        };
        let base_ns = match base {
            Base::At(_) if clock != Clock::Tai => {
                return Err(ExportError::NotTai { gates_of, clock: clock.name() });
            }
            Base::At(ns) => ns,
            Base::NextSecond => {
                if SECOND_NS % cycle_ns != 0 {
                    notes.push(format!("{gates_of}: \"next second\" has no date; the base time 0 is written"));
                }
                0
            }
        };
        let parameters = [
            ("admin-control-list", json!({ "gate-control-entry": entries })),
            ("admin-cycle-time", json!({ "numerator": numerator, "denominator": denominator })),
            ("admin-cycle-time-extension", json!(0)),
            // A 64-bit number is a text (RFC 7951 section 6.1).
            (
                "admin-base-time",
                json!({ "seconds": (base_ns / SECOND_NS).to_string(), "nanoseconds": base_ns % SECOND_NS }),
            ),
            ("config-change", json!(true)),
        ];
        Ok(parameters.map(|(name, value)| (name.to_owned(), value)).into_iter().collect())
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
