//! What runs, as configuration and with its state, and what is to run from the next boot on.

use ontick_switch::apply::{Journal, Live, StartupFile, SwitchDir};
use ontick_switch::ethtool;
use ontick_switch::kernel::status::{LinkState, PortStatus, status};
use ontick_switch::kernel::{StreamCount, time_loss};
use ontick_switch::user::serve::{PortReport, Report, USUAL_RATE};
use ontick_switch::user::station::asked;
use ontick_tsn::model::{Clock, Guard, Plane, Port, Switch};
use ontick_tsn::netconf::{self, RpcError, Tag};
use ontick_tsn::{config, yang};
use serde_json::{Map, Value, json};

use super::super::background;
use super::super::target_flags::standing;
use super::statistics;

const SECOND_NS: u64 = 1_000_000_000;

/// What could not be done, for a reason that has nothing to do with the request.
pub fn failed(error: impl std::fmt::Display) -> RpcError {
    RpcError::protocol(Tag::OperationFailed, error.to_string())
}

/// The switch that is set up, as whoever set it up has it.
pub fn switch(folder: &SwitchDir) -> Result<(Journal, Switch), RpcError> {
    let (journal, served) = served(folder)?;
    Ok((journal, asked(served)))
}

/// The same as the data plane has it.
fn served(folder: &SwitchDir) -> Result<(Journal, Switch), RpcError> {
    let gone = || failed(format!("switch {} is not set up any more", folder.name()));
    let journal = Journal::read(folder).map_err(failed)?.ok_or_else(gone)?;
    let switch = standing(folder).map_err(failed)?;
    Ok((journal, switch))
}

/// Its configuration.
pub fn running(folder: &SwitchDir) -> Result<Value, RpcError> {
    let (_, switch) = switch(folder)?;
    document(&switch)
}

/// A switch as a document. What a guard band of the largest frame takes is a matter of the link's rate, as in the data plane.
pub fn document(switch: &Switch) -> Result<Value, RpcError> {
    let mut switch = switch.clone();
    for port in &mut switch.ports {
        if port.gates.as_ref().is_some_and(|gates| gates.guard == Guard::LargestFrame) {
            let usual = (switch.plane == Plane::User).then_some(USUAL_RATE);
            port.rate = port.rate.or_else(|| ethtool::rate(&port.name)).or(usual);
        }
    }
    Ok(yang::export(&switch).map_err(failed)?.document)
}

/// The same, with what is known of its state, and of which modules all of it is.
pub fn with_state(folder: &SwitchDir) -> Result<Value, RpcError> {
    // What is counted and seen has the places of the ports that the data plane has.
    let (_, switch) = served(folder)?;
    let mut data = document(&asked(switch.clone()))?;
    let (states, policed): (Vec<(String, PortState)>, Vec<StreamCount>) = match switch.plane {
        Plane::User => background::report(folder).map(|report| of_user(&switch, &report)).unwrap_or_default(),
        _ => {
            let plan = folder.plan().map_err(failed)?;
            let found = status(&Live, &switch, &plan, time_loss::in_force(folder, &switch)).map_err(failed)?;
            let state = |port: &PortStatus| (port.name.clone(), of_kernel(port, switch.clock));
            (found.ports.iter().map(state).collect(), found.streams)
        }
    };
    statistics::put_policed(&mut data, &switch, &policed);
    let interfaces = data["ietf-interfaces:interfaces"]["interface"].as_array_mut();
    for interface in interfaces.into_iter().flatten() {
        let state = states.iter().find(|(name, _)| interface["name"] == **name).map(|(_, state)| state);
        let Some(state) = state else { continue };
        interface["oper-status"] = json!(state.status);
        if !state.statistics.is_empty() {
            interface["statistics"] = json!(state.statistics);
        }
        for entry in idle_slopes(interface) {
            // Without a stream reservation protocol both are equal (IEEE 802.1Q-2022 clause 34.3).
            entry["oper-idle-slope"] = entry["admin-idle-slope"].clone();
        }
        if let Some(table) = gate_table(interface) {
            table.extend(state.gates.clone());
        }
    }
    if let Value::Object(members) = &mut data {
        members.extend(netconf::library());
    }
    Ok(data)
}

/// What is set up at the next boot; none if nothing is.
pub fn startup(file: &StartupFile, folder: &SwitchDir) -> Result<Option<Switch>, RpcError> {
    let Some(text) = file.read().map_err(failed)? else { return Ok(None) };
    let path = file.path().display();
    let switch = config::read(&text).map_err(|errors| failed(errors.in_file(&path.to_string())))?.switch;
    match switch.name == folder.name() {
        true => Ok(Some(switch)),
        false => Err(failed(format!("{path} describes switch {}, not {}", switch.name, folder.name()))),
    }
}

/// The table of an interface's gates, in a bridge or in an end station.
fn gate_table(interface: &mut Value) -> Option<&mut Map<String, Value>> {
    let places = [
        "/ieee802-dot1q-bridge:bridge-port/ieee802-dot1q-sched-bridge:gate-parameter-table",
        "/ieee802-dot1dc-sched-if:gate-parameter-table",
    ];
    let found = places.into_iter().find(|place| interface.pointer(place).is_some())?;
    interface.pointer_mut(found)?.as_object_mut()
}

/// The classes of an interface that are shaped.
fn idle_slopes(interface: &mut Value) -> impl Iterator<Item = &mut Value> {
    let places = ["/ieee802-dot1q-bridge:bridge-port/ieee802-dot1q-cbsa-bridge:cbsa", "/ieee802-dot1dc-cbsa-if:cbsa"];
    let found = places.into_iter().find(|place| interface.pointer(place).is_some());
    let cbsa = found.and_then(|place| interface.pointer_mut(place));
    cbsa.and_then(|cbsa| cbsa["cbsa-parameter-table"].as_array_mut()).into_iter().flatten()
}

struct PortState {
    /// As `ietf-interfaces` names it.
    status: &'static str,
    /// Of the table of its gates.
    gates: Map<String, Value>,
    /// What is counted.
    statistics: Map<String, Value>,
}

fn of_user(switch: &Switch, report: &Report) -> (Vec<(String, PortState)>, Vec<StreamCount>) {
    let ports = switch.ports.iter().zip(&report.ports).zip(statistics::of_ports(switch, report));
    let state = |((port, seen), statistics): ((&Port, &PortReport), Map<String, Value>)| {
        let status = match (seen.open, seen.link) {
            (false, _) => "not-present",
            (true, true) => "up",
            (true, false) => "down",
        };
        (port.name.clone(), PortState { status, gates: Map::new(), statistics })
    };
    (ports.map(state).collect(), statistics::policed(switch, report))
}

fn of_kernel(port: &PortStatus, clock: Clock) -> PortState {
    let status = match port.link {
        LinkState::Gone => "not-present",
        LinkState::Off | LinkState::NoLink => "down",
        LinkState::Up => "up",
    };
    let mut gates = Map::new();
    if let Some(oper) = &port.oper {
        gates.insert("config-pending".into(), json!(port.admin.is_some()));
        if let Ok(numerator) = u32::try_from(oper.cycle_ns) {
            let cycle = json!({ "numerator": numerator, "denominator": SECOND_NS });
            gates.insert("oper-cycle-time".into(), cycle);
        }
        // Base times are of the PTP timescale.
        if clock == Clock::Tai {
            let (seconds, nanoseconds) = (oper.base_ns / SECOND_NS, oper.base_ns % SECOND_NS);
            let base = json!({ "seconds": seconds.to_string(), "nanoseconds": nanoseconds });
            gates.insert("oper-base-time".into(), base);
        }
    }
    PortState { status, gates, statistics: Map::new() }
}
