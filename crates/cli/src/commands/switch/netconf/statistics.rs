//! What is counted, as the modules of IETF and IEEE have it.

use std::sync::Arc;

use ontick_switch::kernel::StreamCount;
use ontick_switch::user::counters::{PortCounters, QueueCounters, StreamCounters};
use ontick_switch::user::serve::Report;
use ontick_tsn::model::{Stream, Switch};
use ontick_tsn::{config, yang};
use serde_json::{Map, Value, json};

const FILTERS: &str = "/ieee802-dot1q-bridge:bridges/bridge/0/component/0/ieee802-dot1q-psfp-bridge:stream-filters/\
                       stream-filter-instance-table";
/// Of each frame on the link, that no count of the core has.
const CHECK_SEQUENCE: u64 = 4;

/// The `statistics` of each port of a switch, in the order of its ports.
pub fn of_ports(switch: &Switch, report: &Report) -> Vec<Map<String, Value>> {
    let mut numbered = vec![Vec::new(); switch.ports.len()];
    for ((stream, counters), handle) in in_force(switch, report).into_iter().zip(yang::stream_handles(switch)) {
        let (Some(_), Some(handle)) = (stream.eliminate, handle) else { continue };
        // One recovery function for all ports that it comes in by: the same counts stand at each of them.
        for (place, port) in numbered.iter_mut().enumerate() {
            if stream.ingress.as_ref().is_none_or(|ingress| ingress.contains(&place)) {
                port.push(of_numbered(handle, &counters));
            }
        }
    }
    let statistics = |(counters, numbered): (&PortCounters, Vec<Value>)| {
        let mut statistics = of_port(counters);
        statistics.insert("discontinuity-time".into(), json!(report.counting_since));
        if !numbered.is_empty() {
            let counters = json!({ "per-port-per-stream-counters": numbered });
            statistics.insert("ieee802-dot1cb-frer:frer".into(), counters);
        }
        statistics
    };
    report.counters.ports.iter().zip(numbered).map(statistics).collect()
}

/// What the filters of streams have seen, in the order of the streams: not what was eliminated before.
pub fn policed(switch: &Switch, report: &Report) -> Vec<StreamCount> {
    let of = |(stream, of): (&Stream, Arc<StreamCounters>)| {
        let eliminated = of.duplicates.get() + of.rogue.get() + of.tagless.get();
        StreamCount {
            stream: stream.name.clone(),
            frames: of.frames.get().saturating_sub(eliminated),
            over_sdu: of.over_sdu.get(),
            gate_closed: of.gate_closed.get(),
            red: of.red.get(),
        }
    };
    in_force(switch, report).into_iter().map(of).collect()
}

/// Adds to each stream filter of a switch's document what it has counted.
pub fn put_policed(document: &mut Value, switch: &Switch, policed: &[StreamCount]) {
    let handles = yang::stream_handles(switch);
    let filters = document.pointer_mut(FILTERS).and_then(Value::as_array_mut);
    for filter in filters.into_iter().flatten().filter_map(Value::as_object_mut) {
        let handle = filter.get("stream-handle").and_then(Value::as_u64);
        let place = handles.iter().position(|of| of.map(u64::from) == handle);
        if let Some(count) = place.and_then(|place| policed.get(place)) {
            filter.extend(of_filter(count));
        }
    }
}

/// The streams with their counters: of those in force, which may have changed meanwhile.
fn in_force<'a>(switch: &'a Switch, report: &Report) -> Vec<(&'a Stream, Arc<StreamCounters>)> {
    let read = config::read(&report.configuration).map(|read| read.switch.streams);
    match read.is_ok_and(|streams| streams == switch.streams) {
        true => switch.streams.iter().zip(report.counters.streams.all()).collect(),
        false => Vec::new(),
    }
}

/// Of `ietf-interfaces` (RFC 8343); octets include the check sequence (RFC 3635).
fn of_port(of: &PortCounters) -> Map<String, Value> {
    let sum = |what: fn(&QueueCounters) -> u64| of.queues.iter().map(what).sum::<u64>();
    let octets = |frames: u64, octets: u64| octets + frames * CHECK_SEQUENCE;
    let sent = octets(sum(|queue| queue.sent.get()), sum(|queue| queue.octets.get()));
    let counts = [
        ("in-octets", octets(of.received.get(), of.octets.get())),
        ("out-octets", sent),
        ("out-discards", sum(QueueCounters::dropped)),
    ];
    counts.into_iter().map(|(name, count)| (name.into(), json!(count.to_string()))).collect()
}

/// Of `ieee802-dot1q-psfp` (IEEE 802.1Q-2022 clause 8.6.5.3): a frame meets the size first, then the gate, then the meter.
fn of_filter(of: &StreamCount) -> Map<String, Value> {
    let sized = of.frames.saturating_sub(of.over_sdu);
    let counts = [
        ("matching-frames-count", of.frames),
        ("passing-sdu-count", sized),
        ("not-passing-sdu-count", of.over_sdu),
        ("passing-frames-count", sized.saturating_sub(of.gate_closed)),
        ("not-passing-frames-count", of.gate_closed),
        ("red-frames-count", of.red),
    ];
    counts.into_iter().map(|(name, count)| (name.into(), json!(count.to_string()))).collect()
}

/// Of `ieee802-dot1cb-frer` (IEEE 802.1CB-2017 clause 10.8).
fn of_numbered(handle: u32, of: &StreamCounters) -> Value {
    json!({
        "direction-out-facing": true,
        "handle": handle,
        "rx-out-of-order-pkts": of.out_of_order.get().to_string(),
        "rx-rogue-pkts": of.rogue.get().to_string(),
        "rx-passed-pkts": of.recovered.get().to_string(),
        "rx-discarded-pkts": of.duplicates.get().to_string(),
        "rx-lost-pkts": of.lost.get().to_string(),
        "rx-tagless-pkts": of.tagless.get().to_string(),
        "rx-resets": of.resets.get().to_string(),
    })
}
