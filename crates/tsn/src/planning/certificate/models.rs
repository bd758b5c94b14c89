//! Proofs held against what counting by hand gives, with small numbers.

use super::super::random::Random;
use super::*;
use crate::egress::EgressTiming;
use crate::network::{Kind, Link, Node, Stream, samples};

/// Three to five switches and as many stations, with cables and streams by chance.
fn drawn(random: &mut Random) -> Network {
    let mut network = samples::ring(3, 1);
    let (link, stream) = (network.links[0].clone(), network.streams[0].clone());
    let switches = 3 + random.below(3) as usize;
    let node = |n: usize| Node {
        name: format!("n{n}"),
        system_name: None,
        kind: if n < switches { Kind::Switch } else { Kind::Station },
    };
    network.nodes = (0..2 * switches).map(node).collect();
    network.links.clear();
    let mut cable = |from: usize, to: usize, random: &mut Random| {
        let mut one = |from, to| {
            let rate = 1_000_000_000 / [1, 10][random.below(5) as usize / 4];
            let (propagation_ns, processing_ns) = (random.below(500), random.below(4_000));
            network.links.push(Link { from, to, rate, propagation_ns, processing_ns, ..link.clone() });
        };
        one(from, to);
        one(to, from);
    };
    for n in 0..switches {
        cable(n, switches + n, random);
        if n > 0 {
            cable(n, random.below(n as u64) as usize, random);
        }
    }
    if random.below(2) == 0 {
        cable(0, switches - 1, random);
        // Some stations have two cables.
        cable(switches, 1, random);
    }
    let stream = |random: &mut Random| {
        let talker = switches + random.below(switches as u64) as usize;
        let mut listeners: Vec<NodeId> =
            (0..1 + random.below(2)).map(|_| switches + random.below(switches as u64) as usize).collect();
        listeners.sort_unstable();
        listeners.dedup();
        listeners.retain(|listener| *listener != talker);
        let size = 1 + random.below(4_000) as u32;
        Stream { talker, listeners, size, period_ns: 1_000_000, deadline_ns: 1_000_000, ..stream.clone() }
    };
    network.streams = (0..4).map(|_| stream(random)).filter(|stream| !stream.listeners.is_empty()).collect();
    if random.below(2) == 0 {
        network.timing = EgressTiming { hand_over_ns: 300, spread_ns: 70, forwarding_ns: 900, ..EgressTiming::IDEAL };
    }
    network
}

/// All ways without loops; stations do not forward.
fn ways(network: &Network, from: NodeId, to: NodeId) -> Vec<Vec<LinkId>> {
    let (mut found, mut waiting) = (Vec::new(), vec![(from, vec![from], Vec::new())]);
    while let Some((node, passed, links)) = waiting.pop() {
        if node == to {
            found.push(links);
        } else if node == from || network.nodes[node].kind == Kind::Switch {
            for (id, link) in network.links.iter().enumerate().filter(|(_, link)| link.from == node) {
                if !passed.contains(&link.to) {
                    waiting.push((link.to, [&passed[..], &[link.to]].concat(), [&links[..], &[id]].concat()));
                }
            }
        }
    }
    found
}

/// The smallest frame over all these links, in ns, with all that lies behind each.
fn along(network: &Network, stream: StreamId, way: &[LinkId]) -> u64 {
    let bits = network.bits(stream).last_alone;
    let one = |link: &LinkId| {
        let of = &network.links[*link];
        let frame_ns = (bits as f64 * 1e9 / of.rate as f64 + 1e-6) as u64;
        frame_ns + of.propagation_ns + network.timing.latest_ns() + of.processing_ns.max(network.timing.forwarding_ns)
    };
    way.iter().map(one).sum()
}

/// The most that any cable into a node brings behind it.
fn behind_all(network: &Network, node: NodeId) -> u64 {
    let cables = network.links.iter().filter(|link| link.to == node);
    cables.map(|link| link.processing_ns.max(network.timing.forwarding_ns)).max().unwrap()
}

fn quickest(network: &Network, stream: StreamId, listener: NodeId) -> u64 {
    let talker = network.streams[stream].talker;
    let bits = network.bits(stream);
    let before = bits.all - bits.last_alone - bits.gap;
    let rate = network.links.iter().filter(|link| link.from == talker).map(|link| link.rate).max().unwrap();
    let least = ways(network, talker, listener).iter().map(|way| along(network, stream, way)).min().unwrap();
    least + before * 1_000 / (rate / 1_000_000) - behind_all(network, listener)
}

/// A deadline of exactly the quickest way is none that cannot be kept.
#[test]
fn deadlines_are_held_against_the_quickest_of_all_ways() {
    let (mut random, mut several) = (Random::new(21), 0);
    for _ in 0..400 {
        let mut network = drawn(&mut random);
        let quickest = |network: &Network, stream: StreamId| {
            let each = network.streams[stream].listeners.iter().map(|to| quickest(network, stream, *to));
            each.max().unwrap()
        };
        let all: Vec<u64> = (0..network.streams.len()).map(|stream| quickest(&network, stream)).collect();
        several += usize::from(network.streams.iter().any(|stream| stream.listeners.len() > 1));
        for (stream, least) in network.streams.iter_mut().zip(&all) {
            stream.deadline_ns = *least;
        }
        assert_eq!(deadlines(&network), []);
        network.streams.iter_mut().for_each(|stream| stream.deadline_ns -= 1);
        let late = |(stream, quickest_ns)| Certificate::Deadline { stream, quickest_ns };
        assert_eq!(deadlines(&network), all.into_iter().enumerate().map(late).collect::<Vec<_>>());
        // Nothing else is said of those.
        assert!(demands(&network).is_empty());
    }
    assert!(several >= 100, "{several}");
}

/// A link that all ways take, from when on the frame may be there, and until when it must have left.
#[test]
fn links_that_all_ways_take_are_needed_between_the_quickest_coming_and_the_last_going() {
    let (mut random, mut shared, mut avoided) = (Random::new(22), 0, 0);
    for _ in 0..300 {
        let network = drawn(&mut random);
        let demands = demands(&network);
        for link in 0..network.links.len() {
            let way = &network.links[link];
            let mut expected: Vec<(StreamId, u64, u64, u64, u64)> = Vec::new();
            for (stream, of) in network.streams.iter().enumerate() {
                let mut latest: Vec<u64> = Vec::new();
                for &listener in &of.listeners {
                    let all = ways(&network, of.talker, listener);
                    if !all.iter().all(|way| way.contains(&link)) {
                        avoided += 1;
                        continue;
                    }
                    let behind = match way.to == listener {
                        true => 0,
                        false => {
                            let on = ways(&network, way.to, listener)
                                .iter()
                                .map(|w| along(&network, stream, w))
                                .min()
                                .unwrap();
                            let all = way.processing_ns.max(network.timing.forwarding_ns) + on;
                            all.saturating_sub(behind_all(&network, listener))
                        }
                    };
                    let gap_ns = 96 * 1_000 / (way.rate / 1_000_000);
                    latest.push(of.deadline_ns - behind - way.propagation_ns + gap_ns);
                }
                shared += usize::from(latest.len() > 1);
                if let Some(latest_ns) = latest.into_iter().min() {
                    let coming = ways(&network, of.talker, way.from);
                    let earliest_ns = match way.from == of.talker {
                        true => 0,
                        false => coming.iter().map(|w| along(&network, stream, w)).min().unwrap(),
                    };
                    let bits = network.bits(stream);
                    let [all, first] = [bits.all, bits.first].map(|bits| bits * 1_000 / (way.rate / 1_000_000));
                    expected.push((stream, all, first, earliest_ns, latest_ns));
                }
            }
            let found = demands.get(&link).into_iter().flatten();
            let found = found.map(|m| (m.stream, m.needs_ns, m.frame_ns, m.earliest_ns, m.latest_ns));
            assert_eq!(found.collect::<Vec<_>>(), expected, "{link} {network:?}");
        }
    }
    assert!(shared >= 30 && avoided >= 100, "{shared} {avoided}");
}

fn demand(stream: StreamId, period_ns: u64, needs_ns: u64, frame_ns: u64, times: (u64, u64)) -> Demand {
    Demand { stream, period_ns, needs_ns, frame_ns, earliest_ns: times.0, latest_ns: times.1 }
}

/// Of each two periods those that take most of their common divisor; between equals the first.
#[test]
fn any_two_periods_are_held_against_each_other() {
    let (mut random, mut excluded, mut by_message) = (Random::new(23), 0, 0);
    for _ in 0..2_000 {
        let demands: Vec<Demand> = (0..2 + random.below(5) as usize)
            .map(|stream| {
                let (period_ns, frame_ns) = ([120, 180, 240, 700][random.below(4) as usize], 1 + random.below(40));
                demand(stream, period_ns, frame_ns + 40 * random.below(4), frame_ns, (0, period_ns))
            })
            .collect();
        let mut periods: Vec<u64> = demands.iter().map(|demand| demand.period_ns).collect();
        periods.sort_unstable();
        periods.dedup();
        let mut expected = Vec::new();
        for (n, longer) in periods.iter().enumerate() {
            for shorter in &periods[..n] {
                let common_ns = (1..=*shorter).rev().find(|ns| shorter % ns == 0 && longer % ns == 0).unwrap();
                let takes = |demand: &&Demand| demand.frame_ns.max(demand.needs_ns * common_ns / demand.period_ns);
                let most = |period: &u64| {
                    let of = || demands.iter().filter(|demand| demand.period_ns == *period);
                    let first_of = |key: fn(&Demand) -> u64| of().rev().max_by_key(|demand| key(demand)).unwrap();
                    let (frame, message) = (first_of(|demand| demand.frame_ns), first_of(|demand| demand.needs_ns));
                    by_message += usize::from(takes(&message) > takes(&frame));
                    let one = if takes(&message) > takes(&frame) { message } else { frame };
                    assert_eq!(takes(&one), of().map(|demand| takes(&demand)).max().unwrap());
                    (takes(&one), one.stream)
                };
                let (mut most, mut none) = (most, 0);
                let (a, b) = (most(longer), most(shorter));
                none += usize::from(a.0 + b.0 <= common_ns);
                if none == 0 {
                    let streams = [b.1, a.1];
                    expected.push(Certificate::Exclusive { link: 3, streams, needed_ns: a.0 + b.0, common_ns });
                }
            }
        }
        excluded += expected.len();
        assert_eq!(exclusive(3, &demands), expected);
    }
    assert!(excluded >= 500 && by_message >= 200, "{excluded} {by_message}");
    // Together exactly the divisor is enough; not more proofs than can be read.
    let two = |second| [demand(0, 40, 10, 10, (0, 40)), demand(1, 60, second, second, (0, 60))];
    assert_eq!(exclusive(0, &two(10)), []);
    assert_eq!(exclusive(0, &two(11)).len(), 1);
    let many: Vec<Demand> = (0..8).map(|n| demand(n, 97 + n as u64, 50, 50, (0, 97))).collect();
    assert_eq!(exclusive(0, &many).len(), LISTED);
}

/// The first deadline that is missed if at each instant the most urgent message is carried.
fn first_late_by_hand(jobs: &[Job]) -> Option<u64> {
    let mut left: Vec<u64> = jobs.iter().map(|job| job.needs_ns).collect();
    let mut done: Vec<Option<u64>> = vec![None; jobs.len()];
    for now in 0..1_000 {
        let ready = (0..jobs.len()).filter(|n| jobs[*n].from_ns <= now && left[*n] > 0);
        if let Some(next) = ready.min_by_key(|n| jobs[*n].to_ns) {
            left[next] -= 1;
            if left[next] == 0 {
                done[next] = Some(now + 1);
            }
        }
    }
    let late = (0..jobs.len()).filter(|n| done[*n].unwrap() > jobs[*n].to_ns);
    late.map(|n| jobs[n].to_ns).min()
}

#[test]
fn what_is_late_is_late_if_the_most_urgent_goes_first_at_each_instant() {
    let (mut random, mut late, mut just) = (Random::new(24), 0, 0);
    for _ in 0..3_000 {
        let job = |random: &mut Random| {
            let (from_ns, needs_ns) = (random.below(30), 1 + random.below(8));
            Job { from_ns, to_ns: from_ns + needs_ns + random.below(16), needs_ns }
        };
        let mut jobs: Vec<Job> = (0..1 + random.below(6)).map(|_| job(&mut random)).collect();
        jobs.sort_unstable_by_key(|job| (job.from_ns, job.to_ns));
        let by_hand = first_late_by_hand(&jobs);
        let found = first_late(&jobs);
        // One that is late is enough; of several any that is.
        assert_eq!(found.is_some(), by_hand.is_some(), "{jobs:?}");
        assert!(found.is_none_or(|due| jobs.iter().any(|job| job.to_ns == due)));
        late += usize::from(found.is_some());
        let total: u64 = jobs.iter().map(|job| job.needs_ns).sum();
        just += usize::from(found.is_none() && jobs.iter().any(|job| job.to_ns == jobs[0].from_ns + total));
    }
    assert!((300..2_500).contains(&late) && just >= 30, "{late} {just}");
}

/// Whatever is said of a stretch of time is so: these messages belong into it, and do not fit.
#[test]
fn a_crowded_stretch_has_as_many_messages_as_are_said() {
    let (mut random, mut crowded_ones, mut free) = (Random::new(25), 0, 0);
    for _ in 0..3_000 {
        let demands: Vec<Demand> = (0..1 + random.below(5) as usize)
            .map(|stream| {
                let (period_ns, needs_ns) = ([12, 18, 24, 36][random.below(4) as usize], 1 + random.below(5));
                let earliest_ns = random.below(5);
                let latest_ns = (earliest_ns + needs_ns + random.below(9)).min(period_ns);
                demand(stream, period_ns, needs_ns, needs_ns, (earliest_ns, latest_ns.max(earliest_ns + needs_ns)))
            })
            .collect();
        let periods = || demands.iter().map(|demand| demand.period_ns);
        let horizon = (1..).find(|ns| periods().all(|period| ns % period == 0)).unwrap();
        let mut all: Vec<Job> = Vec::new();
        for demand in &demands {
            all.extend((0..horizon / demand.period_ns).map(|n| Job {
                from_ns: n * demand.period_ns + demand.earliest_ns,
                to_ns: n * demand.period_ns + demand.latest_ns,
                needs_ns: demand.needs_ns,
            }));
        }
        let sums = |jobs: &[Job]| (jobs.len(), jobs.iter().map(|job| job.from_ns + 7 * job.to_ns).sum::<u64>());
        assert_eq!(sums(&jobs(&demands).unwrap()), sums(&all));
        let late = first_late_by_hand(&all);
        match crowded(5, &demands) {
            None => {
                assert_eq!(late, None, "{demands:?}");
                free += 1;
            }
            Some(Certificate::Crowded { link, from_ns, to_ns, needed_ns, messages }) => {
                assert!(late.is_some() && link == 5);
                // Of those that begin with it some may be left out.
                let within = |job: &&Job| job.from_ns >= from_ns && job.to_ns <= to_ns;
                let inside: Vec<&Job> = all.iter().filter(within).collect();
                let begin = inside.iter().filter(|job| job.from_ns == from_ns);
                assert!(messages <= inside.len() && messages + begin.count() > inside.len(), "{demands:?}");
                assert!(needed_ns > to_ns - from_ns, "{demands:?}");
                let least: u64 = inside.iter().filter(|job| job.from_ns > from_ns).map(|job| job.needs_ns).sum();
                assert!(needed_ns > least && needed_ns <= inside.iter().map(|job| job.needs_ns).sum());
                crowded_ones += 1;
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(crowded_ones >= 500 && free >= 500, "{crowded_ones} {free}");
}

/// Periods that meet seldom are looked at for eight of the longest, and never more messages than memory is for.
#[test]
fn messages_are_looked_at_for_a_while_and_no_more_than_so_many() {
    let two = |a, b| jobs(&[demand(0, a, 1, 1, (0, a)), demand(1, b, 1, 1, (0, b))]).map(|jobs| jobs.len() as u64);
    // 64 times 63 is the least common multiple of both, and 64 of the longer one are looked at.
    assert_eq!(two(64, 63), Some(64 + 63));
    assert_eq!(two(65, 64), Some(65 + 64));
    assert_eq!(two(66, 65), Some(8 + (8 * 66u64).div_ceil(65)));
    let most = MOST_JOBS as u64;
    assert_eq!(two(1, most - 1), Some(most));
    assert_eq!(two(1, most), None);
}
