//! tc-flower(8) and `skbedit` at the way out of each port: sees every frame, bridged or the machine's own.

use super::{ClassifierInput, mac, words};
use crate::apply::{Act, Expect, FIRST_PREFERENCE, Hook, Host, Iface, Step, Undo};
use crate::kernel::hook::filters_step;
use ontick_tsn::model::{Address, Rule};

pub(super) fn steps(host: &impl Host, wanted: &ClassifierInput) -> Result<Vec<Step>, String> {
    let mut filters = Vec::new();
    for (rule, priority, class) in wanted.rules() {
        if rule.socket_priority.is_some() {
            return Err(format!(
                "class {class}: flower does not look at a socket's priority; write it as a rule of its own"
            ));
        }
        filters.extend(matches(rule).into_iter().map(|keys| (keys, priority)));
    }
    wanted.ports.iter().map(|port| on_port(host, &Iface::from(port), &filters)).collect()
}

fn on_port(host: &impl Host, port: &Iface, filters: &[(String, u8)]) -> Result<Step, String> {
    let name = &port.name;
    let preferences: Vec<u16> = (FIRST_PREFERENCE..).take(filters.len()).collect();
    let undo = Undo::Filters { port: port.clone(), preferences: preferences.clone() };
    let step = Step::of(name, "frames get their class (tc flower)");
    let mut step = filters_step(host, step, (port, Hook::Egress), &preferences, &[], undo)?;
    let mut expected = Vec::new();
    for (preference, (keys, priority)) in preferences.into_iter().zip(filters) {
        let command =
            format!("tc filter add dev {name} egress pref {preference} {keys} action skbedit priority 0:{priority:x}");
        step = step.act(Act::run(command));
        expected.push((preference, *priority));
    }
    Ok(step.expect(Expect::Filters { port: name.clone(), filters: expected }))
}

/// `protocol … flower …` for every kind of frame that a rule fits: flower looks for one EtherType at a time, and
/// elsewhere for it where there is a tag.
fn matches(rule: &Rule) -> Vec<String> {
    // All parts are named: a new one has its words here, or is refused as a socket's priority is.
    let Rule { pcp, vlan, ether_type, to, from, dscp, ip_protocol: _, to_port, from_port, to_ip, socket_priority: _ } =
        rule;
    let tag = words([vlan.map(|vlan| format!(" vlan_id {vlan}")), pcp.map(|pcp| format!(" vlan_prio {pcp}"))]);
    let addresses = words([address("dst_mac", *to), address("src_mac", *from)]);
    if !rule.is_of_ip() {
        return match ether_type {
            Some(ether_type) => plain_and_tagged(rule, &format!("{ether_type:#06x}"), &tag, &addresses),
            None if tag.is_empty() => vec![format!("protocol all flower{addresses}")],
            None => vec![format!("protocol 802.1Q flower{tag}{addresses}")],
        };
    }
    let packet = words([
        dscp.map(|dscp| format!(" ip_tos {:#04x}/0xfc", dscp << 2)),
        to_ip.map(|(address, length)| format!(" dst_ip {address}/{length}")),
        to_port.map(|port| format!(" dst_port {port}")),
        from_port.map(|port| format!(" src_port {port}")),
    ]);
    let mut all = Vec::new();
    for version in rule.versions() {
        for protocol in rule.protocols() {
            let ether_type = if version == 4 { "ip" } else { "ipv6" };
            let keys = format!("{addresses}{}{packet}", ip_proto(protocol));
            all.extend(plain_and_tagged(rule, ether_type, &tag, &keys));
        }
    }
    all
}

fn plain_and_tagged(rule: &Rule, ether_type: &str, tag: &str, keys: &str) -> Vec<String> {
    let tagged = format!("protocol 802.1Q flower{tag} vlan_ethtype {ether_type}{keys}");
    let plain = format!("protocol {ether_type} flower{keys}");
    if rule.pcp.is_some() || rule.vlan.is_some() { vec![tagged] } else { vec![plain, tagged] }
}

fn address(key: &str, address: Option<Address>) -> Option<String> {
    address.map(|address| format!(" {key} {}/{}", mac(&address.bytes), mac(&address.mask)))
}

fn ip_proto(protocol: Option<u8>) -> String {
    match protocol {
        None => String::new(),
        Some(6) => " ip_proto tcp".into(),
        Some(17) => " ip_proto udp".into(),
        Some(other) => format!(" ip_proto {other:#04x}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_looked_for_wherever_it_can_be() {
        let rule = Rule { ip_protocol: Some(17), to_port: Some(7777), ..Rule::default() };
        let expected = [
            "protocol ip flower ip_proto udp dst_port 7777",
            "protocol 802.1Q flower vlan_ethtype ip ip_proto udp dst_port 7777",
            "protocol ipv6 flower ip_proto udp dst_port 7777",
            "protocol 802.1Q flower vlan_ethtype ipv6 ip_proto udp dst_port 7777",
        ];
        assert_eq!(matches(&rule), expected);
        assert_eq!(matches(&Rule { ip_protocol: None, ..rule.clone() }).len(), 8);
        assert_eq!(matches(&Rule { ip_protocol: Some(1), ..rule.clone() }), [""; 0]);
        assert_eq!(matches(&Rule { ether_type: Some(0x0806), ..rule }), [""; 0]);
    }

    #[test]
    fn a_tag_and_an_address() {
        let rule = Rule { pcp: Some(5), vlan: Some(0), ..Rule::default() };
        assert_eq!(matches(&rule), ["protocol 802.1Q flower vlan_id 0 vlan_prio 5"]);
        let rule = Rule { ether_type: Some(0x88f7), ..rule };
        assert_eq!(matches(&rule), ["protocol 802.1Q flower vlan_id 0 vlan_prio 5 vlan_ethtype 0x88f7"]);
        let to = Some(Address { bytes: [1, 0x1b, 0x19, 0, 0, 0], mask: [0xff, 0xff, 0xff, 0, 0, 0] });
        let rule = Rule { to, ..Rule::default() };
        assert_eq!(matches(&rule), ["protocol all flower dst_mac 01:1b:19:00:00:00/ff:ff:ff:00:00:00"]);
        let rule = Rule { dscp: Some(46), to_ip: Some(([10, 0, 0, 0].into(), 8)), pcp: Some(1), ..Rule::default() };
        let expected = ["protocol 802.1Q flower vlan_prio 1 vlan_ethtype ip ip_tos 0xb8/0xfc dst_ip 10.0.0.0/8"];
        assert_eq!(matches(&rule), expected);
    }
}
