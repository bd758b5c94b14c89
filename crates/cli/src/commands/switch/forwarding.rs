//! How a switch finds the ports of frames, in words.

use ontick_tsn::config::show_mac;
use ontick_tsn::model::StaticEntry;
use ontick_tsn::model::Switch;

/// Entries that are shown; of more, the number.
const EACH: usize = 16;

/// Nothing where all is as usual: addresses are learned, and what is unknown goes to all ports.
pub fn text(switch: &Switch) -> String {
    let forwarding = &switch.forwarding;
    let names = |ports: &[usize]| {
        let names: Vec<&str> = ports.iter().map(|port| switch.ports[*port].name.as_str()).collect();
        names.join(", ")
    };
    let entry = |entry: &StaticEntry| {
        let vlan = entry.vlan.map_or(String::new(), |vlan| format!(" vlan {vlan}"));
        format!("forward   {}{vlan} to {}\n", show_mac(entry.to), names(&entry.ports))
    };
    let mut text: String = forwarding.entries.iter().take(EACH).map(entry).collect();
    if let Some(more @ 1..) = forwarding.entries.len().checked_sub(EACH) {
        text += &format!("forward   and {more} more static entries\n");
    }
    match forwarding.flood.as_deref() {
        None => {}
        Some([]) => text += "flood     no port: frames without a static entry are dropped\n",
        Some(ports) => {
            text += &format!("flood     {}; other ports carry frames with a static entry only\n", names(ports))
        }
    }
    if !forwarding.learning {
        text += "learning  off\n";
    }
    text
}
