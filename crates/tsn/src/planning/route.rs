//! A stream's way through the network, and when it would be where if it never waited.

use std::collections::HashMap;

use crate::network::{Graph, LinkId, Network, NodeId, StreamId};

/// One link of a stream's way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hop {
    /// The link.
    pub link: LinkId,
    /// The hop before, by its place in the route; absent at the talker.
    pub before: Option<usize>,
    /// From the talker's first bit until this link can begin at the earliest, without waiting, in ns. Clocks that
    /// differ are reckoned with.
    pub shift_ns: u64,
    /// So long before that a frame may be there already, for clocks differ, and so do data planes from time to time.
    pub lead_ns: u64,
    /// How long the link is needed: the frames, the gap behind the last, and what the data plane needs besides.
    pub length_ns: u64,
    /// The gap behind each frame, during which its last bit has left already.
    pub gap_ns: u64,
    /// The last bit of all has left so long before the link is needed no more.
    pub tail_ns: u64,
    /// From the last bit on this link until it is at the other end.
    pub propagation_ns: u64,
    /// Whether a listener is there.
    pub delivers: bool,
}

/// A tree from the talker to all listeners, in an order in which each hop comes behind the one before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// Its links.
    pub hops: Vec<Hop>,
    /// From the talker's first bit until the last listener has the last bit, without waiting.
    pub delay_ns: u64,
}

impl Route {
    /// Along paths from the talker, one for each listener. Where a later path meets the tree again it follows the tree.
    /// Every time in it is a multiple of `slot_ns`.
    pub fn along(network: &Network, stream: StreamId, paths: &[Vec<LinkId>], slot_ns: u64) -> Self {
        let talker = network.streams[stream].talker;
        let mut reached: HashMap<NodeId, Option<usize>> = HashMap::from([(talker, None)]);
        let mut hops: Vec<Hop> = Vec::new();
        // When each link is free behind each frame, from the talker's first bit on; by hop.
        let mut left: Vec<Vec<u64>> = Vec::new();
        for path in paths {
            let own = path.iter().rposition(|&link| reached.contains_key(&network.links[link].from)).unwrap_or(0);
            for &link in &path[own..] {
                let to = network.links[link].to;
                if reached.contains_key(&to) {
                    continue;
                }
                let before = reached.get(&network.links[link].from).copied().flatten();
                let passage = passage(network, stream, link, before.map(|hop| (&hops[hop], &left[hop][..])), slot_ns);
                let before_link = before.map(|hop| hops[hop].link);
                hops.push(hop(network, stream, link, (before, before_link), &passage, slot_ns));
                left.push(passage.left);
                reached.insert(to, Some(hops.len() - 1));
            }
        }
        let arrival = |hop: &Hop| hop.shift_ns + hop.length_ns - hop.tail_ns + hop.propagation_ns;
        let delay_ns = hops.iter().filter(|hop| hop.delivers).map(arrival).max().unwrap_or(0);
        Self { hops, delay_ns: delay_ns + network.sync_error_ns }
    }
}

#[cfg(test)]
impl Route {
    /// One hop behind the other: link, shift, lead and length of each. Nobody listens.
    pub fn chain(hops: &[(LinkId, u64, u64, u64)]) -> Self {
        let hop = |(n, &(link, shift_ns, lead_ns, length_ns)): (usize, &(LinkId, u64, u64, u64))| Hop {
            link,
            before: n.checked_sub(1),
            shift_ns,
            lead_ns,
            length_ns,
            gap_ns: 0,
            tail_ns: 0,
            propagation_ns: 0,
            delivers: false,
        };
        Self { hops: hops.iter().enumerate().map(hop).collect(), delay_ns: 0 }
    }
}

/// A message on one link.
struct Passage {
    /// When the first frame is there at the latest, and when it begins.
    arrives_ns: u64,
    begins_ns: u64,
    /// When the link is free behind each frame.
    left: Vec<u64>,
    /// From its beginning until a window of another message may follow.
    lasts_ns: u64,
}

fn passage(network: &Network, stream: StreamId, link: LinkId, before: Option<(&Hop, &[u64])>, slot_ns: u64) -> Passage {
    let carried = network.message_time(stream, link);
    let frames = carried.frames as usize;
    let lasts = |frame: usize| if frame + 1 == frames { carried.last_ns } else { carried.first_ns };
    let arrivals: Vec<u64> = match before {
        None => vec![0; frames],
        Some((hop, left)) => {
            let way = &network.links[hop.link];
            let delay = way.propagation_ns + network.processing_ns(hop.link).1 + network.sync_error_ns;
            left.iter().map(|at| at - hop.gap_ns + delay).collect()
        }
    };
    let begins_ns = arrivals[0].next_multiple_of(slot_ns);
    let timing = &network.timing;
    let mut free = begins_ns;
    let mut left = Vec::with_capacity(frames);
    let mut first_bit = begins_ns;
    for (frame, arrival) in arrivals.iter().enumerate() {
        first_bit = free.max(begins_ns.max(*arrival) + timing.latest_ns());
        free = first_bit + timing.spaced_ns(lasts(frame));
        left.push(first_bit + lasts(frame));
    }
    let lasts_ns = timing.lasts_ns(first_bit - begins_ns, carried.last_ns);
    Passage { arrives_ns: arrivals[0], begins_ns, left, lasts_ns }
}

fn hop(
    network: &Network,
    stream: StreamId,
    link: LinkId,
    (before, before_link): (Option<usize>, Option<LinkId>),
    passage: &Passage,
    slot_ns: u64,
) -> Hop {
    let way = &network.links[link];
    // Two clocks stand between a frame's departure and the next gate, and each hop before was reckoned as late.
    let quicker_ns = |link: LinkId| {
        let (least, most) = network.processing_ns(link);
        2 * network.sync_error_ns + network.timing.latest_ns() + most - least
    };
    let early_ns = before_link.map_or(0, quicker_ns) + passage.begins_ns - passage.arrives_ns;
    let length_ns = passage.lasts_ns.next_multiple_of(slot_ns);
    let gap_ns = network.message_time(stream, link).gap_ns;
    let left_ns = passage.left.last().map_or(0, |left| left - passage.begins_ns) - gap_ns;
    Hop {
        link,
        before,
        shift_ns: passage.begins_ns,
        lead_ns: early_ns.next_multiple_of(slot_ns).min(passage.begins_ns),
        length_ns,
        gap_ns,
        tail_ns: length_ns - left_ns,
        propagation_ns: way.propagation_ns,
        delivers: network.streams[stream].listeners.contains(&way.to),
    }
}

/// Ways of each stream, found when they are asked for.
pub struct Routes<'a> {
    network: &'a Network,
    graph: Graph,
    /// Ways of each stream that are tried.
    most: usize,
    slot_ns: u64,
    /// The cheapest path between two nodes, and the others once they were wanted.
    paths: HashMap<(NodeId, NodeId), Known>,
}

/// Paths between two nodes, and whether these are all that are wanted.
type Known = (Vec<Vec<LinkId>>, bool);

impl<'a> Routes<'a> {
    /// With up to `most` ways for each stream, whose times are multiples of `slot_ns`.
    pub fn new(network: &'a Network, most: usize, slot_ns: u64) -> Self {
        Self { network, graph: Graph::new(network), most: most.max(1), slot_ns: slot_ns.max(1), paths: HashMap::new() }
    }

    /// The stream's n-th way, the quickest first.
    pub fn nth(&mut self, stream: StreamId, n: usize) -> Option<Route> {
        let of = &self.network.streams[stream];
        let mut paths = Vec::with_capacity(of.listeners.len());
        let mut another = n == 0;
        for &listener in &of.listeners {
            let known = self.between(of.talker, listener, n > 0);
            // Several listeners: each takes its own n-th path while it has one.
            another |= n < known.len();
            paths.push(known.get(n).or(known.last())?.clone());
        }
        another.then(|| Route::along(self.network, stream, &paths, self.slot_ns))
    }

    /// How many ways are tried at most.
    pub fn most(&self) -> usize {
        self.most
    }

    fn between(&mut self, from: NodeId, to: NodeId, all: bool) -> &[Vec<LinkId>] {
        let (network, graph, most) = (self.network, &self.graph, self.most);
        // A hop costs its delay; all of them something, so that loops never pay.
        let cost = |link: LinkId| {
            let way = &network.links[link];
            let largest = network.timing.message_ns(network.overhead.message_time(1500, way.rate));
            largest + way.propagation_ns + network.processing_ns(link).1
        };
        let known = self.paths.entry((from, to)).or_insert_with(|| (graph.paths(from, to, 1, cost), most == 1));
        if all && !known.1 {
            *known = (graph.paths(from, to, most, cost), true);
        }
        &known.0
    }
}

#[cfg(test)]
mod tests {
    use super::super::random::Random;
    use super::*;
    use crate::network::samples;

    #[test]
    fn frames_are_stored_and_forwarded() {
        let network = samples::ring(4, 4);
        let route = Routes::new(&network, 3, 1).nth(0, 0).unwrap();
        // 100 octets with header, tag and overhead, without the gap behind: 130 octets of 8 ns; then 50 ns of cable and 2 us in the switch.
        let shifts: Vec<u64> = route.hops.iter().map(|hop| hop.shift_ns).collect();
        assert_eq!(shifts, [0, 1_040 + 2_050, 2 * (1_040 + 2_050)]);
        assert_eq!(route.delay_ns, 2 * (1_040 + 2_050) + 1_040 + 50);
    }

    #[test]
    fn a_slow_link_first_spreads_the_frames_of_a_message_on_a_fast_one() {
        let mut network = samples::ring(4, 4);
        network.streams[0].size = 3_000;
        let first = Routes::new(&network, 1, 1).nth(0, 0).unwrap().hops[0].link;
        network.links[first].rate = 100_000_000;
        let route = Routes::new(&network, 1, 1).nth(0, 0).unwrap();
        let [slow, fast] = [route.hops[0], route.hops[1]];
        assert_eq!(slow.length_ns, 2 * 123_360);
        // The second frame is there 123 360 ns behind the first, and takes 12 336 ns.
        assert_eq!(fast.length_ns, 123_360 + 12_336);
    }

    /// To the neighbour there is a cable, and the way round the ring.
    #[test]
    fn ways_come_in_turn_until_there_are_no_more() {
        let mut network = samples::ring(4, 1);
        let hops = |network: &Network, most| {
            let mut routes = Routes::new(network, most, 1);
            (0..4).map(|n| routes.nth(0, n).map(|route| route.hops.len())).collect::<Vec<_>>()
        };
        assert_eq!(hops(&network, 4), [Some(3), Some(5), None, None]);
        assert_eq!(hops(&network, 1), [Some(3), None, None, None]);
        // Who listens at the talker's own switch has one way: it keeps that while the other goes round.
        network.nodes.push(crate::network::Node { name: "h4".into(), kind: crate::network::Kind::Station });
        network.links.push(crate::network::Link { from: 0, to: 8, ..network.links[2].clone() });
        network.streams[0].listeners.push(8);
        assert_eq!(hops(&network, 4), [Some(4), Some(6), None, None]);
    }

    #[test]
    fn several_listeners_share_what_they_can() {
        let mut network = samples::ring(5, 1);
        network.streams[0].talker = 5;
        network.streams[0].listeners = vec![6, 7];
        let route = Routes::new(&network, 1, 1).nth(0, 0).unwrap();
        // Talker to switch 0, on to 1, there to its station and on to 2, there to its station.
        assert_eq!(route.hops.len(), 5);
        assert_eq!(route.hops.iter().filter(|hop| hop.delivers).count(), 2);
        for (place, hop) in route.hops.iter().enumerate() {
            assert!(hop.before.is_none_or(|before| before < place));
        }
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

    #[test]
    fn ways_are_the_cheapest_of_all_one_after_the_other() {
        let mut random = Random::new(61);
        let mut many = 0;
        for _ in 0..150 {
            let mut network = drawn(&mut random);
            let all = [6, 7].map(|to| ways(&network, to));
            for most in [1, 2, 5] {
                let mut routes = Routes::new(&network, most, 1);
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
                assert_eq!(hop.lead_ns, if hop.before.is_some() { (2 * error_ns).min(comes[0]) } else { 0 });
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
}
