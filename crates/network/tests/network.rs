//! Networks in simulated time: what holds, and what is found when it should not.

use ontick_network::simulation::{Delivered, Outcome};
use ontick_network::{Costs, Options, simulate};
use ontick_tsn::egress::{DataPlane, EgressTiming};
use ontick_tsn::network::{Kind, Link, Network, Node, Overhead, Stream, samples};
use ontick_tsn::planning::{self, PlanOptions, Timetable, gate_control_list, plan};
use ontick_tsn::validate::{Schedule, Send};

const MILLISECOND: u64 = 1_000_000;

fn options(network: &Network, duration_ns: u64) -> Options {
    let costs = Costs::within(&network.timing);
    Options { duration_ns, seed: 1, costs, load: 0.0, faults: Vec::new(), trace_ns: 0 }
}

/// A ring with plenty of streams, planned for the user data plane with clocks that differ by 1 us.
fn ring(switches: usize, streams: usize) -> (Network, Timetable, Schedule) {
    let mut network = samples::ring(switches, streams);
    network.sync_error_ns = 1_000;
    let network = network.timed(DataPlane::User.defaults());
    let planning::Outcome::Planned(table) = plan(&network, &PlanOptions::default(), &Timetable::default(), &|| true)
    else {
        panic!("no plan")
    };
    let schedule = gate_control_list::schedule(&network, &table).unwrap();
    (network, table, schedule)
}

fn run((network, table, schedule): &(Network, Timetable, Schedule), options: &Options) -> Outcome {
    simulate(network, table, schedule, options, &|_| true).unwrap()
}

/// Messages that were not sent, lost, late or early.
fn outside(of: &Delivered) -> u64 {
    of.planned.saturating_sub(of.sent) + of.sent - of.received + of.late + of.early
}

fn all_outside(outcome: &Outcome) -> u64 {
    outcome.delivered.iter().map(outside).sum()
}

/// Stations at both ends of a chain of switches, one stream, and no gates at all.
fn chain(switches: usize, size: u32) -> (Network, Timetable, Schedule) {
    let node = |n: usize| {
        let kind = if n < switches { Kind::Switch } else { Kind::Station };
        Node { name: format!("n{n}"), system_name: None, kind }
    };
    let link = |from, to| Link {
        from,
        to,
        port: None,
        rate: 1_000_000_000,
        propagation_ns: 50,
        processing_ns: 2_000,
        queues: 8,
    };
    let (talker, listener) = (switches, switches + 1);
    let way: Vec<usize> = [talker].into_iter().chain(0..switches).chain([listener]).collect();
    let links: Vec<Link> = way.windows(2).flat_map(|pair| [link(pair[0], pair[1]), link(pair[1], pair[0])]).collect();
    let stream = Stream {
        name: "f".into(),
        talker,
        listeners: vec![listener],
        size,
        period_ns: MILLISECOND,
        deadline_ns: MILLISECOND,
        jitter_ns: 0,
        queue: None,
        address: None,
        vlan: None,
    };
    let route: Vec<usize> = (0..way.len() - 1).map(|hop| 2 * hop).collect();
    let queues = route.iter().map(|link| (*link, 7)).collect();
    let schedule = Schedule {
        windows: Vec::new(),
        sends: vec![Send { stream: 0, offset_ns: 10_000, queues }],
        routes: vec![route],
    };
    let network = Network {
        nodes: (0..switches + 2).map(node).collect(),
        links,
        streams: vec![stream],
        sync_error_ns: 0,
        overhead: Overhead::Wire,
        timing: EgressTiming::IDEAL,
        time: None,
    };
    (network, Timetable { placed: vec![None] }, schedule)
}

/// By hand: each link takes preamble, frame and check sequence, and 50 ns; each switch 2 us. The core's looks at its clock
/// take a few nanoseconds in a world where nothing else takes any.
#[test]
fn without_gates_and_load_a_frame_takes_what_a_formula_says() {
    for switches in [1, 3, 9] {
        for (size, octets) in [(10u64, 64u64), (100, 122), (1_500, 1_522)] {
            let of = chain(switches, size as u32);
            let outcome = run(&of, &Options { costs: Costs::NONE, ..options(&of.0, 20 * MILLISECOND) });
            let (links, switches) = (switches as u64 + 1, switches as u64);
            let by_hand = 10_000 + links * (8 * (8 + octets) + 50) + switches * 2_000;
            let latency = &outcome.delivered[0].latency;
            assert_eq!((outcome.delivered[0].received, outcome.delivered[0].sent), (20, 20));
            let range = by_hand..=by_hand + switches * 20;
            assert!(range.contains(&latency.min_ns.unwrap()), "{by_hand} {latency:?}");
            assert!(range.contains(&latency.max_ns.unwrap()), "{by_hand} {latency:?}");
        }
    }
}

/// Of several frames the last is behind the others by what they take on one link, as switches send on what is there.
#[test]
fn a_message_of_several_frames_is_pipelined() {
    let of = chain(2, 4_000);
    let outcome = run(&of, &Options { costs: Costs::NONE, ..options(&of.0, 5 * MILLISECOND) });
    let (full, last) = (1_522 + 20, 1_000 + 22 + 20);
    // On each link but the first, the last and shorter frame waits for the full one before it.
    let further = 8 * (full - last) + 8 * (last - 12) + 50 + 2_000;
    let by_hand = 10_000 + 8 * (2 * full + last - 12) + 50 + 2 * further;
    let latency = outcome.delivered[0].latency.max_ns.unwrap();
    assert!((by_hand..=by_hand + 60).contains(&latency), "{by_hand} {latency}");
    assert_eq!(outcome.delivered[0].frames, (15, 15));
}

#[test]
fn a_plan_holds_for_every_frame_while_clocks_are_within_what_it_allows() {
    let of = ring(8, 100);
    for (seed, load) in [(1, 0.0), (2, 0.3), (3, 0.6)] {
        let outcome = run(&of, &Options { seed, load, ..options(&of.0, 100 * MILLISECOND) });
        assert!(outcome.frames > 9_000 && (load == 0.0 || outcome.best_effort > 2_000), "{outcome:?}");
        for one in &outcome.delivered {
            let frames = (one.frames.0 - one.frames.1, one.out_of_order, one.duplicates);
            assert_eq!((outside(one), frames, one.after_plan), (0, (0, 0, 0), 0), "{load}: {one:?}");
            // Nor does any come before its last gate has opened, by whichever clock, and the frame has passed the cable.
            let placed = of.1.placed[one.stream].as_ref().unwrap();
            let last = placed.hops.iter().find(|hop| hop.delivered_ns.is_some()).unwrap();
            let carried = of.0.message_time(one.stream, last.link);
            let least = last.begin_ns + carried.all_ns - carried.gap_ns + of.0.links[last.link].propagation_ns;
            assert!(one.latency.min_ns.unwrap() + of.0.sync_error_ns >= least, "{least}: {one:?}");
        }
        assert!((500..=of.0.sync_error_ns).contains(&outcome.clocks_apart_ns), "{}", outcome.clocks_apart_ns);
    }
}

/// Behind the last message nobody has anything to do for most of a period, and clocks are compared at the end of it.
#[test]
fn clocks_are_kept_together_to_the_end_of_a_run() {
    let (mut network, table, schedule) = chain(1, 100);
    network.sync_error_ns = 1_000;
    network.streams[0].period_ns = 5_000 * MILLISECOND;
    let options = options(&network, 5_000 * MILLISECOND);
    let outcome = run(&(network, table, schedule), &options);
    assert!((500..=1_000).contains(&outcome.clocks_apart_ns), "{}", outcome.clocks_apart_ns);
}

#[test]
fn a_clock_beyond_what_the_plan_allows_is_found() {
    let of = ring(8, 100);
    let with = |fault: &str, duration_ns| {
        run(&of, &Options { faults: vec![fault.parse().unwrap()], ..options(&of.0, duration_ns) })
    };
    for fault in ["clock-step=s3:30us@10ms", "clock-step=s3:-30us@10ms", "clock-step=h2:-30us@10ms"] {
        let outcome = with(fault, 40 * MILLISECOND);
        assert!(outcome.clocks_apart_ns >= 29_000, "{fault}: {}", outcome.clocks_apart_ns);
        assert!(all_outside(&outcome) > 0, "{fault}");
    }
    // So far back that nothing is due any more, by its own clock: what it does not send is not as if it had come.
    let outcome = with("clock-step=h2:-1s@10ms", 40 * MILLISECOND);
    let its = outcome.delivered.iter().filter(|one| of.0.streams[one.stream].talker == 10);
    assert!(its.map(|one| one.planned - one.sent).min() > Some(0), "{outcome:?}");
    // 200 parts in a million of 200 ms are 40 us; one part of 50 ms is no more than the plan allows.
    assert!(all_outside(&with("clock-drift=s3:200ppm", 200 * MILLISECOND)) > 0);
    assert_eq!(all_outside(&with("clock-drift=s3:1ppm@50ms", 100 * MILLISECOND)), 0);
}

/// Two talkers whose frames leave a switch by one slower link, and no gates.
fn pair() -> (Network, Timetable, Schedule) {
    let (mut network, _, mut schedule) = chain(1, 1_500);
    // The second talker is node 3; the listener's cable, links 2 and 3, carries a tenth.
    network.nodes.push(Node { name: "n3".into(), ..network.nodes[1].clone() });
    let [there, back] = [0, 1].map(|link| network.links[link].clone());
    network.links.extend([Link { from: 3, ..there }, Link { to: 3, ..back }]);
    network.links[2..4].iter_mut().for_each(|link| link.rate /= 10);
    network.streams.push(Stream { name: "g".into(), talker: 3, ..network.streams[0].clone() });
    schedule.routes.push(vec![4, 2]);
    schedule.sends.push(Send { stream: 1, offset_ns: 500_000, queues: vec![(4, 7), (2, 7)] });
    (network, Timetable { placed: vec![None; 2] }, schedule)
}

/// As a real one does: what is over when its clock has been set is left out, not sent at once.
#[test]
fn a_talker_whose_clock_is_set_goes_on_with_what_is_due_next() {
    let of = pair();
    let with = |fault: &str| {
        let faults = vec![fault.parse().unwrap()];
        run(&of, &Options { faults, ..options(&of.0, 1_000 * MILLISECOND) })
    };
    let outcome = with("clock-step=n1:900ms@10ms");
    let [its, other] = &outcome.delivered[..] else { panic!() };
    assert_eq!((other.planned, other.sent, outside(other), outcome.dropped.as_slice()), (1_000, 1_000, 0, &[][..]));
    // By its clock 100 ms are left, and a listener has them before they are due.
    assert_eq!((its.planned, its.sent, its.received, its.early), (1_000, 100, 100, 90));
    // By less than a period: no time is used twice, and nothing looks like a copy.
    let outcome = with("clock-step=n1:-600us@9500us");
    let its = &outcome.delivered[0];
    assert_eq!((its.sent, its.received, its.duplicates, its.out_of_order), (1_000, 1_000, 0, 0), "{its:?}");
    assert_eq!(all_outside(&outcome), 0, "{outcome:?}");
}

#[test]
fn a_cable_that_is_cut_loses_what_was_to_go_over_it_and_nothing_else() {
    let of = ring(6, 40);
    let fault = "link-down=s0-s1@10ms..20ms".parse().unwrap();
    let outcome = run(&of, &Options { faults: vec![fault], ..options(&of.0, 50 * MILLISECOND) });
    let uses = |stream: usize| of.2.routes[stream].iter().any(|link| [0, 1].contains(link));
    assert!((0..40).any(uses) && !(0..40).all(uses));
    for one in &outcome.delivered {
        let lost = one.sent - one.received;
        let expected = if uses(one.stream) { 10 * MILLISECOND / of.0.streams[one.stream].period_ns } else { 0 };
        // One at either end of the cut may be on its way.
        assert!(lost >= expected && lost <= expected + u64::from(expected > 0), "{expected} {one:?}");
        assert_eq!((one.late, one.out_of_order), (0, 0), "{one:?}");
    }
}

/// Gates do not tell a stream from another in its queue: those that meet a babbling talker suffer, whose frames take their
/// places, and then those whose places they take.
#[test]
fn a_babbling_talker_is_found_by_those_who_share_its_links() {
    let of = ring(6, 24);
    let fault = "babble=h0@10ms..30ms".parse().unwrap();
    let outcome = run(&of, &Options { faults: vec![fault], ..options(&of.0, 60 * MILLISECOND) });
    let is_its = |stream: usize| of.0.streams[stream].talker == 6;
    let its: Vec<usize> = (0..24).filter(|stream| is_its(*stream)).flat_map(|n| of.2.routes[n].clone()).collect();
    let others = || outcome.delivered.iter().filter(|one| !is_its(one.stream));
    let shares = |one: &&Delivered| of.2.routes[one.stream].iter().any(|link| its.contains(link));
    assert!(others().filter(shares).map(outside).sum::<u64>() > 0);
    assert!(others().any(|one| outside(one) == 0), "those that are far away keep theirs");
    assert!(outcome.dropped.iter().any(|(why, _)| *why == "too many waited"), "{:?}", outcome.dropped);
    let sent: u64 = outcome.delivered.iter().map(|one| one.sent).sum();
    let as_planned: u64 = of.0.streams.iter().map(|stream| 60 * MILLISECOND / stream.period_ns).sum();
    assert!(sent > as_planned + 1_000, "{sent} {as_planned}");
}

#[test]
fn the_same_seed_is_the_same_run_to_the_nanosecond() {
    let of = ring(5, 30);
    let with = |seed| run(&of, &Options { seed, load: 0.2, trace_ns: MILLISECOND, ..options(&of.0, 20 * MILLISECOND) });
    assert_eq!(with(7), with(7));
    assert_ne!(with(7), with(8));
}

/// A core that needs longer than the plan reckons with is too slow for its windows, and that is found.
#[test]
fn a_core_that_is_slower_than_planned_is_found() {
    let of = ring(8, 100);
    let mut slow = options(&of.0, 40 * MILLISECOND);
    slow.costs.hand_over_ns = (6_000, 8_000);
    let outcome = run(&of, &slow);
    assert!(all_outside(&outcome) > 0);
    assert!(!outcome.dropped.is_empty(), "{:?}", outcome.dropped);
}

#[test]
fn a_run_can_be_ended_and_loses_nothing_by_that() {
    let of = ring(5, 30);
    let stopped =
        simulate(&of.0, &of.1, &of.2, &options(&of.0, 1_000 * MILLISECOND), &|done_ns| done_ns < 50 * MILLISECOND);
    let outcome = stopped.unwrap();
    assert!(outcome.interrupted && (50 * MILLISECOND..100 * MILLISECOND).contains(&outcome.simulated_ns));
    assert!(outcome.frames > 500 && all_outside(&outcome) == 0, "{outcome:?}");
}

#[test]
fn what_cannot_be_simulated_is_refused() {
    let of = ring(3, 3);
    let refused = |network: &Network, options: &Options| {
        simulate(network, &of.1, &of.2, options, &|_| true).unwrap_err().to_string()
    };
    let too_long = Options { duration_ns: u64::MAX / 4, ..options(&of.0, 0) };
    assert!(refused(&of.0, &too_long).contains("100 days at most"));
    let too_many = Options { duration_ns: 200 * 3_600_000 * MILLISECOND, ..options(&of.0, 0) };
    let said = refused(&of.0, &too_many);
    assert!(said.contains("stream f0 has more messages in 200h") && !said.contains("days"), "{said}");
    let payload = Network { overhead: Overhead::PayloadOnly, ..of.0.clone() };
    assert!(refused(&payload, &options(&of.0, MILLISECOND)).contains("needs overhead = \"wire\""));
    let fault = Options { faults: vec!["babble=h9".parse().unwrap()], ..options(&of.0, MILLISECOND) };
    assert!(refused(&of.0, &fault).contains("there is no node \"h9\""));
    let behind = Options { faults: vec!["babble=h0@5s".parse().unwrap()], ..options(&of.0, MILLISECOND) };
    assert!(refused(&of.0, &behind).contains("it begins at 5s, and messages are sent for 1ms"));
}
