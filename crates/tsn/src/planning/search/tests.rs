//! What each step of a search does, with few streams.

use super::super::occupancy::Use;
use super::improve::meet;
use super::*;
use crate::network::samples;

fn two() -> Network {
    let mut network = samples::ring(4, 2);
    network.streams[1] = network.streams[0].clone();
    network
}

#[test]
fn in_an_empty_network_all_run_through() {
    let network = samples::ring(6, 60);
    let options = PlanOptions { wait: false, ..PlanOptions::default() };
    for order in [Order::LeastFreedom, Order::ShortestPeriod, Order::LargestShare] {
        let mut planner = Planner::new(&network, &options, &Timetable::default(), 0);
        assert_eq!(planner.construct(order, WaitPolicy::AtOnce, &|| true), [0; 0]);
        assert_eq!((planner.effort.places, planner.effort.moved), (60, 0));
        assert!(planner.into_table().placed.iter().flatten().all(|placed| !placed.waits));
    }
}

/// The second of two streams is placed first, at once, where it is what the order looks for.
#[test]
fn each_order_places_those_first_that_it_is_about() {
    // Size, period and deadline of both.
    let orders = [
        (Order::LargestShare, [(100, 1_000_000, 900_000), (1_400, 2_000_000, 2_000_000)]),
        (Order::LargestShare, [(1_400, 4_000_000, 900_000), (500, 500_000, 500_000)]),
        (Order::ShortestPeriod, [(1_400, 2_000_000, 100_000), (100, 1_000_000, 1_000_000)]),
        (Order::LeastFreedom, [(100, 500_000, 500_000), (1_400, 2_000_000, 400_000)]),
    ];
    for (order, streams) in orders {
        let (mut network, options) = (two(), PlanOptions::default());
        for (stream, (size, period_ns, deadline_ns)) in network.streams.iter_mut().zip(streams) {
            (stream.size, stream.period_ns, stream.deadline_ns) = (size, period_ns, deadline_ns);
        }
        let mut planner = Planner::new(&network, &options, &Timetable::default(), 0);
        assert_eq!(planner.construct(order, WaitPolicy::Last, &|| true), [0; 0]);
        let offsets: Vec<u64> = planner.table.placed.iter().flatten().map(Placed::offset_ns).collect();
        assert!(offsets[1] == 0 && offsets[0] > 0, "{order:?} {streams:?}: {offsets:?}");
    }
}

/// The first start has its order; the others shift keys by up to a half, not all alike.
#[test]
fn restarts_begin_in_another_order() {
    let (network, options) = (two(), PlanOptions::default());
    let keys = |restart| {
        let mut planner = Planner::new(&network, &options, &Timetable::default(), restart);
        [(); 20].map(|()| planner.perturbed(1_000))
    };
    assert_eq!(keys(0), [1_000; 20]);
    assert!(keys(1).iter().all(|key| (1_000..=1_500).contains(key)), "{:?}", keys(1));
    assert!(keys(1).iter().min() < keys(1).iter().max() && keys(1) != keys(2));
}

#[test]
fn every_start_up_to_the_latest_can_be_drawn() {
    let network = two();
    for (slot_ns, starts) in [(1, vec![0, 1, 2, 3]), (2, vec![0, 2])] {
        let options = PlanOptions { slot_ns, ..PlanOptions::default() };
        let mut planner = Planner::new(&network, &options, &Timetable::default(), 0);
        let mut drawn: Vec<u64> = (0..200).map(|_| planner.chance(3)).collect();
        drawn.sort_unstable();
        drawn.dedup();
        assert_eq!(drawn, starts);
        assert_eq!(planner.chance(0), 0);
    }
}

/// Three streams of which a cable carries two.
#[test]
fn who_cannot_be_placed_is_tried_no_longer_than_patience_lasts() {
    let (mut network, options) = (two(), PlanOptions::default());
    let of = &mut network.streams[0];
    (of.size, of.period_ns, of.deadline_ns) = (1_400, 30_000, 30_000);
    network.streams = vec![of.clone(), of.clone(), of.clone()];
    network.streams.iter_mut().for_each(|stream| stream.deadline_ns = 1_000_000);
    let mut planner = Planner::new(&network, &options, &Timetable::default(), 0);
    let left = planner.construct(Order::LeastFreedom, WaitPolicy::Last, &|| true);
    assert_eq!(left.len(), 1);
    let asked = std::cell::Cell::new(0);
    let go_on = || {
        asked.set(asked.get() + 1);
        asked.get() < 100
    };
    planner.improve(left, 5, &go_on);
    assert_eq!(asked.get(), 6);
    assert_eq!(planner.into_table().missing().count(), 1);
}

#[test]
fn who_is_taken_away_leaves_its_place_to_others() {
    let (network, options) = (two(), PlanOptions::default());
    let mut planner = Planner::new(&network, &options, &Timetable::default(), 0);
    assert!(planner.place(0));
    let first = planner.table.placed[0].clone().unwrap();
    planner.take_away(0);
    assert!(first.hops.iter().all(|hop| planner.taken.uses(hop.link).is_empty()));
    assert!(planner.place(1));
    assert_eq!(planner.into_table().placed, [None, Some(Placed { stream: 1, ..first })]);
}

#[test]
fn who_is_in_the_way_is_named_once() {
    let (network, options) = (two(), PlanOptions::default());
    let mut planner = Planner::new(&network, &options, &Timetable::default(), 0);
    let route = planner.route(0, 0).unwrap();
    planner.put(planner.search(0, 7, 0).at(&route, 5_000));
    let length_ns = route.hops[0].length_ns;
    let at = |start: u64| planner.search(1, 7, 0).at(&route, start);
    let starts = [0, 5_000 - length_ns, 5_001 - length_ns, 5_000, 4_999 + length_ns, 5_000 + length_ns];
    assert_eq!(starts.map(|start| planner.blockers(&at(start))), [vec![], vec![], vec![0], vec![0], vec![0], vec![]]);
    // A whole period can be its own; who needs more meets its own next message.
    let mut long = at(20_000);
    long.hops.truncate(1);
    long.hops[0].link = network.links.len() - 1;
    long.hops[0].end_ns = 20_000 + network.streams[1].period_ns;
    assert_eq!(planner.blockers(&long), [0; 0]);
    long.hops[0].end_ns += 1;
    assert_eq!(planner.blockers(&long), [1]);
}

/// Instant by instant, until all periods begin together again.
#[test]
fn uses_meet_if_some_instant_is_in_both() {
    let mut random = Random::new(1);
    let mut use_of = |stream| {
        let period_ns = [6, 8, 12][random.below(3) as usize];
        let arrives_ns = random.below(20);
        let from_ns = arrives_ns + random.below(3);
        let end_ns = from_ns + 1 + random.below(4);
        Use { stream, period_ns, queue: 6 + random.below(2) as u8, arrives_ns, from_ns, end_ns }
    };
    let mut met = 0;
    for _ in 0..2_000 {
        let (a, b) = (use_of(0), use_of(1));
        let instants = |one: &Use| {
            let from = if a.queue == b.queue { one.arrives_ns } else { one.from_ns };
            let mut taken = [false; 24];
            for begin in (from..from + 24).step_by(one.period_ns as usize) {
                (begin..begin + one.end_ns - from).for_each(|at| taken[(at % 24) as usize] = true);
            }
            taken
        };
        let both = instants(&a).into_iter().zip(instants(&b)).any(|(a, b)| a && b);
        assert_eq!(meet(&a, &b), both, "{a:?} {b:?}");
        met += usize::from(both);
    }
    assert!((300..1_900).contains(&met), "{met}");
}
