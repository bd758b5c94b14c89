//! Flows: the first table gives a frame the queue of its class, the second one forwards it.

use std::fmt;

use ontick_tsn::model::{Address, Rule, Switch};

use super::super::classify::{ClassifierInput, mac, words};

/// The first cookie; each flow has one of its own, so that it is known again.
const COOKIE: u64 = 0xa100_0000;
/// The priority of the first rule.
const FIRST: u16 = 60_000;
/// The table that forwards.
const FORWARD: u8 = 1;
/// Whether the frame has a tag, in the tag's own bits as OpenFlow shows them.
const TAGGED: u16 = 0x1000;

/// One flow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flow {
    /// By which it is known again.
    pub cookie: u64,
    /// The queue of Open vSwitch that it sets: the kernel's datapath makes of it the priority above it.
    pub queue: Option<u8>,
    /// Table, priority and what it matches.
    matches: String,
    /// What it does after that.
    actions: String,
}

impl fmt::Display for Flow {
    /// As `ovs-ofctl add-flow` takes it.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let queue = self.queue.map_or(String::new(), |queue| format!("set_queue:{queue},"));
        write!(f, "cookie={:#x},{},actions={queue}{}", self.cookie, self.matches, self.actions)
    }
}

/// All flows of a switch's bridge.
pub(in super::super) fn flows(wanted: &ClassifierInput) -> Result<Vec<Flow>, String> {
    let mut all = Vec::new();
    let mut add = |queue, matches: String, actions: String| {
        let cookie = COOKIE + all.len() as u64;
        all.push(Flow { cookie, queue, matches, actions });
    };
    let mut priorities = (1..=FIRST).rev();
    for (rule, priority, class) in wanted.rules() {
        if rule.socket_priority.is_some() {
            return Err(format!(
                "class {class}: Open vSwitch does not look at a socket's priority; write it as a rule of its own"
            ));
        }
        for keys in matches(rule) {
            let Some(rank) = priorities.next() else { return Err(format!("class {class}: more rules than flows")) };
            let queue = priority.checked_sub(1);
            add(queue, format!("table=0,priority={rank}{keys}"), format!("resubmit(,{FORWARD})"));
        }
    }
    add(None, "table=0,priority=0".into(), format!("resubmit(,{FORWARD})"));
    for (matches, actions) in forwarding(wanted.switch) {
        add(None, format!("table={FORWARD},priority={matches}"), actions);
    }
    Ok(all)
}

fn forwarding(switch: &Switch) -> Vec<(String, String)> {
    let forwarding = &switch.forwarding;
    let name = |place: &usize| format!("\"{}\"", switch.ports[*place].name);
    let mut all = Vec::new();
    for entry in &forwarding.entries {
        let to = mac(&entry.to);
        let outputs: Vec<String> = entry.ports.iter().map(|place| format!("output:{}", name(place))).collect();
        let matches = match entry.vlan {
            None => format!("90,dl_dst={to}"),
            // Of no VLAN are frames without a tag, and those that have one for its priority alone.
            Some(0) => format!("100,dl_dst={to},vlan_tci=0x0000/0x0fff"),
            Some(vlan) => format!("100,dl_dst={to},vlan_tci={:#06x}/0x1fff", TAGGED | vlan),
        };
        all.push((matches, outputs.join(",")));
    }
    let flood = forwarding.flood.as_ref();
    let closed = (0..switch.ports.len()).filter(|place| flood.is_some_and(|flood| !flood.contains(place)));
    all.extend(closed.map(|place| (format!("80,in_port={}", name(&place)), "drop".to_owned())));
    let reserved = (0..16u8).filter(|last| switch.forward_reserved.contains(*last));
    all.extend(reserved.map(|last| (format!("70,dl_dst=01:80:c2:00:00:{last:02x}"), "flood".to_owned())));
    all.push(("0".into(), if forwarding.learning { "normal" } else { "flood" }.into()));
    all
}

/// What a rule looks at, with a comma before it; with both versions of IP where it looks into them.
fn matches(rule: &Rule) -> Vec<String> {
    // All parts are named: a new one has its words here, or is refused as a socket's priority is.
    let Rule { pcp, vlan, ether_type, to, from, dscp, ip_protocol: _, to_port, from_port, to_ip, socket_priority: _ } =
        rule;
    let common = words([tag(*pcp, *vlan), address("dl_dst", *to), address("dl_src", *from)]);
    let of_type = |ether_type: u16| format!("{common},dl_type={ether_type:#06x}");
    if !rule.is_of_ip() {
        return vec![ether_type.map_or(common.clone(), of_type)];
    }
    let mut all = Vec::new();
    for version in rule.versions() {
        for protocol in rule.protocols() {
            let packet = words([
                dscp.map(|dscp| format!(",ip_dscp={dscp}")),
                protocol.map(|protocol| format!(",nw_proto={protocol}")),
                to_ip.map(|(address, length)| format!(",nw_dst={address}/{length}")),
                to_port.map(|port| format!(",tp_dst={port}")),
                from_port.map(|port| format!(",tp_src={port}")),
            ]);
            all.push(of_type(if version == 4 { 0x0800 } else { 0x86dd }) + &packet);
        }
    }
    all
}

fn tag(pcp: Option<u8>, vlan: Option<u16>) -> Option<String> {
    if pcp.is_none() && vlan.is_none() {
        return None;
    }
    let bits = TAGGED | pcp.map_or(0, |pcp| u16::from(pcp) << 13) | vlan.unwrap_or(0);
    let mask = TAGGED | pcp.map_or(0, |_| 0xe000) | vlan.map_or(0, |_| 0x0fff);
    Some(format!(",vlan_tci={bits:#06x}/{mask:#06x}"))
}

fn address(key: &str, address: Option<Address>) -> Option<String> {
    address.map(|Address { bytes, mask }| {
        let masked: [u8; 6] = std::array::from_fn(|i| bytes[i] & mask[i]);
        format!(",{key}={}/{}", mac(&masked), mac(&mask))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_as_openflow_matches() {
        let rule = Rule { ip_protocol: Some(17), to_port: Some(7777), ..Rule::default() };
        let both = [",dl_type=0x0800,nw_proto=17,tp_dst=7777", ",dl_type=0x86dd,nw_proto=17,tp_dst=7777"];
        assert_eq!(matches(&rule), both);
        assert_eq!(matches(&Rule { ip_protocol: None, ..rule.clone() }).len(), 4);
        assert_eq!(matches(&Rule { ether_type: Some(0x0806), ..rule }), [""; 0]);
        let rule = Rule { pcp: Some(6), ..Rule::default() };
        assert_eq!(matches(&rule), [",vlan_tci=0xd000/0xf000"]);
        let rule = Rule { vlan: Some(0), ..Rule::default() };
        assert_eq!(matches(&rule), [",vlan_tci=0x1000/0x1fff"]);
        let to = Some(Address { bytes: [1, 0x1b, 0x19, 7, 0, 0], mask: [0xff, 0xff, 0xff, 0, 0, 0] });
        let rule = Rule { to, ether_type: Some(0x88f7), pcp: Some(5), vlan: Some(100), ..Rule::default() };
        let expected = ",vlan_tci=0xb064/0xffff,dl_dst=01:1b:19:00:00:00/ff:ff:ff:00:00:00,dl_type=0x88f7";
        assert_eq!(matches(&rule), [expected]);
    }
}
