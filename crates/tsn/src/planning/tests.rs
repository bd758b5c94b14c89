//! Whatever is planned holds.

use proptest::prelude::*;

use super::*;
use crate::egress::{DataPlane, EgressTiming};
use crate::network::{Stream, samples};
use crate::validate::{MOST_MESSAGES, TARGETS, ValidationInput, Verdict, validate};

fn judged(network: &Network, table: &Timetable) -> Verdict {
    let schedule = gate_control_list::schedule(network, table).unwrap();
    validate(&ValidationInput {
        network,
        schedule: &schedule,
        target: &TARGETS[0],
        guard_bands: false,
        most_messages: MOST_MESSAGES,
    })
}

fn in_words(network: &Network, verdict: &Verdict) -> Vec<String> {
    verdict.faults.iter().map(|fault| fault.in_words(network)).collect()
}

/// The streams that have a place, for all others are known to have none.
fn with_a_place(network: Network, table: Timetable) -> (Network, Timetable) {
    let placed: Vec<Placed> = table.placed.into_iter().flatten().collect();
    let streams = placed.iter().map(|placed| network.streams[placed.stream].clone()).collect();
    let numbered = placed.into_iter().enumerate().map(|(n, placed)| Some(Placed { stream: n, ..placed }));
    (Network { streams, ..network }, Timetable { placed: numbered.collect() })
}

#[test]
fn a_ring_full_of_streams() {
    let network = samples::ring(8, 800);
    let Outcome::Planned(table) = plan(&network, &PlanOptions::default(), &Timetable::default(), &|| true) else {
        panic!()
    };
    let verdict = judged(&network, &table);
    assert!(verdict.holds(), "{:?}", in_words(&network, &verdict));
    assert!(verdict.complete);
    assert_eq!(verdict.delays.len(), 800);
    for delay in &verdict.delays {
        assert_eq!(delay.most_ns, table.placed[delay.stream].as_ref().unwrap().latency_ns());
    }
}

/// The cable of a talker with two streams is the fullest; links without any carry nothing.
#[test]
fn the_fullest_links_come_first() {
    let mut network = samples::ring(4, 2);
    network.streams[1] = Stream { listeners: vec![7], ..network.streams[0].clone() };
    let Outcome::Planned(table) = plan(&network, &PlanOptions::default(), &Timetable::default(), &|| true) else {
        panic!()
    };
    let shares = tightest(&network, &table);
    assert_eq!(shares.len(), network.links.len());
    assert!(shares.is_sorted_by(|a, b| a.1 >= b.1));
    // 1 136 ns each, of 500 us.
    let one = 1_136.0 / 500_000.0;
    assert_eq!(network.link_name(shares[0].0), "h0>s0");
    assert!((shares[0].1 - 2.0 * one).abs() < 1e-9 && (shares[4].1 - one).abs() < 1e-9, "{shares:?}");
    assert_eq!(shares[5].1, 0.0);
}

#[test]
fn those_that_were_kept_stay_where_they_are() {
    let network = samples::ring(6, 120);
    let fewer = Network { streams: network.streams[..100].to_vec(), ..network.clone() };
    let Outcome::Planned(before) = plan(&fewer, &PlanOptions::default(), &Timetable::default(), &|| true) else {
        panic!()
    };
    let mut kept = before.clone();
    kept.placed.resize(120, None);
    let Outcome::Planned(after) = plan(&network, &PlanOptions::default(), &kept, &|| true) else { panic!() };
    assert_eq!(after.placed[..100], before.placed[..]);
    assert!(judged(&network, &after).holds());
}

#[test]
fn the_same_seed_gives_the_same_plan() {
    let network = samples::ring(6, 300);
    for prefer in [Prefer::Early, Prefer::Spread, Prefer::FewEntries] {
        let wanted = PlanOptions { prefer, ..PlanOptions::default() };
        let again = || plan(&network, &wanted, &Timetable::default(), &|| true);
        let first = again();
        assert_eq!(first, again());
        let Outcome::Planned(table) = first else { panic!("{prefer:?}") };
        let verdict = judged(&network, &table);
        assert!(verdict.holds(), "{prefer:?} {:?}", in_words(&network, &verdict));
    }
}

/// One way around the ring fills up with so many streams that some would go the other way, where they may.
#[test]
fn with_one_path_each_takes_the_shortest() {
    let mut network = samples::ring(6, 20);
    let first = network.streams[0].clone();
    for (n, stream) in network.streams.iter_mut().enumerate() {
        *stream = Stream {
            name: format!("s{n}"),
            size: 4_000,
            period_ns: 1_000_000,
            deadline_ns: 1_000_000,
            ..first.clone()
        };
    }
    let shortest = routes::Routes::new(&network, 1, 1);
    let longer = |paths| {
        let wanted = PlanOptions { routes: paths, ..PlanOptions::default() };
        let table = match plan(&network, &wanted, &Timetable::default(), &|| true) {
            Outcome::Planned(table) => table,
            Outcome::NotFound(best) => best.table,
            Outcome::Impossible(_) => panic!(),
        };
        let takes_another = |placed: &&Placed| {
            let first = shortest.nth(placed.stream, 0).unwrap();
            placed.hops.iter().map(|hop| hop.link).ne(first.hops.iter().map(|hop| hop.link))
        };
        table.placed.iter().flatten().filter(|placed| takes_another(placed)).count()
    };
    assert_eq!(longer(1), 0);
    assert!(longer(4) > 0, "the network is not crowded enough to tell");
}

/// A talker with one free moment, and a cable behind it that is taken when its frame would come.
#[test]
fn a_frame_waits_where_it_cannot_run_through() {
    let network = crate::network::read(
        r#"
        network = { rate = "100Mbit", processing = "1us" }
        switch = [{ name = "s" }]
        station = [{ name = "a" }, { name = "b" }, { name = "c" }, { name = "d" }]
        link = [{ between = ["a", "s"] }, { between = ["b", "s"] }, { between = ["s", "c"] }, { between = ["s", "d"] }]
        stream = [
            { name = "ad", from = "a", to = "d", size = 4500, period = "1ms" },
            { name = "bc", from = "b", to = "c", size = 3000, period = "1ms" },
            { name = "ac", from = "a", to = "c", size = 1400, period = "1ms" },
            { name = "ba", from = "b", to = "a", size = 1400, period = "1ms" },
        ]"#,
    )
    .unwrap();
    // From the talker a: 117 us of its own, then 371 us of ad. On the way to c: bc, from 20 us to 267 us and 267 us on.
    let kept = |stream, start_ns| {
        let route = routes::Routes::new(&network, 1, 1).nth(stream, 0).unwrap();
        place::Search { network: &network, stream, queue: 7, from_ns: 0, slot_ns: 1 }.at(&route, start_ns)
    };
    let kept = Timetable { placed: vec![Some(kept(0, 120_000)), Some(kept(1, 0)), None, None] };
    let deadline = |network: &Network, ns| {
        let mut network = network.clone();
        network.streams[2].deadline_ns = ns;
        network
    };
    // Two hops of 116 800 ns and 1 us: to begin at 0 and run through is to meet bc, which leaves until 372 us.
    let network = deadline(&network, 500_000);
    let no_wait = PlanOptions { wait: false, ..PlanOptions::default() };
    let steps = std::cell::Cell::new(0);
    let go_on = || {
        steps.set(steps.get() + 1);
        steps.get() < 2_000
    };
    assert!(matches!(plan(&network, &no_wait, &kept, &go_on), Outcome::NotFound(_)));
    // It needs nobody else to be moved for that.
    for (wanted, is_left) in [(&no_wait, true), (&PlanOptions::default(), false)] {
        let mut planner = Planner::new(&network, wanted, &kept, 0);
        assert_eq!(planner.construct(Order::LeastFreedom, WaitPolicy::Last, &|| true).contains(&2), is_left);
    }
    let Outcome::Planned(table) = plan(&network, &PlanOptions::default(), &kept, &|| true) else { panic!() };
    let placed = table.placed[2].as_ref().unwrap();
    assert!(placed.hops[1].arrives_ns < placed.hops[1].begin_ns as i64, "{placed:?}");
    let verdict = judged(&network, &table);
    assert!(verdict.holds(), "{:?}", in_words(&network, &verdict));
}

/// Streams of 4 us and a minute on one link: 15 million windows, in a file of half a page.
#[test]
fn a_list_of_gigabytes_is_an_error() {
    let network = crate::network::read(include_str!("../../../../fuzz/seeds/switch_network/meet_seldom.toml")).unwrap();
    let placed = |stream| {
        let route = routes::Routes::new(&network, 1, 1).nth(stream, 0).unwrap();
        place::Search { network: &network, stream, queue: 7, from_ns: 0, slot_ns: 1 }.at(&route, 2_000 * stream as u64)
    };
    let table = Timetable { placed: vec![Some(placed(0)), Some(placed(1))] };
    let error = gate_control_list::schedule(&network, &table).unwrap_err().to_string();
    assert!(error.contains("which takes too long a list"), "{error}");
    // Nobody needs to look for a plan to know.
    assert_eq!(gate_control_list::too_long_in_any_plan(&network).unwrap().to_string(), error);
    // 65 535 windows of the one and one of the other are the longest list; there is another way round a ring.
    let with = |network: &Network, period_ns| {
        let mut network = network.clone();
        (network.streams[1].period_ns, network.streams[1].deadline_ns) = (period_ns, period_ns);
        gate_control_list::too_long_in_any_plan(&network)
    };
    assert!(with(&network, 4_000 * 65_535).is_none() && with(&network, 4_000 * 65_536).is_some());
    let mut ring = samples::ring(3, 2);
    ring.streams[0] = Stream {
        period_ns: 4_000,
        deadline_ns: 4_000,
        size: 1,
        talker: 3,
        listeners: vec![4],
        ..ring.streams[0].clone()
    };
    ring.streams[1] = Stream { talker: 4, listeners: vec![5], ..ring.streams[1].clone() };
    assert!(with(&ring, 60_000_000_000).is_none());
}

#[derive(Debug, Clone)]
struct Drawn {
    switches: usize,
    streams: Vec<(usize, usize, u32, usize, u64)>,
    sync_error_ns: u64,
    slow: bool,
    timing: EgressTiming,
}

fn timing() -> impl Strategy<Value = EgressTiming> {
    let drawn = (0u64..4_000, 0u64..9_000, 0u64..9_000, 0u64..2_000, 0u64..500, 0u64..9_000);
    let drawn = drawn.prop_map(|(hand_over_ns, spread_ns, spacing_ns, guard_ns, clock_error_ns, forwarding_ns)| {
        EgressTiming { hand_over_ns, spread_ns, spacing_ns, guard_ns, clock_error_ns, forwarding_ns }
    });
    let assumed = [DataPlane::User, DataPlane::Kernel, DataPlane::Hardware].map(DataPlane::defaults);
    prop_oneof![Just(EgressTiming::IDEAL), prop::sample::select(assumed.to_vec()), drawn]
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let stream = (0usize..8, 1usize..8, 1u32..4_000, 0usize..6, 1u64..5);
    let sync_error_ns = prop_oneof![Just(0u64), 1u64..800];
    (2usize..6, prop::collection::vec(stream, 1..40), sync_error_ns, any::<bool>(), timing()).prop_map(
        |(switches, streams, sync_error_ns, slow, timing)| Drawn { switches, streams, sync_error_ns, slow, timing },
    )
}

fn network_of(drawn: &Drawn) -> Network {
    let n = drawn.switches;
    let mut network = samples::ring(n.max(3), 0);
    let n = network.nodes.len() / 2;
    network.sync_error_ns = drawn.sync_error_ns;
    if drawn.slow {
        network.links.iter_mut().step_by(5).for_each(|link| link.rate = 100_000_000);
    }
    if drawn.sync_error_ns > 400 {
        // Less than that from link to link.
        network.links.iter_mut().for_each(|link| (link.rate, link.processing_ns) = (10 * link.rate, 100));
    }
    let periods = [100_000, 250_000, 500_000, 800_000, 1_000_000, 1_250_000];
    let stream = |(place, &(talker, hops, size, period, part)): (usize, &(usize, usize, u32, usize, u64))| Stream {
        name: format!("f{place}"),
        talker: n + talker % n,
        listeners: match hops {
            // Some have several listeners.
            7 => (0..n).filter(|node| *node != talker % n).map(|node| n + node).collect(),
            hops => vec![n + (talker % n + 1 + hops % (n - 1)) % n],
        },
        size,
        period_ns: periods[period],
        deadline_ns: periods[period] * part / 4,
        jitter_ns: 0,
        queue: (size % 11 == 0).then_some(1 + (size % 7) as u8),
        address: None,
        vlan: None,
    };
    network.streams = drawn
        .streams
        .iter()
        .enumerate()
        .map(stream)
        .map(|s| Stream { deadline_ns: s.deadline_ns.max(1), ..s })
        .collect();
    network.timed(drawn.timing)
}

/// At 10 Gbit/s a frame is at the second link before the talker begins by its own clock.
const QUICK: &str = r#"
network = { rate = "10Gbit", sync-error = "1us" }
switch = [{ name = "s" }]
station = [{ name = "a" }, { name = "b" }, { name = "c" }]
link = [{ between = ["a", "s"] }, { between = ["c", "s"] }, { between = ["b", "s"] }]
stream = [
    { name = "y", from = "c", to = "b", size = 64, period = "50us", deadline = "2.5us" },
    { name = "x", from = "a", to = "b", size = 64, period = "50us" },
]"#;

#[test]
fn a_frame_that_clocks_bring_before_the_period_begins_is_there_in_the_one_before() {
    let network = crate::network::read(QUICK).unwrap();
    let Outcome::Planned(table) = plan(&network, &PlanOptions::default(), &Timetable::default(), &|| true) else {
        panic!()
    };
    let verdict = judged(&network, &table);
    assert!(verdict.holds(), "{:?}", in_words(&network, &verdict));
    for placed in table.placed.iter().flatten() {
        // Frame, cable and switch, and two clocks that are 1 us apart.
        let hop = placed.hops[1];
        assert_eq!(hop.arrives_ns, hop.begin_ns as i64 - 2_000, "{placed:?}");
    }
    let first = table.placed[0].as_ref().unwrap();
    assert!(first.hops[1].arrives_ns < 0);
    // The document says the same.
    let schedule = gate_control_list::schedule(&network, &table).unwrap();
    let text = Document::new(&network, &table, &schedule).write().unwrap();
    assert_eq!(Document::read(&text).unwrap().timetable(&network), table);
}

#[test]
fn what_is_planned_for_clocks_far_apart_and_quick_links_holds() {
    let mut placed = 0;
    for (seed, error_ns) in (1..).zip([1_000, 1_500, 3_000, 7_000, 20_000]) {
        for prefer in [Prefer::Early, Prefer::Spread, Prefer::FewEntries] {
            let mut network = samples::ring(4, 24);
            network.links.iter_mut().for_each(|link| (link.rate, link.processing_ns) = (10_000_000_000, 50));
            network.sync_error_ns = error_ns;
            let options = PlanOptions { prefer, seed, ..PlanOptions::default() };
            let asked = std::cell::Cell::new(0);
            let go_on = || asked.replace(asked.get() + 1) < 200;
            let table = match plan(&network, &options, &Timetable::default(), &go_on) {
                Outcome::Planned(table) => table,
                Outcome::NotFound(found) => found.table,
                Outcome::Impossible(proofs) => panic!("{}", proofs[0].in_words(&network)),
            };
            let (network, table) = with_a_place(network, table);
            let verdict = judged(&network, &table);
            assert!(verdict.holds(), "{error_ns} {prefer:?} {:?}", in_words(&network, &verdict));
            placed += network.streams.len();
        }
    }
    assert!(placed > 200, "{placed}");
}

/// On ports whose entries last 256 ns at least, with frames that come up to 40 ns, or more by clocks and slots, too early.
#[test]
fn gaps_are_closed_without_letting_any_frame_leave_early() {
    let mut planned = 0;
    let target = crate::target::named("list-256").unwrap();
    for (seed, error_ns) in (1..).zip([0, 0, 0, 20, 50, 100, 200]) {
        for (prefer, slot_ns, wait) in [
            (Prefer::Early, 1, true),
            (Prefer::Early, 100, true),
            (Prefer::Early, 100, false),
            (Prefer::Spread, 1, true),
            (Prefer::FewEntries, 1, true),
            (Prefer::FewEntries, 8, true),
        ] {
            let mut network = samples::ring(4, 40);
            network.sync_error_ns = error_ns;
            let mut random = random::Random::new(seed);
            for stream in &mut network.streams {
                stream.size = 1 + random.below(1_500) as u32;
                stream.deadline_ns = stream.period_ns / (1 + random.below(8));
            }
            let network = network.timed(target.timing());
            let options =
                PlanOptions { prefer, slot_ns, seed, wait, shortest_ns: target.shortest_ns, ..PlanOptions::default() };
            let asked = std::cell::Cell::new(0);
            let go_on = || asked.replace(asked.get() + 1) < 200;
            let Outcome::Planned(table) = plan(&network, &options, &Timetable::default(), &go_on) else { continue };
            let mut schedule = gate_control_list::schedule(&network, &table).unwrap();
            close_short_gaps(&mut schedule, target.shortest_ns, &network, &table);
            let schedule = &schedule;
            let (network, most_messages) = (&network, MOST_MESSAGES);
            let verdict = validate(&ValidationInput { network, schedule, target, guard_bands: true, most_messages });
            assert!(verdict.holds(), "{error_ns} {prefer:?} {slot_ns} {:?}", in_words(network, &verdict));
            planned += 1;
        }
    }
    assert!(planned > 30, "{planned}");
}

/// A message of 100 octets, and the windows that it gets.
fn windows(timing: EgressTiming) -> (Network, Outcome) {
    let network = crate::network::read(
        r#"
        switch = [{ name = "s1" }, { name = "s2" }]
        station = [{ name = "a" }, { name = "b" }]
        link = [{ between = ["a", "s1"] }, { between = ["s1", "s2"] }, { between = ["s2", "b"] }]
        stream = [{ name = "x", from = "a", to = "b", size = 100, period = "1ms", deadline = "20us" }]"#,
    );
    let network = network.unwrap().timed(timing);
    let outcome = plan(&network, &PlanOptions::default(), &Timetable::default(), &|| true);
    (network, outcome)
}

#[test]
fn windows_of_the_user_plane_have_its_margin_at_each_hop() {
    let timing = EgressTiming { forwarding_ns: 1_500, ..DataPlane::User.defaults() };
    let (network, Outcome::Planned(table)) = windows(timing) else { panic!() };
    let hops = &table.placed[0].as_ref().unwrap().hops;
    let least_ns = 1_136 + timing.margin_ns();
    assert_eq!(hops.iter().map(|hop| hop.end_ns - hop.begin_ns).collect::<Vec<_>>(), [least_ns; 3]);
    // The next gate opens when the frame is there at the latest: begun last, forwarded last, by the slower clock.
    let latest_ns = timing.latest_ns() + 1_136 - 96 + 1_500 + 2 * timing.clock_error_ns;
    assert_eq!(hops[1].begin_ns - hops[0].begin_ns, latest_ns);
    assert!(judged(&network, &table).holds());
    // What was planned for gates that are exactly on time does not hold there.
    let (_, Outcome::Planned(exact)) = windows(EgressTiming::IDEAL) else { panic!() };
    let verdict = judged(&network, &exact);
    assert_eq!(verdict.counts["window too short"], 3);
    assert!(verdict.counts.contains_key("missing"));
    assert_eq!(
        verdict.faults[0].in_words(&network),
        "link a>s1: the window at 0s is open for 1.136us, and its shortest frame needs 4.636us, the data plane's margin of 3.5us included"
    );
}

#[test]
fn a_margin_that_makes_it_impossible_is_the_reason() {
    let (network, Outcome::Impossible(proofs)) = windows(DataPlane::Kernel.defaults()) else { panic!() };
    let words = proofs[0].in_words(&network);
    assert!(
        words.ends_with("its deadline is 20us (the data plane takes up to 50us to send and 20us to forward)"),
        "{words}"
    );
    assert!(matches!(windows(EgressTiming::IDEAL).1, Outcome::Planned(_)));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]
    #[test]
    fn whatever_is_planned_holds(drawn in drawn(), prefer in 0usize..3, slot in 0usize..3) {
        let network = network_of(&drawn);
        let prefer = [Prefer::Early, Prefer::Spread, Prefer::FewEntries][prefer];
        let slot_ns = [1, 8, 100][slot];
        let wanted = PlanOptions { prefer, slot_ns, ..PlanOptions::default() };
        let steps = std::cell::Cell::new(0);
        let go_on = || { steps.set(steps.get() + 1); steps.get() < 300 };
        let table = match plan(&network, &wanted, &Timetable::default(), &go_on) {
            Outcome::Planned(table) => table,
            Outcome::NotFound(found) => found.table,
            Outcome::Impossible(certificates) => {
                prop_assert!(!certificates.is_empty());
                return Ok(());
            }
        };
        let (network, table) = with_a_place(network, table);
        if network.streams.is_empty() {
            return Ok(());
        }
        for hop in table.placed.iter().flatten().flat_map(|placed| &placed.hops) {
            prop_assert!(hop.begin_ns % slot_ns == 0 && hop.end_ns % slot_ns == 0, "{hop:?}");
        }
        let verdict = judged(&network, &table);
        prop_assert!(verdict.holds(), "{:?}", in_words(&network, &verdict));
        prop_assert!(verdict.complete);
        // And is kept wherever it is planned anew.
        let document = Document::new(&network, &table, &gate_control_list::schedule(&network, &table).unwrap());
        prop_assert_eq!(document.timetable(&network), table);
    }
}
