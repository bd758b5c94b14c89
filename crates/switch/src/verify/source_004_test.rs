//! The switch of source 004's "A Small Test".

use ontick_tsn::model::{
    Base, Class, Classifier, Entry, Forwarding, Gates, Guard, Offload, Plane, Port, Role, Rule, Socket, Switch,
};

/// The bits per second of its links.
pub const RATE: u64 = 1_000_000_000;
/// The part of the cycle that red has.
pub const RED: u64 = 5;
/// Frames that may wait in a queue: more than come in during a cycle of 10 ms.
const LIMIT: u32 = 1_000;

/// Two ports. What leaves by the second has gates: UDP to port 6666 (blue) has four fifths of the cycle, UDP to port 7777
/// (red), and whatever else there is, the last fifth.
pub fn switch(cycle_ns: u64, guard: Guard) -> Switch {
    let class = |name: &str, queue, to_port: Option<u16>| Class {
        name: name.into(),
        queue,
        rules: to_port
            .map(|to_port| Rule { ip_protocol: Some(17), to_port: Some(to_port), ..Rule::default() })
            .into_iter()
            .collect(),
        limit: LIMIT,
    };
    let port = |name: &str, gates| Port {
        name: name.into(),
        rate: Some(RATE),
        offload: Offload::None,
        transmit_queues: Vec::new(),
        idle_slopes: Vec::new(),
        preemption: None,
        max_sdu: vec![None; 3],
        gates,
    };
    let blue_ns = cycle_ns / RED * (RED - 1);
    let entries = vec![Entry { open: 0b001, for_ns: blue_ns }, Entry { open: 0b110, for_ns: cycle_ns - blue_ns }];
    Switch {
        name: "demo".into(),
        role: Role::Bridge,
        plane: Plane::Auto,
        classifier: Classifier::Auto,
        socket: Socket::Packet,
        cpus: Vec::new(),
        clock: ontick_tsn::model::Clock::Tai,
        ageing_ns: 300_000_000_000,
        addresses: 1_024,
        stp: Default::default(),
        bridge: ontick_tsn::model::Bridge::Linux,
        forward_reserved: Default::default(),
        transparent_clock: false,
        streams: Vec::new(),
        forwarding: Forwarding::default(),
        classes: vec![class("blue", 0, Some(6666)), class("red", 1, Some(7777)), class("other", 2, None)],
        ports: vec![
            port("port1", None),
            port("port2", Some(Gates { base: Base::NextSecond, cycle_ns, guard, entries })),
        ],
    }
}
