//! A drawn network as the text of a file.

use std::fmt::Write;

use ontick_units::{exact, show_bit_rate};

use crate::network::{Kind, Network, Stream};

/// The file that is read as this network, if it was drawn: links are all alike, and there is nothing but nodes, links and
/// streams. One line for each.
pub fn text(network: &Network) -> String {
    let mut text = String::new();
    if let Some(link) = network.links.first() {
        let _ = write!(text, "network = {{ rate = \"{}\"", show_bit_rate(link.rate));
        for (key, ns) in [("propagation", link.propagation_ns), ("processing", link.processing_ns)] {
            if ns > 0 {
                let _ = write!(text, ", {key} = \"{}\"", exact(ns));
            }
        }
        text += " }\n";
    }
    for (key, kind) in [("switch", Kind::Switch), ("station", Kind::Station)] {
        let nodes = network.nodes.iter().filter(|node| node.kind == kind);
        list(&mut text, key, nodes.map(|node| format!("name = \"{}\"", node.name)));
    }
    let name = |node: usize| format!("\"{}\"", network.nodes[node].name);
    // The first of a cable's two links.
    let cables = network.links.iter().step_by(2);
    list(&mut text, "link", cables.map(|link| format!("between = [{}, {}]", name(link.from), name(link.to))));
    let stream = |stream: &Stream| {
        let listeners: Vec<String> = stream.listeners.iter().map(|node| name(*node)).collect();
        let to = match &listeners[..] {
            [one] => one.clone(),
            several => format!("[{}]", several.join(", ")),
        };
        let (from, period) = (name(stream.talker), exact(stream.period_ns));
        let deadline = match stream.deadline_ns == stream.period_ns {
            true => String::new(),
            false => format!(", deadline = \"{}\"", exact(stream.deadline_ns)),
        };
        let (called, size) = (&stream.name, stream.size);
        format!("name = \"{called}\", from = {from}, to = {to}, size = {size}, period = \"{period}\"{deadline}")
    };
    list(&mut text, "stream", network.streams.iter().map(stream));
    text
}

fn list(text: &mut String, key: &str, entries: impl Iterator<Item = String>) {
    let _ = writeln!(text, "{key} = [");
    for entry in entries {
        let _ = writeln!(text, "  {{ {entry} }},");
    }
    text.push_str("]\n");
}
