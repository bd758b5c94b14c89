//! The kernel's bridge: it forwards only once everything else is in place.

use crate::apply::{Act, Expect, Iface, Link, Step, Undo};
use crate::model::Switch;

/// Hundredths of a second.
const TICK_NS: u64 = 10_000_000;

/// Makes the bridge, still switched off.
pub(super) fn make(switch: &Switch, links: &[Link]) -> Step {
    let name = &switch.name;
    // A number of our own choice, so that what is removed later can only be what was made here.
    let index = links.iter().map(|link| link.index).max().unwrap_or(0) + 1;
    let words = format!(
        "ip link add name {name} index {index} type bridge stp_state {} ageing_time {} mcast_snooping 0",
        u8::from(switch.stp),
        switch.ageing_ns / TICK_NS
    );
    Step::new(format!("bridge {name}"))
        .undo(Undo::Bridge { bridge: Iface { name: name.clone(), index } })
        .act(Act::run(words))
        .expect(Expect::Bridge { bridge: name.clone() })
}

/// Puts a port into it.
pub(super) fn join(switch: &Switch, link: &Link) -> Step {
    let (port, bridge) = (Iface::from(link), switch.name.clone());
    Step::of(&port.name, format!("into bridge {bridge}"))
        .act(Act::run(format!("ip link set dev {} master {bridge}", port.name)))
        .undo(Undo::Released { port: port.clone(), bridge: bridge.clone() })
        .expect(Expect::In { port: port.name, bridge })
}

/// Switches it on.
pub(super) fn start(switch: &Switch) -> Step {
    let name = switch.name.clone();
    Step::new(format!("bridge {name}: on"))
        .act(Act::run(format!("ip link set dev {name} up")))
        .expect(Expect::Up { port: name })
}
