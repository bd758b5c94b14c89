//! Searches followed step by step: whatever a planner does, its table, what it has taken and its count agree.

use super::super::Prefer;
use super::super::occupancy::Use;
use super::improve::{CHOICES, Choice, meet};
use super::*;
use crate::network::{Stream, samples};

/// A ring with more streams than it carries, of which some may wait and some have a queue of their own.
fn crowded(random: &mut Random) -> Network {
    let mut network = samples::ring(3 + random.below(2) as usize, 14);
    let nodes = network.nodes.len() / 2;
    for stream in &mut network.streams {
        stream.talker = nodes + random.below(nodes as u64) as usize;
        let to = (stream.talker - nodes + 1 + random.below(nodes as u64 - 1) as usize) % nodes;
        stream.listeners = vec![nodes + to];
        stream.period_ns = [100_000, 200_000, 400_000][random.below(3) as usize];
        stream.deadline_ns = stream.period_ns / (1 + random.below(3));
        stream.size = 200 + random.below(5_000) as u32;
        stream.queue = (random.below(4) == 0).then_some(5);
    }
    network
}

/// What is taken is what the table says, and nobody is in another one's way.
fn assert_consistent(planner: &Planner) {
    for link in 0..planner.network.links.len() {
        let key = |one: &Use| (one.stream, one.from_ns);
        let mut taken = planner.taken.uses(link).to_vec();
        let placed = planner.table.placed.iter().flatten();
        let uses = placed.flat_map(|placed| placed.uses(planner.network).collect::<Vec<_>>());
        let mut expected: Vec<Use> = uses.filter(|(of, _)| *of == link).map(|(_, one)| one).collect();
        taken.sort_unstable_by_key(key);
        expected.sort_unstable_by_key(key);
        assert_eq!(taken, expected);
        for (n, a) in taken.iter().enumerate() {
            assert!(taken[..n].iter().all(|b| !meet(a, b)), "{a:?} {taken:?}");
        }
    }
    for placed in planner.table.placed.iter().flatten() {
        let of = &planner.network.streams[placed.stream];
        assert!(placed.latency_ns() <= of.deadline_ns);
        assert!(of.queue.is_none_or(|queue| queue == placed.queue));
    }
}

#[test]
fn a_search_moves_others_and_leaves_nobody_in_the_way() {
    let mut random = Random::new(31);
    let (mut moved, mut evicted, mut waits) = (0, 0, 0);
    for prefer in [Prefer::Early, Prefer::Spread, Prefer::FewEntries].into_iter().cycle().take(9) {
        let network = crowded(&mut random);
        let options = PlanOptions { prefer, routes: 2, ..PlanOptions::default() };
        let mut planner = Planner::new(&network, &options, &Timetable::default(), 0);
        let mut left = planner.construct(Order::LeastFreedom, WaitPolicy::AtOnce, &|| true);
        assert_consistent(&planner);
        for _ in 0..40 {
            let Some(stream) = left.pop_front() else { break };
            if planner.place(stream) {
                continue;
            }
            planner.weight[stream] += 1;
            let (before, count) = (planner.table.clone(), planner.effort.moved);
            let out = planner.displace(stream);
            assert_consistent(&planner);
            match &out[..] {
                // It is there, and so is everybody who was before.
                [] => {
                    let other = |(now, then): (&Option<Placed>, &Option<Placed>)| now != then && then.is_some();
                    let others = planner.table.placed.iter().zip(&before.placed).filter(|both| other(*both)).count();
                    assert!(planner.table.placed[stream].is_some());
                    assert!(
                        before.placed.iter().zip(&planner.table.placed).all(|(was, is)| was.is_none() || is.is_some())
                    );
                    assert!(planner.effort.moved - count >= others as u64 && planner.effort.moved > count);
                    moved += 1;
                }
                // Nothing changed.
                [same] if *same == stream => assert_eq!(planner.table, before),
                out => {
                    assert!(planner.table.placed[stream].is_some() && planner.effort.moved == count);
                    for (id, (is, was)) in planner.table.placed.iter().zip(&before.placed).enumerate() {
                        let expected = if id == stream {
                            is
                        } else if out.contains(&id) {
                            &None
                        } else {
                            was
                        };
                        assert_eq!(is, expected);
                    }
                    assert!(out.iter().all(|id| before.placed[*id].is_some()));
                    evicted += 1;
                }
            }
            left.extend(out);
        }
        waits += planner.table.placed.iter().flatten().filter(|placed| placed.waits).count();
    }
    assert!(moved >= 5 && evicted >= 10 && waits >= 1, "{moved} {evicted} {waits}");
}

/// The cheapest first; who is in the way is who meets it, and those that are kept never are.
#[test]
fn choices_are_the_cheapest_and_spare_those_that_are_kept() {
    let mut random = Random::new(32);
    let (mut seen, mut empty, mut waiting) = (0, 0, 0);
    for round in 0..12 {
        let network = crowded(&mut random);
        let options =
            PlanOptions { wait: round % 3 > 0, routes: 2, slot_ns: [1, 100][round % 2], ..PlanOptions::default() };
        let mut planner = Planner::new(&network, &options, &Timetable::default(), 0);
        let left = planner.construct(Order::LargestShare, WaitPolicy::Last, &|| true);
        for (n, weight) in planner.weight.iter_mut().enumerate() {
            *weight = 1 + n as u64 % 4;
        }
        for n in 0..network.streams.len() {
            planner.fixed[n] = n % 3 == 0 && planner.table.placed[n].is_some();
        }
        for stream in left {
            let choices = planner.choices(stream);
            assert!(choices.len() <= CHOICES && choices.is_sorted_by_key(|choice| (choice.cost, choice.chance)));
            for choice in &choices {
                let Choice { cost, blockers, placed, .. } = choice;
                let mut met: Vec<StreamId> = Vec::new();
                for (link, one) in placed.uses(&network) {
                    met.extend(
                        planner.taken.uses(link).iter().filter(|other| meet(&one, other)).map(|other| other.stream),
                    );
                }
                met.sort_unstable();
                met.dedup();
                assert_eq!(*blockers, met);
                assert_eq!(*cost, met.iter().map(|stream| planner.weight[*stream]).sum::<u64>());
                assert!(met.iter().all(|stream| !planner.fixed[*stream]));
                assert!(placed.stream == stream && placed.latency_ns() <= network.streams[stream].deadline_ns);
                assert!(placed.hops.iter().all(|hop| hop.begin_ns % options.slot_ns == 0));
                assert!(options.wait || !placed.waits);
                assert!(network.streams[stream].queue.is_none_or(|queue| queue == placed.queue));
                waiting += usize::from(placed.waits);
            }
            seen += choices.len();
            empty += usize::from(choices.is_empty());
        }
    }
    assert!(seen >= 50 && waiting >= 5, "{seen} {empty} {waiting}");
}

/// With the ways that leave links some room first, and without.
#[test]
fn ways_are_tried_in_the_order_in_which_they_are_meant() {
    let network = samples::ring(5, 6);
    for most in [1, 3] {
        let options = PlanOptions { routes: most, ..PlanOptions::default() };
        let mut planner = Planner::new(&network, &options, &Timetable::default(), 0);
        let routes = Routes::new(&network, most, 1);
        for stream in 0..6 {
            assert!((0..4).all(|n| planner.route(stream, n) == routes.nth(stream, n)));
        }
        planner.balance();
        for (stream, balanced) in
            balance::routes(&network, 1, &Timetable { placed: vec![None; 6] }).into_iter().enumerate()
        {
            // Who has one way only keeps to the shortest.
            let first = if most == 1 { routes.nth(stream, 0) } else { balanced };
            assert_eq!(planner.route(stream, 0), first);
            let behind = usize::from(most > 1);
            assert!((1..4).all(|n| planner.route(stream, n) == routes.nth(stream, n - behind)), "{most} {stream}");
        }
    }
}

#[test]
fn the_lowest_queue_is_everybody_elses_where_there_are_others() {
    let (mut network, options) = (samples::ring(3, 2), PlanOptions { routes: 1, ..PlanOptions::default() });
    let queues = |network: &Network, stream| {
        let mut planner = Planner::new(network, &options, &Timetable::default(), 0);
        let route = planner.route(stream, 0).unwrap();
        planner.queues(stream, &route).collect::<Vec<_>>()
    };
    let on = |network: &Network, stream: StreamId| Routes::new(network, 1, 1).links(stream).unwrap();
    assert_eq!(queues(&network, 0), [7, 6, 5, 4, 3, 2, 1]);
    network.streams[1] = Stream { queue: Some(3), ..network.streams[0].clone() };
    assert_eq!((queues(&network, 1), queues(&network, 0).len()), (vec![3], 7));
    let way = on(&network, 0);
    // Ports that it does not pass have no say.
    let elsewhere = (0..network.links.len()).find(|link| !way.contains(link)).unwrap();
    network.links[elsewhere].queues = 1;
    assert_eq!(queues(&network, 0).len(), 7);
    // The port with the fewest decides.
    for (fewest, expected) in [(4, vec![3, 2, 1]), (3, vec![2, 1]), (2, vec![1]), (1, vec![0])] {
        network.links[way[1]].queues = fewest;
        assert_eq!(queues(&network, 0), expected);
    }
    network.streams[1].queue = Some(0);
    assert_eq!(queues(&network, 1), [0]);
    network.links[way[1]].queues = 2;
    assert_eq!(queues(&network, 1), [0; 0]);
}

/// As early as there is room, anywhere, or next to others; never later than is in time.
#[test]
fn each_style_places_windows_where_it_says() {
    let mut network = samples::ring(4, 3);
    let first = network.streams[0].clone();
    network.streams = vec![Stream { deadline_ns: 40_000, ..first }; 3];
    let kept = Timetable::default();
    let starts = |prefer, seed| {
        let options = PlanOptions { prefer, seed, ..PlanOptions::default() };
        let mut planner = Planner::new(&network, &options, &kept, 0);
        let route = planner.route(0, 0).unwrap();
        // One is there already, from 10 us on.
        let there = planner.search(1, 7, 0).at(&route, 10_000);
        planner.put(there);
        let found = planner.run_through(0, &route).unwrap();
        assert!(found.latency_ns() <= 40_000);
        (found.offset_ns(), route)
    };
    let (early, route) = starts(Prefer::Early, 1);
    assert_eq!(early, 0);
    // Its windows end where those of the other begin, on all links.
    assert_eq!(starts(Prefer::FewEntries, 1).0, 10_000 - route.hops[0].length_ns);
    let spread: Vec<u64> = (0..40).map(|seed| starts(Prefer::Spread, seed).0).collect();
    let latest = 40_000 - route.delay_ns;
    assert!(spread.iter().all(|start| *start <= latest) && spread.iter().any(|start| *start > latest * 2 / 3));
    assert!(spread.iter().any(|start| *start < latest / 3 && *start > 0), "{spread:?}");
}

#[test]
fn longer_patience_is_never_worse_and_who_found_none_weighs_more() {
    let mut random = Random::new(33);
    let mut better = 0;
    for _ in 0..12 {
        let network = crowded(&mut random);
        let options = PlanOptions { routes: 2, ..PlanOptions::default() };
        let missing = |patience: usize| {
            let mut planner = Planner::new(&network, &options, &Timetable::default(), 0);
            let left = planner.construct(Order::LeastFreedom, WaitPolicy::Last, &|| true);
            let (count, before) = (left.len(), planner.table.clone());
            planner.improve(left, patience, &|| true);
            if patience == 0 {
                assert_eq!(planner.table, before);
            }
            let found = planner.table.missing().count();
            assert!(found <= count && planner.weight.iter().all(|weight| *weight >= 1));
            // Each step of which nothing came makes one stream dearer.
            let dearer: u64 = planner.weight.iter().map(|weight| weight - 1).sum();
            assert!(dearer <= patience as u64 && (patience < 10 || found == 0 || dearer > 0), "{dearer}");
            found
        };
        let all: Vec<usize> = (0..40).map(missing).collect();
        assert!(all.is_sorted_by(|a, b| a >= b), "{all:?}");
        better += usize::from(all[39] < all[0]);
    }
    assert!(better >= 3, "{better}");
}

#[test]
fn a_start_is_improved_for_twenty_steps_of_each_stream_and_a_thousand_besides() {
    assert_eq!([0, 1, 50].map(Planner::patience), [1_000, 1_020, 2_000]);
}

#[test]
fn what_was_tried_adds_up() {
    let sum = SearchEffort { places: 3, moved: 40 } + SearchEffort { places: 5, moved: 200 };
    assert_eq!(sum, SearchEffort { places: 8, moved: 240 });
}

#[test]
fn half_a_key_is_the_most_that_a_restart_adds() {
    let (network, options) = (samples::ring(3, 1), PlanOptions::default());
    let mut planner = Planner::new(&network, &options, &Timetable::default(), 1);
    for (key, expected) in [(0, vec![0]), (1, vec![1]), (2, vec![2, 3]), (5, vec![5, 6, 7])] {
        let mut drawn: Vec<u64> = (0..100).map(|_| planner.perturbed(key)).collect();
        drawn.sort_unstable();
        drawn.dedup();
        assert_eq!(drawn, expected);
    }
}

/// Shortest ways around a ring fill a link with so many streams.
#[test]
fn a_network_is_crowded_from_three_fifths_of_its_fullest_link_on() {
    let options = PlanOptions::default();
    let crowded = |count: usize| {
        let mut network = samples::ring(4, 1);
        // 12 336 ns each.
        let one = Stream { size: 1_500, period_ns: 123_360, deadline_ns: 123_360, ..network.streams[0].clone() };
        network.streams = vec![one; count];
        let shortest = (0..count).map(|n| (n, Routes::new(&network, 1, 1).links(n).unwrap())).collect::<Vec<_>>();
        let fullest = balance::fullest(&network, shortest.into_iter());
        assert!((fullest - count as f64 / 10.0).abs() < 1e-9, "{fullest}");
        Planner::new(&network, &options, &Timetable::default(), 0).is_crowded()
    };
    assert_eq!([0, 1, 5, 7].map(crowded), [false, false, false, true]);
}
