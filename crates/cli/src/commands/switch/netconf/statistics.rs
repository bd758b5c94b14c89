//! What is counted of streams that take several paths, as `ieee802-dot1cb-frer` has it (IEEE 802.1CB-2017 clause 10.8).

use ontick_switch::user::counters::StreamCounters;
use ontick_switch::user::serve::Report;
use ontick_tsn::model::Switch;
use ontick_tsn::{config, yang};
use serde_json::{Map, Value, json};

/// The `statistics` of each port of a switch, in the order of its ports; empty where nothing is counted. A stream has one
/// recovery function for all ports that it comes in by, so that the same counts stand at each of them.
pub fn of_ports(switch: &Switch, report: &Report) -> Vec<Map<String, Value>> {
    let mut ports = vec![Vec::new(); switch.ports.len()];
    // Counts are of the streams in force, which may have changed meanwhile.
    let in_force = config::read(&report.configuration).map(|read| read.switch.streams);
    if in_force.is_ok_and(|streams| streams == switch.streams) {
        let counters = report.counters.streams.all();
        let streams = switch.streams.iter().zip(yang::stream_handles(switch)).zip(&counters);
        for ((stream, handle), counters) in streams {
            let (Some(_), Some(handle)) = (stream.eliminate, handle) else { continue };
            for (place, port) in ports.iter_mut().enumerate() {
                if stream.ingress.as_ref().is_none_or(|ingress| ingress.contains(&place)) {
                    port.push(of_stream(handle, counters));
                }
            }
        }
    }
    let statistics = |entries: Vec<Value>| {
        let mut statistics = Map::new();
        if !entries.is_empty() {
            statistics.insert("discontinuity-time".into(), json!(report.counting_since));
            let counters = json!({ "per-port-per-stream-counters": entries });
            statistics.insert("ieee802-dot1cb-frer:frer".into(), counters);
        }
        statistics
    };
    ports.into_iter().map(statistics).collect()
}

fn of_stream(handle: u32, of: &StreamCounters) -> Value {
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
