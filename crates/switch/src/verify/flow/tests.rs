use std::net::Ipv4Addr;

use proptest::prelude::*;

use super::*;
use ontick_tsn::model::{Address, Class, Classifier, Forwarding, Plane, Role, Rule, Socket};
use ontick_tsn::rules::Rules;

const NONCE: Nonce = Nonce([7, 8, 9]);

fn switch(rules: Vec<Vec<Rule>>) -> Switch {
    let class = |(queue, rules): (usize, Vec<Rule>)| Class {
        name: format!("class {queue}"),
        queue: queue as u8,
        rules,
        limit: 10,
    };
    Switch {
        name: "test".into(),
        role: Role::Bridge,
        plane: Plane::User,
        classifier: Classifier::Auto,
        socket: Socket::Packet,
        cpus: Vec::new(),
        clock: ontick_tsn::model::Clock::Tai,
        ageing_ns: 300_000_000_000,
        addresses: 100,
        stp: Default::default(),
        bridge: ontick_tsn::model::Bridge::Linux,
        forward_reserved: Default::default(),
        transparent_clock: false,
        streams: Vec::new(),
        forwarding: Forwarding::default(),
        classes: rules.into_iter().enumerate().map(class).collect(),
        ports: Vec::new(),
    }
}

fn udp_to(port: u16) -> Rule {
    Rule { ip_protocol: Some(17), to_port: Some(port), ..Rule::default() }
}

/// The checksum over a segment and its pseudo header is right if their sum is all ones.
fn transport_is_right(frame: &[u8], header: &Header) -> bool {
    let ip = header.ip.unwrap();
    let at = 14 + if header.tag.is_some() { 4 } else { 0 };
    let (addresses, segment) = if ip.to.is_some() { (at + 12..at + 20, at + 20) } else { (at + 8..at + 40, at + 40) };
    let length = (frame.len() - segment) as u32;
    let words = |octets: &[u8]| -> u64 {
        octets.chunks(2).map(|word| u64::from(word[0]) << 8 | u64::from(*word.get(1).unwrap_or(&0))).sum()
    };
    let sum = words(&frame[addresses]) + words(&frame[segment..]) + u64::from(length) + u64::from(ip.protocol);
    sum % 0xffff == 0
}

#[test]
fn source_004_s_flows() {
    let switch = switch(vec![vec![udp_to(6666)], vec![udp_to(7777)], vec![]]);
    let (flows, none) = of_all_classes(&switch, |_| 1518, NONCE);
    assert_eq!(none, []);
    assert_eq!(flows.iter().map(Flow::octets).collect::<Vec<_>>(), [1514; 3]);
    let mut frame = flows[0].frame();
    flows[0].stamp(&mut frame, 5, 1_000);
    let header = Header::read(&frame).unwrap();
    assert_eq!((header.tag, header.ip.unwrap().ports.unwrap().1), (None, 6666));
    assert!(transport_is_right(&frame, &header));
    assert_eq!(flows[0].read(&frame, 1514, 2_000), Reading::Frame(Mark { number: 5, sent_ns: 1_000 }));
    // Cut by a ring with short slots.
    assert_eq!(flows[0].read(&frame[..100], 1514, 2_000), Reading::Frame(Mark { number: 5, sent_ns: 1_000 }));
    assert_eq!(flows[0].read(&frame[..100], 1500, 2_000), Reading::Damaged);
    assert_eq!(flows[1].read(&frame, 1514, 2_000), Reading::Other);
    frame[30] ^= 1;
    assert_eq!(flows[0].read(&frame, 1514, 2_000), Reading::Damaged);
}

#[test]
fn the_shortest_frames_have_room_for_their_mark() {
    let tagged = Rule { pcp: Some(6), ..udp_to(6666) };
    let (flows, _) = of_all_classes(&switch(vec![vec![tagged], vec![]]), |_| 64, NONCE);
    // A tag comes on top, as on a real link.
    assert_eq!(flows.iter().map(Flow::octets).collect::<Vec<_>>(), [64, 60]);
}

#[test]
fn a_class_that_cannot_be_met_says_why() {
    let own = Rule { socket_priority: Some(3), ..Rule::default() };
    let udp = Rule { ip_protocol: Some(17), ..Rule::default() };
    let spanning_tree = Address { bytes: [0x01, 0x80, 0xc2, 0, 0, 0], mask: [0xff; 6] };
    let kept = Rule { to: Some(spanning_tree), ..Rule::default() };
    let (flows, none) =
        of_all_classes(&switch(vec![vec![own], vec![udp], vec![udp_to(7777)], vec![kept], vec![]]), |_| 64, NONCE);
    assert_eq!(flows.iter().map(|flow| flow.class).collect::<Vec<_>>(), [1, 4]);
    let names = ["class 0", "class 2", "class 3"].map(String::from);
    let [own, unreachable, reserved] = names;
    assert_eq!(none, [NoFlow::OwnFrames(own), NoFlow::Unreachable(unreachable), NoFlow::Reserved(reserved)]);
}

#[test]
fn a_mark_outlives_the_wrap_of_its_time() {
    let sent_ns = (5 << 40) - 10;
    let octets = Mark { number: 1 << 39, sent_ns }.octets(NONCE, 3);
    let read = |arrived_ns| Mark::read(&octets, NONCE, 3, arrived_ns).unwrap();
    assert_eq!(read(sent_ns + 20), Mark { number: 1 << 39, sent_ns });
    assert_eq!(read(sent_ns - 7), Mark { number: 1 << 39, sent_ns });
    assert_eq!(Mark::read(&octets, NONCE, 2, sent_ns), None);
    assert_eq!(Mark::read(&octets, Nonce([7, 8, 8]), 3, sent_ns), None);
}

fn rule() -> impl Strategy<Value = Rule> {
    let address = (any::<[u8; 6]>(), prop::sample::select(vec![[0xff; 6], [0xff, 0xff, 0xff, 0, 0, 0]]))
        .prop_map(|(bytes, mask)| Address { bytes, mask });
    let of_link = (
        prop::option::of(0u8..8),
        prop::option::of(0u16..4095),
        prop::option::of(prop::sample::select(vec![0x0800u16, 0x86dd, 0x88f7, 0x22f0])),
        prop::option::of(address.clone()),
        prop::option::of(address),
    );
    let of_ip = (
        prop::option::of(0u8..64),
        prop::option::of(prop::sample::select(vec![1u8, 6, 17])),
        prop::option::of(any::<u16>()),
        prop::option::of(any::<u16>()),
        prop::option::of((any::<u32>().prop_map(Ipv4Addr::from), 0u8..=32)),
    );
    (of_link, of_ip).prop_map(|((pcp, vlan, ether_type, to, from), (dscp, ip_protocol, to_port, from_port, to_ip))| {
        Rule { pcp, vlan, ether_type, to, from, dscp, ip_protocol, to_port, from_port, to_ip, socket_priority: None }
    })
}

proptest! {
    /// Whatever the rules: a flow's frames, read from their octets, belong to its class and carry their mark.
    #[test]
    fn frames_belong_to_their_class(
        rules in prop::collection::vec(prop::collection::vec(rule(), 1..3), 1..4),
        size in SIZES,
        number in 0u64..1 << 40,
        sent_ns in 0u64..1 << 60,
    ) {
        let switch = switch(rules.into_iter().chain([vec![]]).collect());
        let all = Rules::new(&switch.classes);
        let (flows, _) = of_all_classes(&switch, |_| size, NONCE);
        for flow in &flows {
            let mut frame = flow.frame();
            flow.stamp(&mut frame, number, sent_ns);
            let header = Header::read(&frame).unwrap();
            prop_assert_eq!(header, flow.header);
            prop_assert_eq!(all.queue(&header), flow.queue);
            let asked = size - CHECK + if header.tag.is_some() { 4 } else { 0 };
            prop_assert!(flow.octets() == asked || flow.octets() <= 100 && flow.octets() > asked);
            if header.ip.is_some_and(|ip| ip.ports.is_some()) {
                prop_assert!(transport_is_right(&frame, &header));
            }
            prop_assert_eq!(flow.read(&frame, frame.len(), sent_ns + 5), Reading::Frame(Mark { number, sent_ns }));
        }
    }

    /// A single rule without contradiction always has a flow.
    #[test]
    fn a_sound_rule_has_a_flow(rule in rule()) {
        let asks_ip = rule.dscp.is_some() || rule.ip_protocol.is_some() || rule.to_ip.is_some();
        let asks_ports = rule.to_port.is_some() || rule.from_port.is_some();
        let sound = match rule.ether_type {
            Some(0x0800) | None => true,
            Some(0x86dd) => rule.to_ip.is_none(),
            Some(_) => !asks_ip && !asks_ports,
        } && !(asks_ports && rule.ip_protocol == Some(1));
        let made = Flow::new(&switch(vec![vec![rule], vec![]]), 0, 64, NONCE);
        prop_assert_eq!(made.is_ok(), sound, "{:?}", made);
    }
}
