//! What tests have in common.

use ontick_rt::clock::ClockId;

use crate::model::{Base, Class, Classifier, Entry, Gates, Guard, Offload, Plane, Port, Role, Rule, Switch};

/// Source 004's switch: blue UDP to 6666 for 800 us, red UDP to 7777 for 200 us; without gates if there is no base.
pub fn article(base: Option<Base>) -> Switch {
    let class = |name: &str, queue, port: u16| Class {
        name: name.into(),
        queue,
        rules: vec![Rule { ip_protocol: Some(17), to_port: Some(port), ..Rule::default() }],
        limit: 1_000,
    };
    let entries = [(1, 800_000), (2, 200_000)].map(|(open, for_ns)| Entry { open, for_ns });
    let gates = base.map(|base| Gates { base, cycle_ns: 1_000_000, guard: Guard::None, entries: entries.into() });
    let port = |name: &str, gates| Port {
        name: name.into(),
        rate: Some(1_000_000_000),
        offload: Offload::None,
        max_sdu: vec![None; 2],
        gates,
    };
    Switch {
        name: "article".into(),
        role: Role::Bridge,
        plane: Plane::User,
        classifier: Classifier::Auto,
        cpu: None,
        clock: ClockId::Tai,
        ageing_ns: 300_000_000_000,
        addresses: 1_024,
        stp: false,
        classes: vec![class("blue", 0, 6666), class("red", 1, 7777)],
        ports: vec![port("port1", None), port("port2", gates)],
    }
}
