//! Frame preemption: which priorities' frames are interrupted, in `frame-preemption-parameters` of a bridge's port (IEEE
//! 802.1Q-2022 clause 12.30, as IEEE 802.1Qcw-2023 models it). Here it is said of classes.

use serde_json::{Map, Value, json};

use super::node::{Node, YangError};
use super::{PREEMPTION_BRIDGE, Priorities};
use crate::config;
use crate::model::{Class, Offload, Port, Preemption, Role, Switch};

const TABLE: &str = "frame-preemption-status-table";
/// Beside the table, state is read over.
const PARAMETERS: [&str; 5] = [TABLE, "hold-advance", "release-advance", "preemption-active", "hold-request"];
const PRIORITIES: usize = 8;

/// Whether frames of each priority are preemptable; else they are express.
pub(super) type Preemptable = [bool; PRIORITIES];

/// Adds what a port of a bridge has.
pub(super) fn export(switch: &Switch, port: &Port, bridged: &mut Map<String, Value>, notes: &mut Vec<String>) {
    let Some(preemption) = &port.preemption else { return };
    let Some(preemptable) = preemptable(preemption, &switch.classes) else {
        notes
            .push(format!("{}: its frame preemption is not by priorities of the tag alone; it is left out", port.name));
        return;
    };
    if config::preemption_of(preemption.preemptible.clone()) != *preemption {
        notes.push(format!(
            "{}: `verify`, `verify-time` and `min-fragment-size` are of IEEE 802.3, which the document leaves out",
            port.name
        ));
    }
    let status = |preemptable: bool| if preemptable { "preemptable" } else { "express" };
    let table: Map<String, Value> =
        preemptable.iter().enumerate().map(|(n, is_it)| (format!("priority{n}"), json!(status(*is_it)))).collect();
    bridged.insert(format!("{PREEMPTION_BRIDGE}:frame-preemption-parameters"), json!({ TABLE: table }));
}

/// What an end station cannot say.
pub(super) fn note_station(switch: &Switch, notes: &mut Vec<String>) {
    if switch.role == Role::Station && switch.ports.iter().any(|port| port.preemption.is_some()) {
        notes.push(
            "frame preemption is by priority, of which an end station's document says nothing; it is left out".into(),
        );
    }
}

/// By priority, if the classes are preemptible by their priorities alone.
fn preemptable(preemption: &Preemption, classes: &[Class]) -> Option<Preemptable> {
    let priorities = Priorities::of(classes)?;
    let is_preemptible = |queue: u8| preemption.preemptible.iter().any(|class| classes[*class].queue == queue);
    let preemptable = priorities.class.map(is_preemptible);
    (of_classes(&preemptable, &priorities, classes).0 == preemption.preemptible).then_some(preemptable)
}

/// The classes whose priorities are all preemptable, and the name of one that has both.
fn of_classes<'a>(
    preemptable: &Preemptable,
    priorities: &Priorities,
    classes: &'a [Class],
) -> (Vec<usize>, Option<&'a str>) {
    let (mut all, mut mixed) = (Vec::new(), None);
    for (place, class) in classes.iter().enumerate() {
        let own = priorities.class.iter().zip(preemptable).filter(|(queue, _)| **queue == class.queue);
        let own: Vec<bool> = own.map(|(_, is_it)| *is_it).collect();
        match (own.contains(&true), own.contains(&false)) {
            (true, false) => all.push(place),
            (true, true) => mixed = Some(class.name.as_str()),
            (false, _) => {}
        }
    }
    (all, mixed)
}

/// Reads what a port of a bridge has.
pub(super) fn import(port: &Node) -> Result<Option<Preemptable>, YangError> {
    let Some(parameters) = port.member(PREEMPTION_BRIDGE, "frame-preemption-parameters")? else { return Ok(None) };
    parameters.only(PREEMPTION_BRIDGE, &PARAMETERS)?;
    let mut preemptable = [false; PRIORITIES];
    let Some(table) = parameters.member(PREEMPTION_BRIDGE, TABLE)? else { return Ok(Some(preemptable)) };
    let names: Vec<String> = (0..PRIORITIES).map(|n| format!("priority{n}")).collect();
    table.only(PREEMPTION_BRIDGE, &names.iter().map(String::as_str).collect::<Vec<_>>())?;
    for (name, is_it) in names.iter().zip(&mut preemptable) {
        let Some(status) = table.member(PREEMPTION_BRIDGE, name)? else { continue };
        *is_it = match status.text()? {
            "express" => false,
            "preemptable" => true,
            other => return Err(status.error(format!("\"{other}\" is neither express nor preemptable"))),
        };
    }
    Ok(Some(preemptable))
}

/// Brings it into a port.
pub(super) fn merge(port: &mut Port, classes: &[Class], preemptable: &Preemptable, notes: &mut Vec<String>) {
    let name = &port.name;
    let Some(priorities) = Priorities::of(classes) else {
        notes.push(format!(
            "{name}: rules of classes use more than the priority of the tag; frame preemption stays as it is"
        ));
        return;
    };
    let (preemptible, mixed) = of_classes(preemptable, &priorities, classes);
    if let Some(class) = mixed {
        notes.push(format!(
            "{name}: some priorities of class {class} are preemptable and some express; the class is express"
        ));
    }
    if preemptible.len() == classes.len() {
        notes.push(format!("{name}: all priorities are preemptable, so that no frame preempts another; none is here"));
    }
    port.preemption = match preemptible.len() {
        0 => None,
        n if n == classes.len() => None,
        _ => {
            let before = port.preemption.take().unwrap_or_else(|| config::preemption_of(Vec::new()));
            Some(Preemption { preemptible, ..before })
        }
    };
}

/// A new port preempts frames beside gates only if it does both itself.
pub(super) fn offload(port: &mut Port, notes: &mut Vec<String>) {
    if port.preemption.is_some() && port.gates.is_some() {
        port.offload = Offload::Full;
        notes.push(format!("{}: offload = \"full\" is written, which frame preemption beside gates needs", port.name));
    }
}
