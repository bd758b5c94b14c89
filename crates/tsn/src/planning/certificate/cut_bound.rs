//! Whether the links between two parts of a network are enough for all that must go from one to the other.

use std::collections::VecDeque;

use super::Certificate;
use crate::network::{Network, NodeId};

/// Nodes from which parts are grown.
const MOST_STARTS: usize = 256;
/// Less is rounding.
const CLEARLY: f64 = 1.0 + 1e-6;

/// The most overloaded cut that is found: parts grow from each node, the nearest first, and after each node that they
/// take in, what must leave them is held against what their links can carry.
pub fn overloaded(network: &Network) -> Option<Certificate> {
    let step = network.nodes.len().div_ceil(MOST_STARTS).max(1);
    let found = (0..network.nodes.len()).step_by(step).flat_map(|start| around(network, start));
    found.max_by(|a, b| ratio(a).total_cmp(&ratio(b)))
}

fn ratio(certificate: &Certificate) -> f64 {
    match certificate {
        Certificate::Cut { needed, links, .. } => needed / *links as f64,
        _ => 0.0,
    }
}

/// Parts around one node, both ways out and in.
fn around(network: &Network, start: NodeId) -> Vec<Certificate> {
    let order = nearest_first(network, start);
    let mut place = vec![usize::MAX; network.nodes.len()];
    order.iter().enumerate().for_each(|(n, node)| place[*node] = n);
    let fastest = network.links.iter().map(|link| link.rate).max().unwrap_or(1);
    let mut best: [Option<Certificate>; 2] = [None, None];
    for (inward, best) in [false, true].into_iter().zip(&mut best) {
        // What crosses behind each place, as changes from the place before.
        let cuts = order.len();
        let mut needed = vec![0.0; cuts + 1];
        let mut capacity = vec![0.0; cuts + 1];
        let mut links = vec![0i64; cuts + 1];
        let mut streams = vec![0i64; cuts + 1];
        for (id, stream) in network.streams.iter().enumerate() {
            let ends = stream.listeners.iter().map(|listener| place[*listener]);
            // To cross once is the least, however many listeners there are on the other side.
            let (from, to) = match inward {
                false => (place[stream.talker], ends.max().unwrap_or(0)),
                true => (ends.min().unwrap_or(0), place[stream.talker]),
            };
            if from < to && to < usize::MAX {
                // On the fastest link it takes least.
                let share = network.bits(id).all as f64 * 1e9 / fastest as f64 / stream.period_ns as f64;
                needed[from] += share;
                needed[to] -= share;
                streams[from] += 1;
                streams[to] -= 1;
            }
        }
        for link in &network.links {
            let (from, to) =
                if inward { (place[link.to], place[link.from]) } else { (place[link.from], place[link.to]) };
            if from < to && to < usize::MAX {
                let part = link.rate as f64 / fastest as f64;
                capacity[from] += part;
                capacity[to] -= part;
                links[from] += 1;
                links[to] -= 1;
            }
        }
        let (mut need, mut have, mut crossing, mut count) = (0.0, 0.0, 0, 0);
        for n in 0..cuts {
            need += needed[n];
            have += capacity[n];
            crossing += links[n];
            count += streams[n];
            let scaled = need / f64::max(have, 1e-9) * crossing as f64;
            let cut = Certificate::Cut {
                around: start,
                nodes: n + 1,
                inward,
                needed: scaled,
                links: crossing as usize,
                streams: count as usize,
            };
            if crossing > 1 && need > have * CLEARLY && best.as_ref().is_none_or(|known| ratio(&cut) > ratio(known)) {
                *best = Some(cut);
            }
        }
    }
    best.into_iter().flatten().collect()
}

fn nearest_first(network: &Network, start: NodeId) -> Vec<NodeId> {
    let mut out: Vec<Vec<NodeId>> = vec![Vec::new(); network.nodes.len()];
    network.links.iter().for_each(|link| out[link.from].push(link.to));
    let mut seen = vec![false; network.nodes.len()];
    seen[start] = true;
    let (mut order, mut waiting) = (Vec::new(), VecDeque::from([start]));
    while let Some(node) = waiting.pop_front() {
        order.push(node);
        for &next in &out[node] {
            if !std::mem::replace(&mut seen[next], true) {
                // Who has this neighbour alone belongs to it.
                match out[next].len() {
                    1 => order.push(next),
                    _ => waiting.push_back(next),
                }
            }
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::{Kind, Link, Node, Overhead, Stream, samples};
    use crate::planning::random::Random;

    #[test]
    fn two_links_that_are_too_few_together() {
        let mut network = samples::ring(6, 0);
        // From the stations of one half to those of the other: two links lead there, and no single one must be taken.
        let stream = |n: usize| Stream {
            name: format!("f{n}"),
            talker: 6 + n % 3,
            listeners: vec![9 + n / 3 % 3],
            size: 1_400,
            period_ns: 100_000,
            deadline_ns: 100_000,
            jitter_ns: 0,
            queue: None,
            address: None,
            vlan: None,
        };
        // 11 536 ns each: 17 are 196 % of a link, 18 are 208 %.
        network.streams = (0..17).map(stream).collect();
        assert_eq!(overloaded(&network), None);
        network.streams = (0..18).map(stream).collect();
        let Some(Certificate::Cut { needed, links: 2, streams: 18, .. }) = overloaded(&network) else {
            panic!("{:?}", overloaded(&network))
        };
        assert!((2.07..2.08).contains(&needed), "{needed}");
        // What fills them exactly is no proof: an eighth of a link each.
        let filled = |streams: usize| {
            let mut network = network.clone();
            network.streams = (0..streams).map(stream).map(|of| Stream { period_ns: 8 * 11_536, ..of }).collect();
            overloaded(&network)
        };
        assert_eq!(filled(16), None);
        assert!(matches!(filled(17), Some(Certificate::Cut { links: 2, streams: 17, .. })), "{:?}", filled(17));
        let share = |cut: &Certificate| match cut {
            Certificate::Cut { needed, links, .. } => (needed / *links as f64 * 1e6) as u64,
            other => panic!("{other:?}"),
        };
        network.streams = (0..40).map(stream).collect();
        let shares: Vec<u64> = (0..12).flat_map(|start| around(&network, start)).map(|cut| share(&cut)).collect();
        assert!(shares.iter().min() < shares.iter().max(), "{shares:?}");
        assert_eq!(overloaded(&network).map(|cut| share(&cut)), shares.into_iter().max());
    }

    /// A network of up to seven nodes with cables and streams by chance; all shares are binary fractions, so that sums
    /// are exact in any order.
    fn drawn(random: &mut Random) -> Network {
        let mut network = samples::ring(3, 1);
        let nodes = 3 + random.below(5) as usize;
        let stations = random.below(3) as usize;
        let kind = |n: usize| if n < stations { Kind::Station } else { Kind::Switch };
        network.nodes = (0..nodes).map(|n| Node { name: format!("n{n}"), system_name: None, kind: kind(n) }).collect();
        network.overhead = Overhead::PayloadOnly;
        let (link, stream) = (network.links[0].clone(), network.streams[0].clone());
        let mut two = || {
            let from = random.below(nodes as u64) as usize;
            (from, (from + 1 + random.below(nodes as u64 - 1) as usize) % nodes, random.below(1 << 32))
        };
        network.links.clear();
        for _ in 0..nodes + 3 {
            let (from, to, chance) = two();
            let rate = 1_000_000_000 >> (chance % 3);
            network.links.push(Link { from, to, rate, ..link.clone() });
            if chance % 5 > 0 {
                network.links.push(Link { from: to, to: from, rate, ..link.clone() });
            }
        }
        network.streams.clear();
        for _ in 0..6 {
            let (talker, to, chance) = two();
            let another = (to + 1 + chance as usize % (nodes - 1)) % nodes;
            let mut listeners = vec![to, another];
            listeners.truncate(1 + chance as usize % 2);
            listeners.retain(|listener| *listener != talker);
            listeners.sort_unstable();
            let (size, period_ns) = (1 + chance as u32 % 4_000, 1 << (14 + chance % 3));
            network.streams.push(Stream { talker, listeners, size, period_ns, ..stream.clone() });
        }
        network.streams.retain(|stream| !stream.listeners.is_empty());
        network
    }

    /// The first part with the highest share of those that nodes in order make, one after the other.
    fn by_hand(network: &Network, order: &[NodeId], inward: bool) -> Option<(usize, f64, usize, usize)> {
        let fastest = network.links.iter().map(|link| link.rate).max().unwrap();
        let mut best: Option<(usize, f64, usize, usize)> = None;
        for n in 1..=order.len() {
            let within = |node: &NodeId| order[..n].contains(node);
            let crosses = |from: &NodeId, to: &NodeId| match inward {
                false => within(from) && order[n..].contains(to),
                true => order[n..].contains(from) && within(to),
            };
            let links: Vec<&Link> = network.links.iter().filter(|link| crosses(&link.from, &link.to)).collect();
            let crossing: Vec<&Stream> = network
                .streams
                .iter()
                .filter(|stream| stream.listeners.iter().any(|to| crosses(&stream.talker, to)))
                .collect();
            let share = |stream: &&Stream| f64::from(stream.size) * 8e9 / fastest as f64 / stream.period_ns as f64;
            let need: f64 = crossing.iter().map(share).sum();
            let have: f64 = links.iter().map(|link| link.rate as f64 / fastest as f64).sum();
            let filled = need / have * links.len() as f64;
            if links.len() > 1
                && need > have
                && best.is_none_or(|(_, known, of, _)| filled / links.len() as f64 > known / of as f64)
            {
                best = Some((n, filled, links.len(), crossing.len()));
            }
        }
        best
    }

    #[test]
    fn the_fullest_part_of_all_is_found_both_ways() {
        let (mut random, mut found, mut within) = (Random::new(5), [0; 2], 0);
        for _ in 0..2_000 {
            let network = drawn(&mut random);
            // Whoever cannot be reached from the start is in no part.
            let all = |order: &[NodeId]| order.len() == network.nodes.len();
            for start in 0..network.nodes.len() {
                let order = nearest_first(&network, start);
                if !all(&order) {
                    continue;
                }
                let mut cuts = around(&network, start).into_iter().peekable();
                for inward_is in [false, true] {
                    let by_hand = by_hand(&network, &order, inward_is);
                    let of = |cut: &Certificate| matches!(cut, Certificate::Cut { inward, .. } if *inward == inward_is);
                    let cut = cuts.next_if(of).map(|cut| match cut {
                        Certificate::Cut { around, nodes, needed, links, streams, .. } => {
                            assert_eq!(around, start);
                            (nodes, needed, links, streams)
                        }
                        other => panic!("{other:?}"),
                    });
                    assert_eq!(cut, by_hand, "{network:?} {order:?}");
                    found[usize::from(inward_is)] += usize::from(cut.is_some());
                    within += usize::from(cut.is_some_and(|cut| cut.0 > 1));
                }
                assert!(cuts.next().is_none());
            }
        }
        assert!(found.iter().all(|found| *found >= 200) && within >= 200, "{found:?} {within}");
    }

    /// Who has one neighbour alone stands right behind it; all others come by their distance.
    #[test]
    fn the_nearest_come_first_and_stations_with_their_switch() {
        let mut random = Random::new(6);
        for _ in 0..300 {
            let network = drawn(&mut random);
            let out = |node: NodeId| network.links.iter().filter(move |link| link.from == node).map(|link| link.to);
            for start in 0..network.nodes.len() {
                let order = nearest_first(&network, start);
                let mut distance = vec![usize::MAX; network.nodes.len()];
                distance[start] = 0;
                for _ in 0..network.nodes.len() {
                    for link in &network.links {
                        // Nobody goes on by one that has a single way out.
                        if distance[link.from] < usize::MAX && (link.from == start || out(link.from).count() != 1) {
                            distance[link.to] = distance[link.to].min(distance[link.from] + 1);
                        }
                    }
                }
                let reached: Vec<NodeId> = (0..network.nodes.len()).filter(|n| distance[*n] < usize::MAX).collect();
                let mut sorted = order.clone();
                sorted.sort_unstable();
                assert_eq!((order[0], sorted), (start, reached), "{network:?}");
                let others = order.iter().filter(|node| **node == start || out(**node).count() != 1);
                assert!(others.map(|node| distance[*node]).is_sorted(), "{order:?} {distance:?}");
                for (place, node) in
                    order.iter().enumerate().filter(|(_, node)| **node != start && out(**node).count() == 1)
                {
                    let before = order[..place].iter().rev().find(|node| **node == start || out(**node).count() != 1);
                    assert_eq!(distance[*node], distance[*before.unwrap()] + 1, "{order:?}");
                }
            }
        }
    }
}
