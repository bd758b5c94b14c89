//! Writes the gate parameters and the streams of a switch as a document.

use serde_json::{Map, Value, json};

use super::control_list::{Timed, Times};
use super::export_error::ExportError;
use super::{
    ALL_OPEN, BRIDGE, INTERFACES, MOST_ENTRIES, Priorities, SCHED, SCHED_BRIDGE, SCHED_IF, preemption, shaper, streams,
};
use crate::model::{CLASSES, Entry, Gates, Guard, Port, Role, STANDARD_CLASSES, Switch};
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
    preemption::note_station(switch, &mut notes);
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
        Role::Station => {
            shaper::export_station(switch, port, &mut interface);
            interface.insert(format!("{SCHED_IF}:gate-parameter-table"), table);
        }
        Role::Bridge => {
            let mut bridged = Map::new();
            bridged.insert("bridge-name".into(), json!(switch.name));
            if let Some(Priorities { count, class }) = priorities {
                let mut classes = Map::new();
                classes.insert("number-of-traffic-classes".into(), json!(count));
                classes.extend(class.iter().enumerate().map(|(n, class)| (format!("priority{n}"), json!(class))));
                bridged.insert("traffic-class".into(), json!({ "traffic-class-table": classes }));
            }
            preemption::export(switch, port, &mut bridged, notes);
            shaper::export_bridged(switch, port, &mut bridged);
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
    // Entries that are alike are joined there.
    let entries: Vec<Entry> = with_guards(&gates.entries, &guards_ns).into_iter().flat_map(parts).collect();
    match entries.len() {
        count if count > MOST_ENTRIES => Err(ExportError::Entries { port: port.name.clone(), count }),
        _ => Ok(entries),
    }
}

/// An entry's time is a 32-bit number.
fn parts(entry: Entry) -> impl Iterator<Item = Entry> {
    let longest_ns = u64::from(u32::MAX);
    let begins = (0..entry.for_ns.div_ceil(longest_ns)).map(move |part| part * longest_ns);
    begins.map(move |begin_ns| entry.lasting((entry.for_ns - begin_ns).min(longest_ns)))
}
