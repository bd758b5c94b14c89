//! Whether the links between two parts of a network are enough for all that must go from one to the other.

use std::collections::VecDeque;

use super::certificate::Certificate;
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
    use crate::network::{Stream, samples};

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
}
