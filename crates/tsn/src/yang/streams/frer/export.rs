//! Writes the functions of streams that take several paths.

use serde_json::{Map, Value, json};

use super::super::super::FRER;
use super::MILLISECOND_NS;
use crate::model::{Elimination, Stream, Switch};

/// Writes them into the document, if there are any.
pub(in super::super) fn export(switch: &Switch, streams: &[(u32, &Stream)], document: &mut Map<String, Value>) {
    let mut tables = Map::new();
    let mut table = |name: &str, entries: Vec<Value>| {
        if !entries.is_empty() {
            tables.insert(name.into(), entries.into());
        }
    };
    // Frames of which copies were dropped have numbers.
    let numbered = streams.iter().filter(|(_, stream)| stream.replicate.is_some() && stream.eliminate.is_none());
    table("sequence-generation", numbered.map(|(handle, _)| generation(*handle)).collect());
    let recovered = streams.iter().filter_map(|(handle, stream)| Some((handle, stream, stream.eliminate?)));
    let recovery =
        |(handle, stream, elimination): (&u32, &&Stream, _)| self::recovery(switch, *handle, stream, elimination);
    table("sequence-recovery", recovered.map(recovery).collect());
    table("sequence-identification", identification(switch, streams));
    if !tables.is_empty() {
        document.insert(format!("{FRER}:frer"), Value::Object(tables));
    }
}

fn generation(handle: u32) -> Value {
    json!({ "index": handle, "stream": [handle], "direction-out-facing": false })
}

fn recovery(switch: &Switch, handle: u32, stream: &Stream, elimination: Elimination) -> Value {
    let ports = switch.ports.iter().enumerate().filter(|(place, _)| comes_in_by(stream, *place));
    json!({
        "index": handle,
        "stream": [handle],
        "port": ports.map(|(_, port)| port.name.as_str()).collect::<Vec<_>>(),
        "direction-out-facing": true,
        "algorithm": { "vector": {} },
        "history-length": elimination.history_length,
        "reset-timeout": elimination.reset_timeout_ns / MILLISECOND_NS,
        "take-no-sequence": false,
        "individual-recovery": false,
        "latent-error-detection": true,
        "latent-error-detection-parameters": {
            "difference": Elimination::LATENT_ERROR_DIFFERENCE,
            "period": Elimination::LATENT_ERROR_PERIOD_MS,
            "paths": elimination.paths,
            "reset-period": Elimination::LATENT_RESET_PERIOD_MS,
        },
    })
}

/// Where redundancy tags are read, and where frames get them.
fn identification(switch: &Switch, streams: &[(u32, &Stream)]) -> Vec<Value> {
    let mut entries = Vec::new();
    for (place, port) in switch.ports.iter().enumerate() {
        let mut entry = |is_out_facing: bool, has: fn(&Stream) -> bool| {
            let here = streams.iter().filter(|(_, stream)| has(stream) && comes_in_by(stream, place));
            let here: Vec<u32> = here.map(|(handle, _)| *handle).collect();
            if !here.is_empty() {
                entries.push(json!({
                    "port": port.name,
                    "direction-out-facing": is_out_facing,
                    "stream": here,
                    "active": !is_out_facing,
                    "encapsulation": { "r-tag": {} },
                }));
            }
        };
        entry(true, |stream| stream.eliminate.is_some());
        entry(false, |stream| stream.replicate.is_some());
    }
    entries
}

fn comes_in_by(stream: &Stream, port: usize) -> bool {
    stream.ingress.as_ref().is_none_or(|ports| ports.contains(&port))
}
