//! What becomes of a switch that is to be as a configuration says: its gates change, and nothing else can.

use ontick_rt::clock::ClockId;
use ontick_switch::apply::{Journal, SwitchDir};
use ontick_tsn::model::{Port, Switch};
use ontick_tsn::netconf::{RpcError, Tag};
use ontick_tsn::{config, yang};
use serde_json::{Map, Value, json};

use super::super::gates;
use super::super::target_flags::refuse_short_windows;
use super::datastores::{self, failed, gate_table};

const INTERFACES: &str = "ietf-interfaces:interfaces";
const ENABLED: &str = "gate-enabled";

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
        Ok(checked(folder, wanted)?.map(|switch| Self { journal, switch }))
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
    let changed = changed(&running, wanted)?;
    if changed.is_empty() {
        return Ok(None);
    }
    let document = json!({ INTERFACES: { "interface": changed } });
    let mut imported = yang::import(&document.to_string())
        .map_err(|error| RpcError::application(Tag::InvalidValue, error.path, error.what))?;
    let mut after = before.clone();
    yang::merge(&mut after, &mut imported).map_err(failed)?;
    for (old, new) in before.ports.iter().zip(&after.ports) {
        keeps_sizes(old, new)?;
    }
    let text = config::write(&after);
    config::read_at(&text, ClockId::Realtime.now_ns())
        .map_err(|errors| RpcError::protocol(Tag::InvalidValue, errors.in_file("the switch")))?;
    refuse_short_windows(&after, None).map_err(|failure| RpcError::protocol(Tag::InvalidValue, failure.to_string()))?;
    Ok(Some(after))
}

/// The interfaces whose gates are to change.
fn changed(running: &Value, wanted: &Value) -> Result<Vec<Value>, RpcError> {
    let empty = Vec::new();
    let list = |data: &'_ Value| data[INTERFACES]["interface"].as_array().cloned().unwrap_or_else(|| empty.clone());
    let (before, mut after) = (list(running), list(wanted));
    let refused = |name: &Value, what: &str| {
        let path = format!("/{INTERFACES}/interface[name='{}']", name.as_str().unwrap_or_default());
        RpcError::application(Tag::OperationNotSupported, path, what)
    };
    if let Some(new) = after.iter().find(|new| before.iter().all(|old| old["name"] != new["name"])) {
        return Err(refused(&new["name"], "the switch has no such port, and ports cannot be added while it is set up"));
    }
    let mut changed = Vec::new();
    for mut old in before {
        let Some(new) = after.iter_mut().find(|new| new["name"] == old["name"]) else {
            return Err(refused(&old["name"], "a port cannot be removed while the switch is set up"));
        };
        let whole = new.clone();
        let gates = (take_table(&mut old), take_table(new));
        if old != *new {
            return Err(refused(&old["name"], "only the gates of a port can be changed while the switch is set up"));
        }
        match gates {
            (old, new) if old == new => {}
            (Some(old), Some(new)) if old.get(ENABLED) == new.get(ENABLED) => changed.push(whole),
            (Some(_), Some(_)) => {
                return Err(refused(&old["name"], "gates cannot be enabled or disabled while the switch is set up"));
            }
            _ => {
                return Err(refused(
                    &old["name"],
                    "a port's gates cannot be added or removed while the switch is set up",
                ));
            }
        }
    }
    Ok(changed)
}

/// An interface loses the table of its gates.
fn take_table(interface: &mut Value) -> Option<Map<String, Value>> {
    gate_table(interface).map(std::mem::take)
}

fn keeps_sizes(old: &Port, new: &Port) -> Result<(), RpcError> {
    if old.max_sdu == new.max_sdu {
        return Ok(());
    }
    let path = format!("/{INTERFACES}/interface[name='{}']", old.name);
    let what = "frame sizes cannot be changed while the switch is set up";
    Err(RpcError::application(Tag::OperationNotSupported, path, what))
}
