//! Where a document says what a part of a switch is like.

use super::import::{Imported, Interface};
use super::node::predicate;
use super::streams::{ImportedStream, unsaid};
use super::{BRIDGE, CBSA_BRIDGE, CBSA_IF, CBSA_TABLE, INTERFACES, SCHED_BRIDGE, SCHED_IF, STREAM_IDENTIFICATION};
use crate::config::{Part, Section};
use crate::model::Switch;

/// The path of the node that a part of the switch comes from, which this document was merged into.
pub fn place(part: &Part, switch: &Switch, imported: &Imported) -> String {
    let key = part.key.as_deref();
    match part.section {
        // No gate of the class opens anywhere; else classes are not the document's.
        Section::Class(_) => match imported.interfaces.as_slice() {
            [one] => format!("{}/admin-control-list", table(one)),
            _ => format!("/{INTERFACES}:interfaces"),
        },
        Section::Port(port) if key == Some("idle-slope") => {
            let name = &switch.ports[port].name;
            match imported.interfaces.iter().find(|interface| interface.name == *name) {
                Some(interface) if interface.idle_slopes.is_some() => slopes(interface),
                // Those of the switch, which its new gates do not fit.
                Some(interface) => table(interface),
                None => interface(name),
            }
        }
        Section::Port(port) | Section::Preemption(port) => interface(&switch.ports[port].name),
        Section::Gates(port) => {
            let name = &switch.ports[port].name;
            match imported.interfaces.iter().find(|interface| interface.name == *name) {
                Some(interface) => in_list(&table(interface), key, part.entry, &interface.indices),
                None => interface(name),
            }
        }
        Section::Stream(stream) => match stream_of(stream, switch, imported) {
            Some(stream) => of_stream(stream, key),
            None => format!("/{STREAM_IDENTIFICATION}:stream-identity"),
        },
        Section::StreamGate(stream) => match stream_of(stream, switch, imported) {
            Some(stream) => in_list(&stream.paths.gate, key, None, &[]),
            None => format!("/{STREAM_IDENTIFICATION}:stream-identity"),
        },
        Section::Switch | Section::Forward(_) if imported.streams.is_some() => {
            format!("/{STREAM_IDENTIFICATION}:stream-identity")
        }
        Section::Switch | Section::Forward(_) => format!("/{INTERFACES}:interfaces"),
    }
}

/// An interface.
pub(super) fn interface(name: &str) -> String {
    format!("/{INTERFACES}:interfaces/interface{}", predicate("name", name))
}

/// The ports that a stream comes in and leaves by, with the path of each.
pub(super) fn ports(stream: &ImportedStream) -> impl Iterator<Item = (&String, String)> {
    let path = |of: &str, port: &str| format!("{}/out-facing/{of}{}", stream.paths.identity, predicate(".", port));
    let ingress = stream.ingress.iter().map(move |port| (port, path("input-port", port)));
    ingress.chain(stream.replicate.iter().flatten().map(move |port| (port, path("output-port", port))))
}

/// The idle slopes of an interface.
pub(super) fn slopes(of: &Interface) -> String {
    let interface = interface(&of.name);
    match of.bridged {
        true => format!("{interface}/{BRIDGE}:bridge-port/{CBSA_BRIDGE}:cbsa/{CBSA_TABLE}"),
        false => format!("{interface}/{CBSA_IF}:cbsa/{CBSA_TABLE}"),
    }
}

/// The frame sizes of an interface.
pub(super) fn sizes(of: &Interface) -> String {
    format!("{}/queue-max-sdu-table", table(of))
}

/// The gate parameters of an interface.
fn table(of: &Interface) -> String {
    let interface = interface(&of.name);
    match of.bridged {
        true => format!("{interface}/{BRIDGE}:bridge-port/{SCHED_BRIDGE}:gate-parameter-table"),
        false => format!("{interface}/{SCHED_IF}:gate-parameter-table"),
    }
}

/// What of a table with a list of gate operations a key of the file is.
fn in_list(table: &str, key: Option<&str>, entry: Option<usize>, indices: &[u32]) -> String {
    let entry = entry.and_then(|entry| indices.get(entry).or(indices.last()));
    match (entry, key) {
        (Some(index), _) => {
            let key = predicate("index", &index.to_string());
            format!("{table}/admin-control-list/gate-control-entry{key}")
        }
        (None, Some("cycle")) => format!("{table}/admin-cycle-time"),
        (None, Some("base-time")) => format!("{table}/admin-base-time"),
        (None, Some("entries")) => format!("{table}/admin-control-list"),
        (None, _) => table.into(),
    }
}

fn of_stream(stream: &ImportedStream, key: Option<&str>) -> String {
    let paths = &stream.paths;
    let meter = paths.meter.as_ref().unwrap_or(&paths.filter);
    match key {
        Some("to") => format!("{}/null-stream-identification/destination-mac", paths.identity),
        Some("max-sdu") => format!("{}/max-sdu-size", paths.filter),
        Some("rate") => format!("{meter}/committed-information-rate"),
        Some("burst") => format!("{meter}/committed-burst-size"),
        Some("meter") => meter.clone(),
        _ => paths.identity.clone(),
    }
}

/// The stream of the document that a stream of the switch is. Those of which no document can speak stand between those of
/// the document, which keep their order.
pub fn stream_of<'a>(place: usize, switch: &Switch, imported: &'a Imported) -> Option<&'a ImportedStream> {
    let said = switch.streams[..place].iter().filter(|stream| unsaid(stream).is_none()).count();
    let is_said = unsaid(&switch.streams[place]).is_none();
    imported.streams.as_ref()?.get(said).filter(|_| is_said)
}
