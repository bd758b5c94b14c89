//! What the frames of each stream may be.

use ontick_record::Finding;
use ontick_tsn::config::show_mac;
use ontick_tsn::model::{Elimination, Meter, Stream, Switch};
use ontick_units::{exact, show_bit_rate};

use super::fine;

/// Streams that are listed; of more, the number.
const EACH: usize = 64;

pub(super) fn findings(switch: &Switch) -> Vec<Finding> {
    let one = |stream: &Stream| fine(format!("stream {}", stream.name), words(stream, switch));
    let mut found: Vec<Finding> = switch.streams.iter().take(EACH).map(one).collect();
    if let Some(more @ 1..) = switch.streams.len().checked_sub(EACH) {
        found.push(fine("streams", format!("and {more} more")));
    }
    found
}

fn words(stream: &Stream, switch: &Switch) -> String {
    let vlan = stream.vlan.map_or(String::new(), |vlan| format!(" vlan {vlan}"));
    let from = stream.from.map_or(String::new(), |from| format!(" from {}", show_mac(from)));
    let size = stream.max_sdu.map(|octets| format!("at most {octets} octets of data"));
    let rate = |meter: Meter| format!("at most {} with bursts of {} octets", show_bit_rate(meter.rate), meter.burst);
    let gate = stream.gate.as_ref().map(|gate| {
        let open_ns: u64 = gate.entries.iter().filter(|entry| entry.open).map(|entry| entry.for_ns).sum();
        format!("only in {} of each {}", exact(open_ns), exact(gate.cycle_ns))
    });
    let once = stream.eliminate.map(|Elimination { history_length, paths, .. }| {
        format!("once, though it comes by {paths} paths, of the last {history_length} numbers")
    });
    let over = stream.replicate.as_ref().map(|ports| {
        let names: Vec<&str> = ports.iter().map(|port| switch.ports[*port].name.as_str()).collect();
        format!("over {}, with a redundancy tag of 6 octets", names.join(" and "))
    });
    let all: Vec<String> = [once, size, stream.meter.map(rate), gate, over].into_iter().flatten().collect();
    format!("to {}{vlan}{from}: {}", show_mac(stream.to), all.join(", "))
}
