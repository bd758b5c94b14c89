//! Makes a switch of imported gates and streams, or brings them into one.

use super::import::{Imported, Interface};
use super::node::predicate;
use super::priorities::Priorities;
use super::{ALL_OPEN, place, preemption, shaper, streams};
use crate::config;
use crate::model::{Base, Class, Clock, Gates, Offload, Port, Role, STANDARD_CLASSES, Switch};

/// Why gates cannot be brought into a switch; one sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MergeError {
    /// The switch has no such port.
    #[error("the switch has no port {name}; its ports are {}", ports.join(", "))]
    NoPort {
        /// The interface of the document.
        name: String,
        /// Where the document names it.
        path: String,
        /// What there is.
        ports: Vec<String>,
    },
    /// No class of the switch has this number.
    #[error("the switch has no traffic class {class}; it has {}", classes.join(", "))]
    NoClass {
        /// Which has an idle slope or a frame size.
        class: u8,
        /// Where the document names it.
        path: String,
        /// What there is.
        classes: Vec<String>,
    },
}

impl MergeError {
    /// Where the document is wrong.
    pub fn path(&self) -> &str {
        match self {
            Self::NoPort { path, .. } | Self::NoClass { path, .. } => path,
        }
    }
}

/// A switch of all interfaces of the document; its classes are called `tc0` to `tc7`.
pub fn new_switch(name: &str, imported: &mut Imported) -> Switch {
    let interfaces = &imported.interfaces;
    let priorities: Vec<Priorities> = interfaces.iter().filter_map(|interface| interface.priorities).collect();
    let first = priorities.first().copied().unwrap_or_else(|| Priorities::recommended(named(interfaces)));
    if priorities.is_empty() && first.count > 1 {
        imported.notes.push(format!(
            "the document does not say which priority belongs to which class; it is as the standard recommends for {} classes",
            first.count
        ));
    }
    if priorities.iter().any(|other| *other != first) {
        imported
            .notes
            .push("the ports map priorities to classes differently; the first one's way holds for all".into());
    }
    let of_streams = imported.streams.iter().flatten();
    let of_streams = of_streams.flat_map(|stream| stream.ingress.iter().chain(stream.replicate.iter().flatten()));
    let mut names: Vec<&String> = interfaces.iter().map(|interface| &interface.name).collect();
    for name in of_streams {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let bridge =
        names.len() > 1 && (interfaces.iter().any(|interface| interface.bridged) || imported.streams.is_some());
    if !bridge && interfaces.iter().any(|interface| interface.bridged) {
        imported.notes.push("only one port is known, which makes no bridge: it is taken as a station's".into());
    }
    let defaults = config::defaults();
    let classes = first.classes(defaults.limit);
    let port = |name: &&String| Port {
        name: name.to_string(),
        rate: None,
        offload: Offload::None,
        transmit_queues: Vec::new(),
        idle_slopes: Vec::new(),
        preemption: None,
        max_sdu: vec![None; classes.len()],
        gates: None,
    };
    let role = if bridge { Role::Bridge } else { Role::Station };
    let ports = names.iter().map(port).collect();
    let mut switch = defaults.switch(name.into(), role, classes, ports);
    for (port, interface) in switch.ports.iter_mut().zip(&imported.interfaces) {
        bring(port, &switch.classes, interface, &mut imported.notes);
        if let Some(class) = unknown(&interface.max_sdu, &switch.classes) {
            let name = &interface.name;
            imported
                .notes
                .push(format!("{name}: no priority belongs to traffic class {class}, whose frames keep their size"));
        }
        if let Some(preemptable) = &interface.preemptable {
            preemption::merge(port, &switch.classes, preemptable, &mut imported.notes);
            preemption::offload(port, &mut imported.notes);
        }
        if let Some(slopes) = &interface.idle_slopes {
            shaper::merge(port, &switch.classes, slopes);
            if let Some(class) = unknown(slopes, &switch.classes) {
                let name = &interface.name;
                imported
                    .notes
                    .push(format!("{name}: no priority belongs to traffic class {class}, which is not shaped"));
            }
        }
    }
    if let Some(imported) = &imported.streams {
        streams::merge(&mut switch, imported);
    }
    switch
}

/// How many classes the gates tell of; who opens all gates tells of none.
fn named(interfaces: &[Interface]) -> u8 {
    let entries = interfaces.iter().filter_map(|interface| interface.gates.as_ref()).flat_map(|gates| &gates.entries);
    let gates = entries.filter(|entry| entry.open != ALL_OPEN).fold(0, |named, entry| named | entry.open);
    let sized = interfaces.iter().filter_map(|interface| interface.max_sdu.iter().rposition(Option::is_some));
    let slopes = interfaces.iter().filter_map(|interface| interface.idle_slopes.as_ref());
    let shaped = slopes.filter_map(|slopes| slopes.iter().rposition(Option::is_some));
    match (gates, sized.chain(shaped).max().map_or(0, |class| class as u8 + 1)) {
        (0, 0) => STANDARD_CLASSES as u8,
        (gates, sized) => sized.max((u16::BITS - gates.leading_zeros()) as u8),
    }
}

/// Brings gates, frame sizes, frame preemption and idle slopes into the ports of the same names, and the streams in place of
/// those that are there; all else stays as it is, also ports of which the document says nothing, and streams if it has none.
pub fn merge(switch: &mut Switch, imported: &mut Imported) -> Result<(), MergeError> {
    let of_streams = imported.streams.iter().flatten().flat_map(place::ports);
    let said = imported
        .interfaces
        .iter()
        .filter(|interface| interface.has_table || interface.preemptable.is_some() || interface.idle_slopes.is_some());
    let mut named = said.map(|interface| (&interface.name, place::interface(&interface.name))).chain(of_streams);
    if let Some((name, path)) = named.find(|(name, _)| switch.ports.iter().all(|port| port.name != **name)) {
        let ports = switch.ports.iter().map(|port| port.name.clone()).collect();
        return Err(MergeError::NoPort { name: name.clone(), path, ports });
    }
    for interface in &imported.interfaces {
        let shaped = interface.idle_slopes.as_ref().and_then(|slopes| unknown(slopes, &switch.classes));
        let shaped = shaped.map(|class| (class, place::slopes(interface)));
        let sized = || Some((unknown(&interface.max_sdu, &switch.classes)?, place::sizes(interface)));
        if let Some((class, list)) = shaped.or_else(sized) {
            let path = list + &predicate("traffic-class", &class.to_string());
            let mut queues: Vec<u8> = switch.classes.iter().map(|class| class.queue).collect();
            queues.sort_unstable();
            let classes = queues.iter().map(u8::to_string).collect();
            return Err(MergeError::NoClass { class, path, classes });
        }
    }
    for interface in imported.interfaces.iter().filter(|interface| interface.has_table) {
        let Some(port) = switch.ports.iter_mut().find(|port| port.name == interface.name) else { continue };
        bring(port, &switch.classes, interface, &mut imported.notes);
        if port.gates.as_ref().is_some_and(|gates| matches!(gates.base, Base::At(_))) {
            imported.notes.extend(other_clock(switch.clock, &interface.name));
        }
    }
    for interface in &imported.interfaces {
        let port = switch.ports.iter_mut().find(|port| port.name == interface.name);
        if let (Some(port), Some(preemptable)) = (port, &interface.preemptable) {
            preemption::merge(port, &switch.classes, preemptable, &mut imported.notes);
        }
        let port = switch.ports.iter_mut().find(|port| port.name == interface.name);
        if let (Some(port), Some(slopes)) = (port, &interface.idle_slopes) {
            shaper::merge(port, &switch.classes, slopes);
        }
    }
    if let Some(of_document) = &imported.streams {
        streams::merge(switch, of_document);
        for stream in of_document {
            if stream.gate.as_ref().is_some_and(|gate| matches!(gate.base, Base::At(_))) {
                imported.notes.extend(other_clock(switch.clock, &format!("stream-handle {}", stream.handle)));
            }
        }
    }
    Ok(())
}

/// The first traffic class with a value that no class of the switch is.
fn unknown<T>(values: &[Option<T>], classes: &[Class]) -> Option<u8> {
    let is_known = |queue: u8| classes.iter().any(|class| class.queue == queue);
    (0u8..).zip(values).find(|(queue, value)| value.is_some() && !is_known(*queue)).map(|(queue, _)| queue)
}

fn other_clock(clock: Clock, gates_of: &str) -> Option<String> {
    let name = clock.name();
    let note = || format!("{gates_of}: the base time is TAI, and the switch follows the {name} clock");
    (clock != Clock::Tai).then(note)
}

fn bring(port: &mut Port, classes: &[Class], interface: &Interface, notes: &mut Vec<String>) {
    port.gates = interface.gates.as_ref().map(|gates| known(gates, classes, &interface.name, notes));
    for (class, size) in classes.iter().zip(&mut port.max_sdu) {
        // The document has no class beyond the eighth.
        if let Some(of_document) = interface.max_sdu.get(usize::from(class.queue)) {
            *size = *of_document;
        }
    }
}

/// The list without the gates of classes that there are not.
fn known(gates: &Gates, classes: &[Class], name: &str, notes: &mut Vec<String>) -> Gates {
    let known = classes.iter().fold(0u16, |known, class| known | 1 << class.queue);
    // Who opens all gates means those that there are.
    let named = gates.entries.iter().filter(|entry| entry.open != ALL_OPEN).fold(0, |named, entry| named | entry.open);
    let unknown: Vec<String> =
        (0..STANDARD_CLASSES).filter(|n| named & !known & (1 << n) != 0).map(|n| n.to_string()).collect();
    if !unknown.is_empty() {
        notes.push(format!("{name}: no class has queue {}, whose gates are left out", unknown.join(", ")));
    }
    let mut gates = gates.clone();
    gates.entries.iter_mut().for_each(|entry| entry.open &= known);
    gates
}
