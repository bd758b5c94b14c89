//! A switch to begin with.

use ontick_tsn::model::{Class, Classifier, Forwarding, Offload, Plane, Port, Role, Socket, Switch};

/// A bridge of these ports without gates.
pub fn switch(ports: &[&str], rate: Option<u64>, classes: Vec<Class>) -> Switch {
    let port = |name: &&str| Port {
        name: name.to_string(),
        rate,
        offload: Offload::None,
        transmit_queues: Vec::new(),
        idle_slopes: Vec::new(),
        preemption: None,
        max_sdu: vec![None; classes.len()],
        gates: None,
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
        addresses: 64,
        stp: Default::default(),
        bridge: ontick_tsn::model::Bridge::Linux,
        forward_reserved: Default::default(),
        transparent_clock: false,
        streams: Vec::new(),
        forwarding: Forwarding::default(),
        ports: ports.iter().map(port).collect(),
        classes,
    }
}
