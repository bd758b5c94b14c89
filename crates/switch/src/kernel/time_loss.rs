//! What becomes of a switch in the kernel when the network's time is lost (`on-time-loss` of a network's file).
//!
//! Open: each list has one entry, in which all gates are open. Closed: the bridge's ports forward nothing. Gates that are closed
//! would keep ptp4l's own messages, too, which leave by the same queues, and the time would never come back.

use ontick_tsn::model::{Bridge, GateOverride, Role, SpanningTree, Switch};

use super::gates;
use crate::apply::{Act, Difference, Expect, Link, Plan, SwitchDir};
use crate::qdisc::Taprio;

/// Length of the only entry: a frame of 1518 octets has room in it at 1 Mbit/s.
const ENTRY_NS: u64 = 20_000_000;
/// States of a bridge's port (linux/if_bridge.h). Without a spanning tree the kernel has one that blocks forward again at once.
const DISABLED: u8 = 0;
const FORWARDING: u8 = 3;

/// Why the switch goes on by its lists although its ports should forward nothing, if it does.
pub fn not_stopped(switch: &Switch) -> Option<&'static str> {
    match switch {
        Switch { role: Role::Station, .. } => Some("a station forwards nothing, and its own frames follow their lists"),
        Switch { bridge: Bridge::OpenVswitch(_), .. } => Some("Open vSwitch goes on forwarding"),
        Switch { stp: SpanningTree::Stp(_) | SpanningTree::Rstp(_), .. } => {
            Some("the spanning tree says which ports forward")
        }
        _ => None,
    }
}

/// What the gates of a switch are in place of their lists, if `ontick switch run` keeps it.
pub fn in_force(folder: &SwitchDir, switch: &Switch) -> Option<GateOverride> {
    let has_gates = switch.ports.iter().any(|port| port.gates.is_some());
    let can = |to: &GateOverride| *to == GateOverride::Open || not_stopped(switch).is_none();
    folder.time_loss().filter(|to| has_gates && can(to) && folder.is_watched())
}

/// The plan of a switch with its gates so.
pub fn forced(plan: &Plan, to: GateOverride) -> Plan {
    let mut plan = plan.clone();
    if to == GateOverride::Closed {
        return plan;
    }
    for step in &mut plan.steps {
        for expect in &mut step.expects {
            let Expect::Taprio { port, taprio } = expect else { continue };
            let list = gates::replace(port, taprio);
            *taprio = opened(taprio);
            let open = gates::replace(port, taprio);
            step.acts.iter_mut().filter(|act| **act == list).for_each(|act| *act = open.clone());
        }
    }
    plan
}

fn opened(list: &Taprio) -> Taprio {
    let all = list.queues.iter().enumerate().fold(0, |mask, (class, _)| mask | 1 << class);
    // From a time that is past: it takes the list's place at once.
    Taprio { base_ns: 0, cycle_ns: ENTRY_NS, entries: vec![(all, ENTRY_NS)], ..list.clone() }
}

/// Lets a port of the bridge forward, or not.
pub(super) fn forward(port: &str, on: bool) -> Act {
    Act::run(format!("bridge link set dev {port} state {}", if on { FORWARDING } else { DISABLED }))
}

/// Ports that forward nothing although they have a link; without a spanning tree nobody else has them so.
pub(super) fn stopped(switch: &Switch, links: &[Link]) -> Vec<String> {
    let is_stopped = |link: &&Link| {
        not_stopped(switch).is_none()
            && link.is_up()
            && link.has_carrier()
            && link.info.bridge_port.state.as_deref() == Some("disabled")
            && switch.ports.iter().any(|port| port.name == link.name)
    };
    links.iter().filter(is_stopped).map(|link| link.name.clone()).collect()
}

/// What is said of such a port while no time is lost: who had stopped it is gone.
pub(super) fn still_stopped(port: String) -> Difference {
    let said = "forwards nothing since its keeper was killed while the network's time was lost";
    Difference { place: port, said: said.into(), gone: false }
}

#[cfg(test)]
mod tests {
    use ontick_tsn::model::BridgePriority;

    use super::super::paper::{PAPER, article, commands};
    use super::super::plan;
    use super::*;

    #[test]
    fn open_gates_take_the_list_s_place_wherever_it_is_set() {
        let planned = plan(&PAPER, &article(), 0).unwrap();
        let lists = |plan: &Plan| {
            commands(plan).iter().filter(|command| command.contains("taprio")).cloned().collect::<Vec<_>>()
        };
        let open = forced(&planned, GateOverride::Open);
        assert_eq!(lists(&planned).len(), lists(&open).len());
        let entry = "base-time 0 cycle-time 20000000 sched-entry S 03 20000000 clockid CLOCK_TAI";
        assert!(lists(&open).iter().all(|command| command.contains(entry)), "{:#?}", lists(&open));
        // All else is as it was.
        let others =
            |plan: &Plan| commands(plan).into_iter().filter(|command| !command.contains("taprio")).collect::<Vec<_>>();
        assert_eq!(others(&planned), others(&open));
        assert_eq!(forced(&planned, GateOverride::Closed).steps, planned.steps);
    }

    #[test]
    fn ports_stop_where_the_bridge_is_ontick_s_alone() {
        assert_eq!(not_stopped(&article()), None);
        for switch in [
            Switch { role: Role::Station, ..article() },
            Switch { stp: SpanningTree::Stp(BridgePriority::default()), ..article() },
            Switch { bridge: Bridge::OpenVswitch(ontick_tsn::model::Datapath::System), ..article() },
        ] {
            assert!(not_stopped(&switch).is_some(), "{switch:?}");
        }
    }
}
