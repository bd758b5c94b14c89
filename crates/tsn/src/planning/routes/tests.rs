//! Ways held against a search of all there are, in networks by chance.

use super::super::random::Random;
use super::*;
use crate::network::samples;

/// To the neighbour there is a cable, and the way round the ring.
#[test]
fn ways_come_in_turn_until_there_are_no_more() {
    let mut network = samples::ring(4, 1);
    let hops = |network: &Network, most| {
        let routes = Routes::new(network, most, 1);
        (0..4).map(|n| routes.nth(0, n).map(|route| route.hops.len())).collect::<Vec<_>>()
    };
    assert_eq!(hops(&network, 4), [Some(3), Some(5), None, None]);
    assert_eq!(hops(&network, 1), [Some(3), None, None, None]);
    // Who listens at the talker's own switch has one way: it keeps that while the other goes round.
    network.nodes.push(crate::network::Node {
        name: "h4".into(),
        system_name: None,
        kind: crate::network::Kind::Station,
    });
    network.links.push(crate::network::Link { from: 0, to: 8, ..network.links[2].clone() });
    network.streams[0].listeners.push(8);
    assert_eq!(hops(&network, 4), [Some(4), Some(6), None, None]);
}

/// A network by chance, of switches and of stations with two cables each.
fn drawn(random: &mut Random) -> Network {
    let mut network = samples::ring(4, 1);
    let link = network.links[0].clone();
    for (from, to) in [(4, 1), (1, 4), (0, 2), (2, 0)] {
        network.links.push(crate::network::Link { from, to, ..link.clone() });
    }
    for link in &mut network.links {
        link.rate = [100_000_000, 1_000_000_000, 1_000_000_000][random.below(3) as usize];
        link.propagation_ns = random.below(30_000);
        link.processing_ns = random.below(30_000);
    }
    network.streams[0].talker = 4;
    network.streams[0].listeners = vec![6, 7];
    network.streams[0].size = 100 + random.below(3_000) as u32;
    network
}

/// All ways without loops, the cheapest first by the largest frame, cables and switches.
fn ways(network: &Network, to: NodeId) -> Vec<(u64, Vec<LinkId>)> {
    let (mut found, mut waiting) = (Vec::new(), vec![(4, vec![4], 0, Vec::new())]);
    while let Some((node, passed, cost, links)) = waiting.pop() {
        if node == to {
            found.push((cost, links));
        } else if node < 4 || node == 4 && passed.len() == 1 {
            for (id, link) in network.links.iter().enumerate().filter(|(_, link)| link.from == node) {
                if !passed.contains(&link.to) {
                    let largest_ns = 12_336 * (1_000_000_000 / link.rate);
                    let cost = cost + largest_ns + link.propagation_ns + link.processing_ns;
                    let [passed, links] = [[&passed[..], &[link.to]].concat(), [&links[..], &[id]].concat()];
                    waiting.push((link.to, passed, cost, links));
                }
            }
        }
    }
    found.sort();
    found
}

/// A talker's streams share one search, whoever asks first and whatever was asked before.
#[test]
fn a_talkers_streams_have_the_ways_that_each_would_find_alone() {
    let mut random = Random::new(5);
    let mut shared = 0;
    for _ in 0..100 {
        let mut network = drawn(&mut random);
        let stations = 4..8;
        let pairs = stations.clone().flat_map(|from| stations.clone().map(move |to| (from, to)));
        let one = network.streams[0].clone();
        let stream = |(talker, to)| crate::network::Stream { talker, listeners: vec![to], ..one.clone() };
        network.streams = pairs.filter(|(from, to)| from != to).map(stream).collect();
        let routes = Routes::new(&network, 4, 1);
        let graph = Graph::new(&network);
        for _ in 0..2 * network.streams.len() {
            let stream = random.below(network.streams.len() as u64) as usize;
            let of = &network.streams[stream];
            let cost = |link| delay_ns(&network, link);
            let alone = graph.path(of.talker, of.listeners[0], cost, |_, _| false);
            routes.nth(stream, random.below(2) as usize);
            let route = routes.nth(stream, 0).unwrap();
            assert_eq!(routes.links(stream), alone, "{stream} of {network:?}");
            assert_eq!(Some(route.hops.iter().map(|hop| hop.link).collect()), alone);
            shared += usize::from(alone.is_some_and(|links| links.len() > 2));
        }
    }
    assert!(shared > 1_000, "{shared}");
}

#[test]
fn ways_are_the_cheapest_of_all_one_after_the_other() {
    let mut random = Random::new(61);
    let mut many = 0;
    for _ in 0..150 {
        let mut network = drawn(&mut random);
        let all = [6, 7].map(|to| ways(&network, to));
        for most in [1, 2, 5] {
            let routes = Routes::new(&network, most, 1);
            assert_eq!(routes.most(), most);
            // In any order, and again.
            for n in [1, 0, 3, 2, 4, 5, 1] {
                let another = all.iter().any(|all| n < all.len().min(most));
                let expected = another.then(|| {
                    let paths = all.each_ref().map(|all| all[n.min(most - 1).min(all.len() - 1)].1.clone());
                    Route::along(&network, 0, &paths, 1)
                });
                assert_eq!(routes.nth(0, n), expected, "{n} of {most}");
                many += usize::from(another && n > 1);
            }
        }
        network.streams[0].listeners = vec![6];
        assert_eq!(Routes::new(&network, 0, 0).nth(0, 0).unwrap().hops.len(), all[0][0].1.len());
    }
    assert!(many >= 150, "{many}");
}

/// Time by time: each hop begins when the whole first frame is there, and each listener has the last bit after the
/// last frame on its link.
#[test]
fn a_route_takes_what_its_frames_take_hop_by_hop() {
    let mut random = Random::new(62);
    for _ in 0..200 {
        let mut network = drawn(&mut random);
        network.sync_error_ns = random.below(200);
        let error_ns = network.sync_error_ns;
        let paths: Vec<Vec<LinkId>> = [6, 7].map(|to| ways(&network, to)[0].1.clone()).to_vec();
        let route = Route::along(&network, 0, &paths, 1);
        let mut reached = vec![4];
        let mut ends: Vec<Vec<u64>> = Vec::new();
        let mut delay_ns = 0;
        for hop in &route.hops {
            let link = &network.links[hop.link];
            assert!(reached.contains(&link.from) && !reached.contains(&link.to));
            reached.push(link.to);
            let carried = network.message_time(0, hop.link);
            let frames = carried.frames as usize;
            let comes: Vec<u64> = match hop.before {
                None => vec![0; frames],
                Some(before) => {
                    let way = &network.links[route.hops[before].link];
                    assert_eq!(way.to, link.from);
                    let behind = way.propagation_ns + way.processing_ns + error_ns;
                    ends[before].iter().map(|end| end + behind).collect()
                }
            };
            let mut free = 0;
            let mut left = Vec::new();
            for (n, comes) in comes.iter().enumerate() {
                let lasts = if n + 1 == frames { carried.last_ns } else { carried.first_ns };
                free = free.max(*comes) + lasts;
                left.push(free - carried.gap_ns);
            }
            assert_eq!((hop.shift_ns, hop.shift_ns + hop.length_ns), (comes[0], free));
            assert_eq!((hop.gap_ns, hop.tail_ns), (carried.gap_ns, carried.gap_ns));
            assert_eq!(hop.lead_ns, if hop.before.is_some() { 2 * error_ns } else { 0 });
            assert_eq!((hop.propagation_ns, hop.delivers), (link.propagation_ns, link.to > 5));
            if hop.delivers {
                delay_ns = delay_ns.max(left[frames - 1] + link.propagation_ns);
            }
            ends.push(left);
        }
        assert!(reached.contains(&6) && reached.contains(&7));
        assert_eq!(route.delay_ns, delay_ns + error_ns);
    }
}
