//! Writes streams.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::super::control_list::Times;
use super::super::export_error::ExportError;
use super::super::{MOST_ENTRIES, PSFP, PSFP_BRIDGE, STREAM_IDENTIFICATION};
use super::{frer, name, unsaid};
use crate::config::MOST_STREAMS;
use crate::model::{Meter, Stream, StreamGate, StreamGateEntry, Switch};

/// Cycles of a stream gate last so many seconds at most: as long as a list of the longest entries.
const LONGEST_CYCLE_S: u64 = MOST_ENTRIES as u64 * u32::MAX as u64 / super::super::SECOND_NS;

/// Writes which frames are of which stream into the document; what a component of a bridge has of them.
pub(in super::super) fn export(
    switch: &Switch,
    document: &mut Map<String, Value>,
    notes: &mut Vec<String>,
) -> Result<Map<String, Value>, ExportError> {
    let (unsaid, said): (Vec<&Stream>, Vec<&Stream>) =
        switch.streams.iter().partition(|stream| self::unsaid(stream).is_some());
    for stream in unsaid {
        let why = self::unsaid(stream).unwrap_or_default();
        notes.push(format!("stream {}: {why}; it is left out", stream.name));
    }
    let streams: Vec<(u32, &Stream)> = handles(&said).into_iter().zip(said).collect();
    if streams.is_empty() {
        return Ok(Map::new());
    }
    let identities = streams.iter().enumerate().map(|(place, (handle, stream))| {
        let mut facing = json!({ "input-port": port_names(switch, stream.ingress.as_deref()) });
        if let Some(ports) = &stream.replicate {
            facing["output-port"] = json!(port_names(switch, Some(ports)));
        }
        json!({
            "index": place + 1,
            "handle": handle,
            "out-facing": facing,
            "null-stream-identification": frames(stream),
        })
    });
    document.insert(format!("{STREAM_IDENTIFICATION}:stream-identity"), identities.collect());
    frer::export(switch, &streams, document);
    policing(switch, &streams, notes)
}

/// The stream_handle that a document gives each stream of a switch; none where it leaves the stream out.
pub fn stream_handles(switch: &Switch) -> Vec<Option<u32>> {
    let said: Vec<&Stream> = switch.streams.iter().filter(|stream| unsaid(stream).is_none()).collect();
    let mut handles = handles(&said).into_iter();
    switch.streams.iter().map(|stream| unsaid(stream).map_or_else(|| handles.next(), |_| None)).collect()
}

/// The stream_handle of each stream: its own, else the number in its name where an import has given it, else the lowest that is
/// free.
pub(super) fn handles(streams: &[&Stream]) -> Vec<u32> {
    let own: BTreeSet<u32> = streams.iter().filter_map(|stream| stream.handle).collect();
    let named = |stream: &&Stream| {
        let handle = stream.name.strip_prefix("stream")?.parse().ok()?;
        (name(handle) == stream.name && !own.contains(&handle)).then_some(handle)
    };
    let fixed = |stream: &&Stream| stream.handle.or_else(|| named(stream));
    let taken: BTreeSet<u32> = streams.iter().filter_map(fixed).collect();
    let mut free = (1..).filter(|handle| !taken.contains(handle));
    streams.iter().filter_map(|stream| fixed(stream).or_else(|| free.next())).collect()
}

/// The names of ports; of all, where none is named.
fn port_names(switch: &Switch, ports: Option<&[usize]>) -> Vec<String> {
    let name = |(_, port): (usize, &crate::model::Port)| port.name.clone();
    let has = |place: usize| ports.is_none_or(|ports| ports.contains(&place));
    switch.ports.iter().enumerate().filter(|(place, _)| has(*place)).map(name).collect()
}

fn frames(stream: &Stream) -> Value {
    let (tagged, vlan) = match stream.vlan {
        None => ("all", 0),
        Some(0) => ("priority", 0),
        Some(vlan) => ("tagged", vlan),
    };
    let address = stream.to.map(|byte| format!("{byte:02X}")).join("-");
    json!({ "destination-mac": address, "tagged": tagged, "vlan": vlan })
}

fn policing(
    switch: &Switch,
    streams: &[(u32, &Stream)],
    notes: &mut Vec<String>,
) -> Result<Map<String, Value>, ExportError> {
    let (mut filters, mut gates, mut meters) = (Vec::new(), Vec::new(), Vec::new());
    // The gate of streams without one.
    let open = (0u32..).find(|number| streams.iter().all(|(handle, _)| handle != number));
    for (handle, stream) in streams {
        if stream.max_sdu.is_none() && stream.meter.is_none() && stream.gate.is_none() {
            continue;
        }
        let mut filter = json!({
            "stream-filter-instance-id": handle,
            "stream-handle": handle,
            "priority-spec": "wildcard",
            "max-sdu-size": stream.max_sdu.unwrap_or(0),
            "stream-gate-ref": if stream.gate.is_some() { Some(*handle) } else { open },
            "flow-meter-enable": stream.meter.is_some(),
        });
        if let Some(meter) = stream.meter {
            filter["flow-meter-ref"] = json!(handle);
            meters.push(self::meter(*handle, meter));
        }
        if let Some(gate) = &stream.gate {
            gates.push(self::gate(switch, *handle, stream, gate, notes)?);
        }
        filters.push(filter);
    }
    let mut component = Map::new();
    if filters.is_empty() {
        return Ok(component);
    }
    if filters.len() > gates.len() {
        let always = json!({
            "stream-gate-instance-id": open,
            "gate-enable": false,
            "admin-gate-states": "open",
            "admin-cycle-time": { "numerator": 1, "denominator": 1 },
        });
        gates.insert(0, always);
    }
    let mut part = |name: &str, value: Value| component.insert(format!("{PSFP_BRIDGE}:{name}"), value);
    if !meters.is_empty() {
        let table = json!({ "flow-meter-instance-table": meters, "max-flow-meter-instances": MOST_STREAMS });
        part("flow-meters", table);
    }
    part("stream-filters", json!({ "stream-filter-instance-table": filters }));
    // The conditions of the model look at the limits, and at a cycle of each gate.
    let gates = json!({
        "stream-gate-instance-table": gates,
        "supported-list-max": MOST_ENTRIES,
        "supported-cycle-max": { "numerator": LONGEST_CYCLE_S, "denominator": 1 },
        "supported-interval-max": u32::MAX,
    });
    part("stream-gates", gates);
    Ok(component)
}

/// With no excess, nothing is marked yellow.
fn meter(handle: u32, meter: Meter) -> Value {
    json!({
        "flow-meter-instance-id": handle,
        // A 64-bit number is a text (RFC 7951 section 6.1).
        "committed-information-rate": meter.rate.to_string(),
        "committed-burst-size": meter.burst,
        "excess-information-rate": "0",
        "excess-burst-size": 0,
        "coupling-flag": "zero",
        "color-mode": "color-blind",
        "drop-on-yellow": true,
    })
}

fn gate(
    switch: &Switch,
    handle: u32,
    stream: &Stream,
    gate: &StreamGate,
    notes: &mut Vec<String>,
) -> Result<Value, ExportError> {
    let entry = |(index, entry): (usize, &StreamGateEntry)| {
        json!({
            "index": index,
            "operation-name": format!("{PSFP}:set-gate-and-ipv"),
            "time-interval-value": entry.for_ns,
            "gate-state-value": if entry.open { "open" } else { "closed" },
            "ipv-spec": "null",
        })
    };
    let entries = gate.entries.iter().enumerate().map(entry).collect();
    let times = Times { gates_of: format!("stream {}", stream.name), base: gate.base, cycle_ns: gate.cycle_ns };
    let mut gate = times.parameters(switch.clock, entries, notes)?;
    gate.insert("stream-gate-instance-id".into(), json!(handle));
    gate.insert("gate-enable".into(), json!(true));
    gate.insert("admin-gate-states".into(), json!("open"));
    Ok(Value::Object(gate))
}
