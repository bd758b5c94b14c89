//! What the planner writes, the core carries: its gates in virtual time, with frames that come as planned.

use super::*;
use ontick_tsn::egress::{DataPlane, EgressTiming};
use ontick_tsn::model::Base;
use ontick_tsn::network::{Kind, Network, samples};
use ontick_tsn::planning::nodes::{Form, MOST_ENTRIES, switches};
use ontick_tsn::planning::{Outcome, PlacedHop, PlanOptions, Timetable, gate_control_list, plan};

/// Cycles that are looked at.
const CYCLES: u64 = 3;
/// The first of them begins.
const BEGIN_NS: u64 = 1_000_000_000;

/// A frame that comes to a switch, and when it may leave.
struct Due {
    comes_ns: u64,
    opens_ns: u64,
    closes_ns: u64,
    frame: Vec<u8>,
}

/// A plane at least as slow as the core assumes until it has measured.
fn timing() -> impl Strategy<Value = EgressTiming> {
    let least_ns = HANDING_OVER_NS + egress_port::LOOK_NS;
    let times = (500u64..3_000, 500u64..3_000, 0u64..1_000)
        .prop_map(move |(hand, spread, guard)| (hand, spread.max(least_ns.saturating_sub(hand)), guard));
    times.prop_map(|(hand_over_ns, spread_ns, guard_ns)| EgressTiming {
        hand_over_ns,
        spread_ns,
        spacing_ns: hand_over_ns + spread_ns,
        guard_ns,
        ..DataPlane::User.defaults()
    })
}

fn planned(network: &Network) -> Option<Timetable> {
    let steps = std::cell::Cell::new(0);
    let go_on = || {
        steps.set(steps.get() + 1);
        steps.get() < 200
    };
    match plan(network, &PlanOptions::default(), &Timetable::default(), &go_on) {
        Outcome::Planned(table) => Some(table),
        _ => None,
    }
}

/// Frames of all messages that leave a switch by one of its links, in the order in which they come.
fn due(network: &Network, table: &Timetable, link: usize, late: &mut impl FnMut(u64) -> u64) -> Vec<Due> {
    let mut due = Vec::new();
    for placed in table.placed.iter().flatten() {
        let of = &network.streams[placed.stream];
        let Some(hop) = placed.hops.iter().find(|hop| hop.link == link) else { continue };
        let PlacedHop { arrives_ns, begin_ns, end_ns, .. } = *hop;
        let octets = of.size as usize + 18;
        for n in 0..CYCLES * 1_000_000 / of.period_ns {
            let at_ns = BEGIN_NS + n * of.period_ns;
            let number = (placed.stream as u32) << 16 | n as u32;
            due.push(Due {
                comes_ns: at_ns.saturating_add_signed(arrives_ns)
                    + late(begin_ns.saturating_add_signed(-arrives_ns) + 1),
                opens_ns: at_ns + begin_ns,
                closes_ns: at_ns + end_ns,
                frame: frame(1, 2, placed.queue, number, octets),
            });
        }
    }
    due.sort_by_key(|due| due.comes_ns);
    due
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Every frame leaves in its own window, whatever handing over takes of what was planned with; none finds no window.
    #[test]
    fn what_is_planned_for_the_user_plane_passes_the_core(
        streams in 1usize..30,
        timing in timing(),
        seed in 1u64..u64::MAX,
        ahead_ns in 0u64..400,
    ) {
        let mut network = samples::ring(3, streams);
        network.streams.iter_mut().for_each(|stream| {
            stream.period_ns = stream.period_ns.max(1_000_000);
            stream.deadline_ns = stream.period_ns;
        });
        let network = network.timed(timing);
        let Some(table) = planned(&network) else { return Ok(()) };
        let schedule = gate_control_list::schedule(&network, &table).unwrap();
        let form = Form {
            base: Base::At(BEGIN_NS),
            guard_bands: false,
            most_entries: MOST_ENTRIES,
            shortest_ns: 1,
            plane: Some(DataPlane::User),
        };
        let mut chance = seed;
        let mut below = move |most: u64| {
            chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (chance >> 33) % most.max(1)
        };
        let (switches, _) = switches(&network, &schedule, form).unwrap();
        for switch in switches.iter().filter(|switch| switch.role == Role::Bridge) {
            prop_assert_eq!(switch.plane, Plane::User);
            let node = network.nodes.iter().position(|node| node.name == switch.name).unwrap();
            prop_assert!(network.nodes[node].kind == Kind::Switch);
            let links = (0..network.links.len()).filter(|link| network.links[*link].from == node);
            for (port, link) in switch.ports.iter().zip(links).filter(|(port, _)| port.gates.is_some()) {
                let list = Schedule::of(switch, port, BEGIN_NS, GIGABIT);
                let due = due(&network, &table, link, &mut below);
                let model = Switch { ports: vec![port.clone(); 2], forwarding: Forwarding::default(), ..switch.clone() };
                let mut bench = Bench::new(2);
                bench.clock.pass(BEGIN_NS - 10_000);
                let mut core = core!(bench, &model, list.as_ref());
                prop_assert!(bench.send.push(Command::Ahead(1, ahead_ns)).is_ok());
                core.housekeeping();
                // What is left of the hand-over when the core has looked at the gate.
                let most_ns = timing.latest_ns() - egress_port::LOOK_NS;
                let mut coming = due.iter().peekable();
                let ends_ns = BEGIN_NS + (CYCLES + 1) * 1_000_000;
                let (mut before, mut same) = ((0, 0, 0), 0);
                while bench.clock.0.get() < ends_ns {
                    let now_ns = bench.clock.0.get();
                    while let Some(next) = coming.next_if(|due| due.comes_ns <= now_ns) {
                        bench.far[0].0.borrow_mut().coming.push_back(next.frame.clone());
                    }
                    bench.far[1].0.borrow_mut().costs_ns = ahead_ns.min(most_ns) + below(most_ns.saturating_sub(ahead_ns));
                    core.turn();
                    // Where nothing happens time may pass faster.
                    let next_ns = coming.peek().map_or(ends_ns, |due| due.comes_ns).min(core.quiet_until_ns());
                    let queued = bench.counters.ports[1].queues.iter().map(|queue| queue.queued.get()).sum::<u64>();
                    let after = (bench.far[0].0.borrow().coming.len(), bench.far[1].0.borrow().gone.len(), queued);
                    same = if std::mem::replace(&mut before, after) == after { same + 1 } else { 0 };
                    if same > 2 && next_ns > bench.clock.0.get() + 2_000 {
                        core.seen_ns = next_ns - 1_000;
                        bench.clock.0.set(next_ns - 1_000);
                    }
                }
                let queues = &bench.counters.ports[1].queues;
                prop_assert_eq!(queues.iter().map(|queue| queue.dropped()).sum::<u64>(), 0);
                let far = bench.far[1].0.borrow();
                let left: std::collections::HashMap<u32, u64> =
                    far.gone.iter().map(|(at_ns, frame)| (number(frame), *at_ns)).collect();
                prop_assert_eq!(left.len(), due.len());
                for due in &due {
                    let begun_ns = left[&number(&due.frame)] + ahead_ns;
                    let wire_ns = wire::wire_time_ns(due.frame.len() as u32, GIGABIT);
                    prop_assert!(begun_ns >= due.opens_ns, "{} ns early", due.opens_ns - begun_ns.min(due.opens_ns));
                    prop_assert!(begun_ns + wire_ns <= due.closes_ns, "{} ns late", begun_ns + wire_ns - due.closes_ns);
                }
                prop_assert_eq!(queues.iter().map(|queue| queue.late.get()).sum::<u64>(), 0);
            }
        }
    }
}

/// A window of 5 us, and frames of 118 octets with their check sequence and a tag.
#[test]
fn a_short_frame_is_carried_in_a_short_window() {
    for (costs_ns, window_ns, ahead_ns) in [(1_500, 5_000, 0), (1_500, 3_300, 300), (1_500, 4_700, 0)] {
        let mut bench = Bench::new(2);
        bench.far.iter().for_each(|far| far.0.borrow_mut().costs_ns = costs_ns);
        let list =
            Schedule::new(0, &[Entry { open: 0, for_ns: 1_000_000 - window_ns }, Entry { open: 1, for_ns: window_ns }]);
        let mut core = core!(bench, &switch(2, 60), Some(&list));
        assert!(bench.send.push(Command::Ahead(1, ahead_ns)).is_ok());
        core.housekeeping();
        for cycle in 0..100u64 {
            bench.far[0].0.borrow_mut().coming.push_back(frame(1, 2, 0, cycle as u32, 118));
            while bench.clock.0.get() < (cycle + 1) * 1_000_000 {
                core.turn();
                let quiet_ns = core.quiet_until_ns().saturating_sub(bench.clock.0.get());
                if quiet_ns > 20_000 && bench.far[0].0.borrow().coming.is_empty() {
                    bench.clock.pass(5_000);
                }
            }
        }
        let queue = &bench.counters.ports[1].queues[0];
        let counted = [queue.sent.get(), queue.no_window.get(), queue.late.get()];
        assert_eq!(counted, [100, 0, 0], "{costs_ns} {window_ns} {ahead_ns}");
    }
}

/// What was once slow does not keep a window shut for ever.
#[test]
fn a_hand_over_that_was_slow_for_a_while_is_tried_again() {
    let mut bench = Bench::new(2);
    let list = Schedule::new(
        0,
        &[Entry { open: 0, for_ns: 46_000 }, Entry { open: 129, for_ns: 4_000 }, Entry { open: 1, for_ns: 50_000 }],
    );
    let mut core = core!(bench, &switch(2, 60), Some(&list));
    // Others are slow, long enough for it to be learned.
    bench.far.iter().for_each(|far| far.0.borrow_mut().costs_ns = 6_000);
    let carry = |core: &mut Core<Near, Clock>, pcp: u8, frames: u32| {
        for n in 0..frames {
            bench.far[0].0.borrow_mut().coming.push_back(frame(1, 2, pcp, n, 60));
            let ends_ns = bench.clock.0.get() / 100_000 * 100_000 + 100_000;
            while bench.clock.0.get() < ends_ns {
                core.turn();
            }
        }
    };
    carry(&mut core, 0, 2_000);
    carry(&mut core, 7, 1);
    let queue = &bench.counters.ports[1].queues[7];
    assert_eq!(queue.no_window.get(), 1, "6 us are more than there is");
    bench.far.iter().for_each(|far| far.0.borrow_mut().costs_ns = 1_000);
    carry(&mut core, 7, 900);
    assert!(queue.sent.get() > 300, "{} sent, {} found no window", queue.sent.get(), queue.no_window.get());
}

/// Hand-overs are not known well yet, and would be longer than usual in the short window: a frame that left in the long one
/// would take another's.
#[test]
fn a_frame_leaves_in_the_short_window_before_the_long_one() {
    let mut bench = Bench::new(2);
    bench.far[1].0.borrow_mut().next_costs_ns = [3_100].into();
    let list = [(0, 90_000), (1, 8_000), (0, 50_000), (1, 5_800), (0, 25_000), (1, 8_000), (0, 813_200)];
    let list = Schedule::new(0, &list.map(|(open, for_ns)| Entry { open, for_ns }));
    let mut core = core!(bench, &switch(2, 60), Some(&list));
    for (number, comes_ns) in [(1, 85_000), (2, 120_000)] {
        bench.clock.0.set(comes_ns);
        bench.far[0].0.borrow_mut().coming.push_back(frame(1, 2, 0, number, 218));
        while bench.clock.0.get() < comes_ns + 32_000 {
            core.turn();
        }
    }
    let far = bench.far[1].0.borrow();
    let left: Vec<_> = far.gone.iter().map(|(at_ns, frame)| (number(frame), at_ns / 1_000)).collect();
    assert_eq!(left, [(1, 90), (2, 148)]);
}
