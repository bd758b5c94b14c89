//! Which frame to send so that the rules give it to a class.

use std::net::Ipv4Addr;

use super::NoFlow;
use ontick_tsn::frame::{Header, Ip, Tag};
use ontick_tsn::model::{Address, Rule, Switch};
use ontick_tsn::rules::Rules;

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
/// For experiments (IEEE 802.1Q clause H.1).
const EXPERIMENT: u16 = 0x88b5;
const UDP: u8 = 17;
const TCP: u8 = 6;
/// For experiments (RFC 3692).
const EXPERIMENT_PROTOCOL: u8 = 253;
/// Locally administered addresses.
const TO: [u8; 6] = [0x02, 0x6f, 0x6e, 0x74, 0x00, 0x20];
const FROM: [u8; 6] = [0x02, 0x6f, 0x6e, 0x74, 0x00, 0x10];
/// The network for tests of devices (RFC 2544).
const TO_IP: Ipv4Addr = Ipv4Addr::new(198, 19, 0, 1);
/// Ports that no rule is likely to name.
const FROM_PORT: u16 = 49_152;
const TO_PORTS: [u16; 3] = [49_160, 49_170, 9];

/// A header that the rules give to this class: by its first rule, if any of its rules can be met.
pub fn header(switch: &Switch, class: usize) -> Result<Header, NoFlow> {
    let wanted = &switch.classes[class];
    let own = [Rule::default()];
    let rules = if wanted.rules.is_empty() { &own[..] } else { &wanted.rules };
    if rules.iter().all(|rule| rule.socket_priority.is_some()) {
        return Err(NoFlow::OwnFrames(wanted.name.clone()));
    }
    let all = Rules::new(&switch.classes);
    let found = |header: &Header| all.queue(header) == wanted.queue;
    let candidates = || rules.iter().flat_map(|rule| plain(class).flat_map(move |header| shaped(rule, header)));
    match candidates().find(|header| found(header) && !header.is_reserved()) {
        Some(header) => Ok(header),
        None if candidates().any(|header| found(&header)) => Err(NoFlow::Reserved(wanted.name.clone())),
        None => Err(NoFlow::Unreachable(wanted.name.clone())),
    }
}

/// Headers that differ in all that a rule may leave open, the plainest first.
fn plain(class: usize) -> impl Iterator<Item = Header> {
    let tags = || [None].into_iter().chain((0..8).flat_map(|pcp| [0, 100].map(|vlan| Some(Tag { pcp, vlan }))));
    let kinds = [(IPV4, UDP), (IPV4, TCP), (IPV4, EXPERIMENT_PROTOCOL), (IPV6, UDP), (EXPERIMENT, 0)];
    let addresses = || [0, 1].map(|multicast| (multicast, TO_PORTS[usize::from(multicast)]));
    let of = move |tag, (ether_type, protocol): (u16, u8), dscp, multicast: u8, to_port| {
        let (mut to, mut from) = (TO, FROM);
        (to[5], from[5]) = (to[5] + class as u8, from[5] + class as u8);
        to[0] |= multicast;
        let ports = [UDP, TCP].contains(&protocol).then_some((FROM_PORT + class as u16, to_port + class as u16));
        let ip = Ip { dscp, protocol, to: (ether_type == IPV4).then_some(TO_IP), ports };
        Header { to, from, tag, sequence: None, ether_type, ip: (ether_type != EXPERIMENT).then_some(ip) }
    };
    // What changes fastest comes last.
    addresses().into_iter().flat_map(move |(multicast, to_port)| {
        (0..64)
            .flat_map(move |dscp| tags().flat_map(move |tag| kinds.map(|kind| of(tag, kind, dscp, multicast, to_port))))
    })
}

/// The header with all that a rule asks for; nothing where the two do not go together.
fn shaped(rule: &Rule, mut header: Header) -> Option<Header> {
    let Rule { pcp, vlan, ether_type, to, from, dscp, ip_protocol, to_port, from_port, to_ip, socket_priority: _ } =
        *rule;
    if pcp.is_some() || vlan.is_some() {
        let tag = header.tag.unwrap_or(Tag { pcp: 0, vlan: 0 });
        header.tag = Some(Tag { pcp: pcp.unwrap_or(tag.pcp), vlan: vlan.unwrap_or(tag.vlan) });
    }
    header.to = to.map_or(header.to, |address| masked(address, header.to));
    header.from = from.map_or(header.from, |address| masked(address, header.from));
    if let Some(ether_type) = ether_type.filter(|ether_type| *ether_type != header.ether_type) {
        header.ether_type = ether_type;
        match (ether_type, &mut header.ip) {
            (IPV4, Some(ip)) => ip.to = Some(TO_IP),
            (IPV6, Some(ip)) => ip.to = None,
            (IPV4 | IPV6, None) => return None,
            _ => header.ip = None,
        }
    }
    let Some(ip) = header.ip.as_mut() else { return (!rule.is_of_ip()).then_some(header) };
    ip.dscp = dscp.unwrap_or(ip.dscp);
    if let Some(protocol) = ip_protocol {
        ip.protocol = protocol;
        ip.ports = [UDP, TCP].contains(&protocol).then(|| ip.ports.unwrap_or((FROM_PORT, TO_PORTS[0])));
    }
    if rule.has_ports() {
        let ports = ip.ports?;
        ip.ports = Some((from_port.unwrap_or(ports.0), to_port.unwrap_or(ports.1)));
    }
    if let Some((net, length)) = to_ip {
        let own = u32::from(ip.to?);
        let mask = u32::MAX.checked_shl(32 - u32::from(length.min(32))).unwrap_or(0);
        ip.to = Some(Ipv4Addr::from(u32::from(net) & mask | own & !mask));
    }
    Some(header)
}

fn masked(address: Address, own: [u8; 6]) -> [u8; 6] {
    std::array::from_fn(|i| address.bytes[i] & address.mask[i] | own[i] & !address.mask[i])
}
