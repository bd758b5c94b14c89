//! What becomes of a switch that is to be as a configuration says: its gates, frame sizes, idle slopes and streams change,
//! and nothing else can. Of a switch of the kernel's, no port gets or loses gates, and frame sizes stay.

use ontick_rt::clock::ClockId;
use ontick_switch::apply::{Journal, SwitchDir};
use ontick_switch::kernel::unpoliced;
use ontick_switch::user::either::largest_sdu;
use ontick_tsn::config::Terms;
use ontick_tsn::model::{Plane, Port, Role, Switch};
use ontick_tsn::netconf::{RpcError, Tag};
use ontick_tsn::{config, yang};
use serde_json::{Map, Value, json};

use super::super::gates;
use super::datastores::{self, failed};
use super::faults;

const INTERFACES: &str = "ietf-interfaces:interfaces";
const BRIDGES: &str = "ieee802-dot1q-bridge:bridges";
const STREAMS: &str = "ieee802-dot1cb-stream-identification:stream-identity";
const FRER: &str = "ieee802-dot1cb-frer:frer";
const ENABLED: &str = "gate-enabled";
const BRIDGE_PORT: &str = "ieee802-dot1q-bridge:bridge-port";
/// Where a part of an interface is: in this member of it, or in itself; and its name there.
type Place = (Option<&'static str>, &'static str);
/// The gates of a bridge's port, and those of an end station's interface.
const GATES: [Place; 2] = [
    (Some(BRIDGE_PORT), "ieee802-dot1q-sched-bridge:gate-parameter-table"),
    (None, "ieee802-dot1dc-sched-if:gate-parameter-table"),
];
/// What says which of their classes are shaped.
const SHAPING: [Place; 3] = [
    (Some(BRIDGE_PORT), "ieee802-dot1q-cbsa-bridge:cbsa"),
    (Some(BRIDGE_PORT), "transmission-selection-algorithm-table"),
    (None, "ieee802-dot1dc-cbsa-if:cbsa"),
];

/// A switch as it is to be, which it could be.
pub struct Change {
    journal: Journal,
    switch: Switch,
}

impl Change {
    /// The switch as `wanted`, unless it is not as `base` any more; none if there is nothing to change.
    pub fn of(folder: &SwitchDir, base: &Value, wanted: &Value) -> Result<Option<Self>, RpcError> {
        let (journal, _) = datastores::switch(folder)?;
        if datastores::running(folder)? != *base {
            return Err(failed(
                "the switch was changed by somebody else after this candidate was begun: <discard-changes>, then edit again",
            ));
        }
        let Some(switch) = checked(folder, wanted)? else { return Ok(None) };
        Ok(Some(Self { journal, switch }))
    }

    /// Changes it. Whoever calls this holds the lock since before the change was made out.
    pub fn make(&self, folder: &SwitchDir) -> Result<(), RpcError> {
        gates::apply(folder, &self.journal, &self.switch, None).map(drop).map_err(failed)
    }
}

/// The switch as the configuration says; none if it is so already.
pub fn checked(folder: &SwitchDir, wanted: &Value) -> Result<Option<Switch>, RpcError> {
    let (_, before) = datastores::switch(folder)?;
    let running = datastores::running(folder)?;
    let changed = changed(&running, wanted, before.plane)?;
    if before.role == Role::Station {
        has_no_bridge(wanted)?;
    }
    keeps_bridge(&running, wanted)?;
    let mut document = Map::new();
    if !changed.is_empty() {
        document.insert(INTERFACES.into(), json!({ "interface": changed }));
    }
    if [BRIDGES, STREAMS, FRER].into_iter().any(|part| running[part] != wanted[part]) {
        // Where there are none, there are to be none.
        let streams = wanted.get(STREAMS).cloned().unwrap_or_else(|| json!([]));
        document.extend([(BRIDGES.into(), wanted[BRIDGES].clone()), (STREAMS.into(), streams)]);
        document.extend(wanted.get(FRER).map(|frer| (FRER.into(), frer.clone())));
    }
    if document.is_empty() {
        return Ok(None);
    }
    let document = Value::Object(document);
    let mut imported = yang::import(&document.to_string()).map_err(faults::of_import)?;
    faults::refuse_otherwise(&imported)?;
    let mut after = before.clone();
    yang::merge(&mut after, &mut imported).map_err(faults::of_merge)?;
    for (old, new) in before.ports.iter().zip(&after.ports) {
        if before.plane == Plane::User {
            fits(&after, old, new)?;
        } else {
            keeps_sizes(old, new)?;
            keeps_shaped(&before, old, new)?;
        }
    }
    if before.plane != Plane::User {
        if let Some(why) = unpoliced(&after, Terms::Yang) {
            let part = if wanted.get(FRER).is_some() { FRER } else { STREAMS };
            return Err(RpcError::application(Tag::OperationNotSupported, format!("/{part}"), why));
        }
    }
    keeps_limits(&datastores::document(&after)?, wanted)?;
    config::check_at(&after, ClockId::Realtime.now_ns())
        .map_err(|fault| faults::of_switch(&fault, &after, &imported))?;
    faults::refuse_short_windows(&after, &imported)?;
    Ok(Some(after))
}

/// The interfaces whose gates, frame sizes or idle slopes are to change.
fn changed(running: &Value, wanted: &Value, plane: Plane) -> Result<Vec<Value>, RpcError> {
    let empty = Vec::new();
    let list = |data: &'_ Value| data[INTERFACES]["interface"].as_array().cloned().unwrap_or_else(|| empty.clone());
    let (before, mut after) = (list(running), list(wanted));
    let refused = |name: &Value, what: &str| {
        RpcError::application(Tag::OperationNotSupported, of_interface(name.as_str().unwrap_or_default()), what)
    };
    if let Some(new) = after.iter().find(|new| before.iter().all(|old| old["name"] != new["name"])) {
        return Err(refused(&new["name"], "the switch has no such port, and ports cannot be added while it is set up"));
    }
    let mut changed = Vec::new();
    for mut old in before {
        let Some(new) = after.iter_mut().find(|new| new["name"] == old["name"]) else {
            return Err(refused(&old["name"], "a port cannot be removed while the switch is set up"));
        };
        let mut whole = new.clone();
        let gates = (take(&mut old, GATES), take(new, GATES));
        let shaping = (take(&mut old, SHAPING), take(new, SHAPING));
        if old != *new {
            let what = "only gates, frame sizes and idle slopes of a port can be changed while the switch is set up";
            return Err(refused(&old["name"], what));
        }
        say(&mut whole, (SHAPING[0], SHAPING[2]));
        let table = |gates: [Option<Value>; 2]| gates.into_iter().flatten().next().unwrap_or_else(|| json!({}));
        let (before, after) = (table(gates.0), table(gates.1));
        if before != after {
            let enabled = |table: &Value| table[ENABLED] == json!(true);
            if enabled(&before) != enabled(&after) && plane != Plane::User {
                let what = "gates cannot be enabled or disabled while the kernel does the switch's work";
                return Err(refused(&old["name"], what));
            }
            say(&mut whole, (GATES[0], GATES[1]));
            changed.push(whole);
        } else if shaping.0 != shaping.1 {
            take(&mut whole, GATES);
            changed.push(whole);
        }
    }
    Ok(changed)
}

/// An interface loses these parts.
fn take<const N: usize>(interface: &mut Value, parts: [Place; N]) -> [Option<Value>; N] {
    parts.map(|(parent, part)| {
        let parent = match parent {
            Some(parent) => interface.get_mut(parent)?,
            None => &mut *interface,
        };
        parent.as_object_mut()?.remove(part)
    })
}

/// An interface that says nothing of a part, which a bridge's port and an end station have at different places, says that
/// it has none.
fn say(interface: &mut Value, (of_bridge, of_station): (Place, Place)) {
    let bridged = interface.get(BRIDGE_PORT).is_some();
    let (parent, part) = if bridged { of_bridge } else { of_station };
    let parent = match parent {
        Some(parent) => &mut interface[parent],
        None => interface,
    };
    if parent.get(part).is_none() {
        parent[part] = json!({});
    }
}

/// The kernel has parts for classes that are shaped.
fn keeps_shaped(switch: &Switch, old: &Port, new: &Port) -> Result<(), RpcError> {
    if (0..switch.classes.len()).all(|class| old.shapes(class) == new.shapes(class)) {
        return Ok(());
    }
    let path = of_interface(&old.name);
    let what = "which classes have an idle slope cannot be changed while the kernel does the switch's work";
    Err(RpcError::application(Tag::OperationNotSupported, path, what))
}

/// No frame is larger than any that a dedicated core takes from a port.
fn fits(switch: &Switch, old: &Port, new: &Port) -> Result<(), RpcError> {
    let most = largest_sdu(switch.socket);
    let Some(sdu) = new.max_sdu.iter().flatten().find(|sdu| **sdu > most).filter(|_| old.max_sdu != new.max_sdu) else {
        return Ok(());
    };
    let what = format!("queue-max-sdu {sdu}: frames of this switch carry {most} octets at most");
    Err(RpcError::application(Tag::InvalidValue, of_interface(&new.name), what))
}

fn of_interface(name: &str) -> String {
    format!("/{INTERFACES}/interface[name='{name}']")
}

fn keeps_sizes(old: &Port, new: &Port) -> Result<(), RpcError> {
    if old.max_sdu == new.max_sdu {
        return Ok(());
    }
    let what = "frame sizes cannot be changed while the kernel does the switch's work";
    Err(RpcError::application(Tag::OperationNotSupported, of_interface(&old.name), what))
}

/// An end station has neither a bridge nor what is a bridge's.
fn has_no_bridge(wanted: &Value) -> Result<(), RpcError> {
    const STREAMS_OF: &str = "streams are a bridge's, and this switch is an end station";
    const NO_BRIDGE: &str = "this switch is an end station, and has no bridge";
    for (part, what) in [(STREAMS, STREAMS_OF), (FRER, STREAMS_OF), (BRIDGES, NO_BRIDGE)] {
        if wanted.get(part).is_some() {
            return Err(RpcError::application(Tag::OperationNotSupported, format!("/{part}"), what));
        }
    }
    Ok(())
}

/// Of a bridge, its streams alone can change.
fn keeps_bridge(running: &Value, wanted: &Value) -> Result<(), RpcError> {
    let plain = |data: &Value| {
        let mut bridges = data[BRIDGES].clone();
        for bridge in bridges.get_mut("bridge").and_then(Value::as_array_mut).into_iter().flatten() {
            let components = bridge.get_mut("component").and_then(Value::as_array_mut).into_iter().flatten();
            for component in components.filter_map(Value::as_object_mut) {
                component.retain(|name, _| !name.starts_with("ieee802-dot1q-psfp-bridge:"));
            }
        }
        bridges
    };
    if plain(running) == plain(wanted) {
        return Ok(());
    }
    let what = "of a bridge, only the streams can be changed";
    Err(RpcError::application(Tag::OperationNotSupported, format!("/{BRIDGES}"), what))
}

/// What the switch has room for is as it is.
fn keeps_limits(after: &Value, wanted: &Value) -> Result<(), RpcError> {
    const LIMITS: [&str; 4] = [
        "flow-meters/max-flow-meter-instances",
        "stream-gates/supported-list-max",
        "stream-gates/supported-cycle-max",
        "stream-gates/supported-interval-max",
    ];
    for limit in LIMITS {
        let pointer = format!("/{BRIDGES}/bridge/0/component/0/ieee802-dot1q-psfp-bridge:{limit}");
        let (Some(own), Some(other)) = (after.pointer(&pointer), wanted.pointer(&pointer)) else { continue };
        if own != other {
            let path = pointer.replace("/0", "");
            return Err(RpcError::application(Tag::OperationNotSupported, path, "it cannot be changed"));
        }
    }
    Ok(())
}
