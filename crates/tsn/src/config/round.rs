//! What is written reads back as the same switch.

use std::net::Ipv4Addr;

use crate::model::Clock;
use proptest::collection::btree_map;
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::{Index, select, subsequence};

use super::values::network_mask;
use super::{read_at, write};
use crate::model::*;

const NOW_NS: u64 = 1_795_000_000_000_000_000;

fn address() -> impl Strategy<Value = Address> {
    let any_mask = any::<[u8; 6]>();
    let prefix = (0u32..=48).prop_map(|length| {
        let [_, _, mask @ ..] = (((1u64 << length) - 1) << (48 - length)).to_be_bytes();
        mask
    });
    (any::<[u8; 6]>(), prop_oneof![any_mask, prefix]).prop_map(|(bytes, mask)| {
        let mut address = Address { bytes, mask };
        address.bytes.iter_mut().zip(mask).for_each(|(byte, mask)| *byte &= mask);
        address
    })
}

fn network() -> impl Strategy<Value = (Ipv4Addr, u8)> {
    (any::<u32>(), 0u8..=32).prop_map(|(address, length)| (Ipv4Addr::from(address & network_mask(length)), length))
}

/// A rule that some frame can fit, and that no other fits the same frames as: `number` is in it.
fn rule(number: u16) -> impl Strategy<Value = Rule> {
    let layer_2 = (of(0u8..8), of(address()), of(address()), of(0u8..16));
    let protocol = prop_oneof![Just(None), Just(Some(6)), Just(Some(17)), Just(Some(132))];
    let layer_3 = (protocol, of(0u8..64), of(any::<u16>()), of(any::<u16>()), of(network()));
    (layer_2, layer_3, of(select(vec![0x0800u16, 0x86DD, 0x88F7]))).prop_map(move |(layer_2, layer_3, ether_type)| {
        let ((pcp, to, from, socket_priority), (ip_protocol, dscp, to_port, from_port, to_ip)) = (layer_2, layer_3);
        let mut rule = Rule { pcp, vlan: Some(number), to, from, socket_priority, ether_type, ..Rule::default() };
        let ports = ip_protocol != Some(132);
        if ether_type != Some(0x88F7) {
            (rule.ip_protocol, rule.dscp) = (ip_protocol, dscp);
            (rule.to_port, rule.from_port) = (to_port.filter(|_| ports), from_port.filter(|_| ports));
            rule.to_ip = to_ip.filter(|_| ether_type != Some(0x86DD));
        }
        rule
    })
}

fn class(place: usize, queue: u8, rules: usize) -> impl Strategy<Value = Class> {
    let rules: Vec<_> = (0..rules).map(|n| rule((place * 3 + n) as u16)).collect();
    (rules, 1u32..=65_536, "[a-z][a-z0-9_-]{0,8}").prop_map(move |(rules, limit, name)| {
        // No two are called the same: of 16, `y1` and `y` would be at places 1 and 11.
        Class { name: format!("{name}-{place}"), queue, rules, limit }
    })
}

fn classes() -> impl Strategy<Value = Vec<Class>> {
    let queues = subsequence((0..CLASSES as u8).collect::<Vec<_>>(), 1..=CLASSES).prop_shuffle();
    (queues, any::<Index>(), 1usize..=3).prop_flat_map(|(queues, others, rules)| {
        let others = others.index(queues.len());
        let of = |place| if place == others { 0 } else { rules };
        queues.into_iter().enumerate().map(|(place, queue)| class(place, queue, of(place))).collect::<Vec<_>>()
    })
}

/// Gates whose windows hold the largest frames of the fastest and the slowest link here.
fn gates(open: u16) -> impl Strategy<Value = Gates> {
    let entry = (any::<u16>(), 400_000u64..=u32::MAX.into());
    let entries =
        prop::collection::vec(entry.prop_map(move |(bits, for_ns)| Entry { open: bits & open, for_ns }), 1..6);
    let base = prop_oneof![Just(Base::NextSecond), (946_684_800_000_000_000..NOW_NS + 1_000).prop_map(Base::At)];
    let guard = prop_oneof![Just(Guard::None), Just(Guard::LargestFrame), (0u64..200_000).prop_map(Guard::Fixed)];
    (entries, base, guard).prop_map(|(entries, base, guard)| Gates {
        base,
        cycle_ns: entries.iter().map(|entry| entry.for_ns).sum(),
        guard,
        entries,
    })
}

fn port(place: usize, classes: usize, open: u16) -> impl Strategy<Value = Port> {
    let offload = prop_oneof![
        Just(Offload::None),
        Just(Offload::Full),
        (1..=u32::MAX).prop_map(|delay_ns| Offload::TxTime { delay_ns })
    ];
    let sizes = prop::collection::vec(of(42u32..=9_216), classes);
    // The first one's gates are always open, so that every class gets through.
    let gates = of(gates(open)).prop_map(move |gates| gates.filter(|_| place > 0));
    let rate = of(prop_oneof![1_000_000_000u64..=100_000_000_000, (10u64..1_000).prop_map(|n| n * 100_000_000)]);
    let queues = prop::collection::vec(1u8..=3, classes);
    // Together less than the slowest link here has.
    let slopes = prop::collection::vec(of((1u64..=60_000).prop_map(|n| n * 1_000)), classes);
    let preemption = of(preemption(classes));
    let all = ("[a-z][a-z0-9.@_]{0,9}", rate, offload, sizes, gates, queues, slopes, preemption);
    all.prop_map(move |(name, rate, offload, max_sdu, gates, queues, slopes, preemption)| Port {
        name: format!("{name}-{place}"),
        rate,
        offload,
        max_sdu,
        // One each is not written.
        transmit_queues: match gates.is_some() && queues.iter().any(|count| *count > 1) {
            true => queues,
            false => Vec::new(),
        },
        idle_slopes: match gates.is_none()
            && !matches!(offload, Offload::TxTime { .. })
            && slopes.iter().any(Option::is_some)
        {
            true => slopes,
            false => Vec::new(),
        },
        // One class at least is express; gates in software have none that is not.
        preemption: preemption.filter(|_| classes > 1 && (gates.is_none() || offload == Offload::Full)),
        gates,
    })
}

fn preemption(classes: usize) -> impl Strategy<Value = Preemption> {
    let some = subsequence((0..classes).collect::<Vec<_>>(), 1..classes.max(2));
    (some, of(1u32..=128), select(vec![60, 124, 188, 252])).prop_map(|(preemptible, verify, min_fragment_size)| {
        Preemption { preemptible, verify: verify.is_some(), verify_time_ms: verify.unwrap_or(10), min_fragment_size }
    })
}

prop_compose! {
    /// Of a switch with two ports at least.
    fn forwarding()(
        learning in any::<bool>(),
        flood in select(vec![None, Some(vec![]), Some(vec![0]), Some(vec![0, 1])]),
        entries in btree_map((1u8..=255, of(0u16..4095)), select(vec![vec![0], vec![1], vec![0, 1]]), 0..4),
    ) -> Forwarding {
        let entry = |((last, vlan), ports)| StaticEntry { to: [2, 0, 0, 0, 0, last], vlan, ports };
        Forwarding { learning, flood, entries: entries.into_iter().map(entry).collect() }
    }
}

fn spanning_tree() -> impl Strategy<Value = SpanningTree> {
    (0u16..16).prop_flat_map(|step| {
        let priority = BridgePriority::new(step * BridgePriority::STEP).unwrap_or_default();
        select(vec![SpanningTree::Off, SpanningTree::Stp(priority), SpanningTree::Rstp(priority)])
    })
}

fn stream_gate() -> impl Strategy<Value = StreamGate> {
    let rest = prop::collection::vec((any::<bool>(), 1..=u64::from(u32::MAX)), 0..4);
    let base = prop_oneof![Just(Base::NextSecond), (946_684_800_000_000_000..NOW_NS + 1_000).prop_map(Base::At)];
    (rest, 10_000..1_000_000u64, 1..1_000_000u64, base).prop_map(|(rest, open_ns, closed_ns, base)| {
        let both = [(true, open_ns), (false, closed_ns)];
        let entries = both.into_iter().chain(rest).map(|(open, for_ns)| StreamGateEntry { open, for_ns });
        let entries: Vec<StreamGateEntry> = entries.collect();
        StreamGate { base, cycle_ns: entries.iter().map(|entry| entry.for_ns).sum(), entries }
    })
}

/// Of a switch with two ports at least. The number is in its name and its address.
fn stream(number: u8) -> impl Strategy<Value = Stream> {
    let meter = (1u64..100_000, 9_300u32..=16_777_216).prop_map(|(rate, burst)| Meter { rate: rate * 1_000, burst });
    let ingress = select(vec![None, Some(vec![1]), Some(vec![0, 1])]);
    let eliminate = (2u32..=128, 1_000_000u64..3_600_000_000_000, 2u32..=8)
        .prop_map(|(history_length, reset_timeout_ns, paths)| Elimination { history_length, reset_timeout_ns, paths });
    let policed = (of(42u32..=9_216), of(meter), of(stream_gate()));
    let redundant = (of(eliminate), select(vec![None, Some(vec![0, 1])]));
    let parts = (any::<bool>(), of(0u16..4095), of(any::<[u8; 5]>()), ingress, policed, redundant);
    parts.prop_map(move |(has_handle, vlan, from, ingress, (max_sdu, meter, gate), (eliminate, replicate))| Stream {
        name: format!("stream-{number}"),
        handle: has_handle.then_some(u32::MAX - u32::from(number)),
        to: [2, 0, 0, 0, 1, number],
        vlan,
        from: from.map(|[b, c, d, e, f]| [2, b, c, d, e, f]),
        ingress,
        // One of them must be there.
        max_sdu: max_sdu.or((meter.is_none() && gate.is_none()).then_some(100)),
        meter,
        gate,
        eliminate,
        replicate,
    })
}

prop_compose! {
    fn switch()(classes in classes())(
        ports in (2usize..5).prop_flat_map({
            let open = classes.iter().fold(0, |open, class| open | 1 << class.queue);
            let count = classes.len();
            move |ports| (0..ports).map(|place| port(place, count, open)).collect::<Vec<_>>()
        }),
        classes in Just(classes),
        forwarding in forwarding(),
        streams in (0u8..4).prop_flat_map(|count| (0..count).map(stream).collect::<Vec<_>>()),
        name in "[a-z][a-z0-9_.]{0,14}",
        (bridge, plane, classifier) in prop_oneof![
            (Just(Bridge::Linux), select(vec![Plane::Auto, Plane::User]),
             select(vec![Classifier::Auto, Classifier::Flower, Classifier::Nft, Classifier::Iptables])),
            (select(vec![Bridge::OpenVswitch(Datapath::System), Bridge::OpenVswitch(Datapath::Netdev)]),
             Just(Plane::Kernel), select(vec![Classifier::Auto, Classifier::Flower])),
        ],
        socket in select(vec![Socket::Packet, Socket::Xdp]),
        clock in select(vec![Clock::Tai, Clock::Realtime]),
        (cpus, ageing_ns, addresses, (stp, transparent_clock), groups) in
            (prop::collection::btree_set(0u32..1_000, 0..4).prop_map(Vec::from_iter), 1_000_000_000u64..1_000_000_000_000_000, 1usize..=1 << 20, (spanning_tree(), any::<bool>()), subsequence(Reserved::GROUPS.to_vec(), 0..=5)),
    ) -> Switch {
        // Those of the kernel's data plane have limits that are not the subject here.
        let gated = |port: Port| if bridge == Bridge::Linux { port } else { Port { gates: None, transmit_queues: Vec::new(), ..port } };
        let ports = ports.into_iter().map(gated).collect();
        Switch {
            name, role: Role::Bridge, plane, bridge, classifier, socket, cpus, clock, ageing_ns, addresses, stp, transparent_clock, classes, ports,
            forward_reserved: groups.into_iter().fold(Reserved::default(), |all, (_, group)| all.with(group)),
            forwarding, streams,
        }
    }
}

proptest! {
    #[test]
    fn what_is_written_reads_back(switch in switch()) {
        let text = write(&switch);
        match read_at(&text, NOW_NS) {
            Ok(parsed) => prop_assert_eq!(parsed.switch, switch, "{}", text),
            Err(errors) => prop_assert!(false, "{errors}\n{text}"),
        }
    }

    #[test]
    fn no_text_ends_the_program(text in "(?s).{0,300}") {
        let _ = read_at(&text, NOW_NS);
    }
}
