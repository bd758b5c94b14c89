//! A stream's way through the network, and when it would be where if it never waited.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use crate::message::MessageTime;
use crate::network::{Graph, LinkId, Network, NodeId, PathSearch, Paths, StreamId};

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
    /// So long before that a frame may be there already, for clocks differ, and so do data planes from time to time. With
    /// quick links that is before the talker begins by its own clock.
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
        let mut hops: Vec<Hop> = Vec::with_capacity(paths.first().map_or(0, Vec::len));
        // When each link is free behind each frame, from the talker's first bit on; hop by hop.
        let mut left: Vec<u64> = Vec::with_capacity(hops.capacity());
        let mut carried = Carried::default();
        let mut next = |link: LinkId, before: Option<usize>| {
            let carried = carried.on(network, stream, link);
            let earlier = before.map(|hop: usize| (&hops[hop], hop * carried.frames as usize));
            let passage = passage(network, &carried, earlier, &mut left, slot_ns);
            let before_link = before.map(|hop| hops[hop].link);
            hops.push(hop(network, stream, (link, &carried), (before, before_link), &passage, slot_ns));
        };
        if let [path] = paths {
            // One path meets no other.
            path.iter().enumerate().for_each(|(n, link)| next(*link, n.checked_sub(1)));
        } else {
            let mut reached: HashMap<NodeId, Option<usize>> = HashMap::from([(talker, None)]);
            let mut known = 0;
            for path in paths {
                let own = path.iter().rposition(|&link| reached.contains_key(&network.links[link].from)).unwrap_or(0);
                for &link in &path[own..] {
                    let way = &network.links[link];
                    if reached.contains_key(&way.to) {
                        continue;
                    }
                    next(link, reached.get(&way.from).copied().flatten());
                    reached.insert(way.to, Some(known));
                    known += 1;
                }
            }
        }
        let arrival = |hop: &Hop| hop.shift_ns + hop.length_ns - hop.tail_ns + hop.propagation_ns;
        let delay_ns = hops.iter().filter(|hop| hop.delivers).map(arrival).max().unwrap_or(0);
        Self { hops, delay_ns: delay_ns + network.sync_error_ns }
    }

    /// Frames that may be there before they are needed are reckoned with so long before, at least.
    pub fn with_leads_from(mut self, least_ns: u64) -> Self {
        let early = self.hops.iter_mut().filter(|hop| hop.lead_ns > 0);
        early.for_each(|hop| hop.lead_ns = hop.lead_ns.max(least_ns));
        self
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
    /// When the link is free behind the last frame.
    left_ns: u64,
    /// From its beginning until a window of another message may follow.
    lasts_ns: u64,
}

/// How long a stream's message takes on a link: as long as on the one before, mostly.
#[derive(Default)]
struct Carried {
    last: Option<(u64, MessageTime)>,
}

impl Carried {
    fn on(&mut self, network: &Network, stream: StreamId, link: LinkId) -> MessageTime {
        let rate = network.links[link].rate;
        match self.last {
            Some((known, time)) if known == rate => time,
            _ => self.last.insert((rate, network.message_time(stream, link))).1,
        }
    }
}

/// `left` gets when the link is free behind each frame; the hop before comes with the place where its own begin there.
fn passage(
    network: &Network,
    carried: &MessageTime,
    before: Option<(&Hop, usize)>,
    left: &mut Vec<u64>,
    slot_ns: u64,
) -> Passage {
    let frames = carried.frames as usize;
    let lasts = |frame: usize| if frame + 1 == frames { carried.last_ns } else { carried.first_ns };
    let delay = before.map_or(0, |(hop, _)| {
        let way = &network.links[hop.link];
        way.propagation_ns + network.processing_ns(hop.link).1 + network.sync_error_ns
    });
    let arrival =
        |left: &[u64], frame: usize| before.map_or(0, |(hop, place)| left[place + frame] - hop.gap_ns + delay);
    let arrives_ns = arrival(left, 0);
    let begins_ns = arrives_ns.next_multiple_of(slot_ns);
    let timing = &network.timing;
    let mut free = begins_ns;
    let mut first_bit = begins_ns;
    for frame in 0..frames {
        first_bit = free.max(begins_ns.max(arrival(left, frame)) + timing.latest_ns());
        free = first_bit + timing.spaced_ns(lasts(frame));
        left.push(first_bit + lasts(frame));
    }
    let lasts_ns = timing.lasts_ns(first_bit - begins_ns, carried.last_ns);
    Passage { arrives_ns, begins_ns, left_ns: first_bit + carried.last_ns, lasts_ns }
}

fn hop(
    network: &Network,
    stream: StreamId,
    (link, carried): (LinkId, &MessageTime),
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
    let gap_ns = carried.gap_ns;
    let left_ns = passage.left_ns - passage.begins_ns - gap_ns;
    Hop {
        link,
        before,
        shift_ns: passage.begins_ns,
        lead_ns: early_ns.next_multiple_of(slot_ns),
        length_ns,
        gap_ns,
        tail_ns: length_ns - left_ns,
        propagation_ns: way.propagation_ns,
        delivers: network.streams[stream].listeners.contains(&way.to),
    }
}

/// Ways of each stream, found when they are asked for. Clones share what they have found.
#[derive(Clone)]
pub struct Routes<'a> {
    network: &'a Network,
    /// Ways of each stream that are tried.
    most: usize,
    slot_ns: u64,
    found: Rc<RefCell<Found>>,
}

/// Paths that were asked for.
struct Found {
    graph: Graph,
    /// Of each link.
    cost: Vec<u64>,
    /// Listeners of each talker's streams.
    listeners: Vec<Vec<NodeId>>,
    /// The cheapest path between two nodes, and the others once they were wanted; nothing where there is none.
    paths: HashMap<(NodeId, NodeId), Option<Paths>>,
    search: PathSearch,
    /// What it costs at least from each node to a listener that was asked about.
    least: Least,
}

/// Costs of the cheapest paths to a node, of those nodes that were asked about last.
#[derive(Default)]
pub struct Least {
    known: HashMap<NodeId, Rc<[u64]>>,
}

/// Numbers that are kept at most, of all nodes together: 32 MiB.
const MOST_COSTS: usize = 1 << 22;

impl Least {
    /// Of the paths to this node.
    pub fn to(&mut self, graph: &Graph, to: NodeId, cost: impl Fn(LinkId) -> u64) -> Rc<[u64]> {
        if let Some(known) = self.known.get(&to) {
            return known.clone();
        }
        let costs: Rc<[u64]> = graph.costs_to(to, cost).into();
        if (self.known.len() + 1).saturating_mul(costs.len()) > MOST_COSTS {
            self.known.clear();
        }
        self.known.insert(to, costs.clone());
        costs
    }
}

/// What a link costs whoever uses it: its delay. All cost something, so that loops never pay.
pub fn delay_ns(network: &Network, link: LinkId) -> u64 {
    let way = &network.links[link];
    let largest = network.timing.message_ns(network.overhead.message_time(1500, way.rate));
    largest + way.propagation_ns + network.processing_ns(link).1
}

impl Found {
    fn new(network: &Network) -> Self {
        let cost = (0..network.links.len()).map(|link| delay_ns(network, link)).collect();
        let mut listeners = vec![Vec::new(); network.nodes.len()];
        network.streams.iter().for_each(|stream| listeners[stream.talker].extend(&stream.listeners));
        Self {
            graph: Graph::new(network),
            cost,
            listeners,
            paths: HashMap::new(),
            search: PathSearch::default(),
            least: Least::default(),
        }
    }

    /// Up to `count` paths, if there are so many. One search is for all listeners of the talker's streams.
    fn between(&mut self, from: NodeId, to: NodeId, count: usize) -> &[Vec<LinkId>] {
        let Self { graph, cost, listeners, paths, search, least } = self;
        let cost = |link: LinkId| cost[link];
        if !paths.contains_key(&(from, to)) {
            let tree = graph.tree(from, cost);
            for &listener in listeners[from].iter().chain([&to]) {
                paths.entry((from, listener)).or_insert_with(|| tree.path(graph, listener).map(Paths::new));
            }
        }
        match paths.get_mut(&(from, to)).and_then(Option::as_mut) {
            Some(paths) => {
                if paths.known().len() < count {
                    let least = least.to(graph, to, cost);
                    paths.extend(graph, count, search, |node| least[node], cost);
                }
                paths.known()
            }
            None => &[],
        }
    }
}

impl<'a> Routes<'a> {
    /// With up to `most` ways for each stream, whose times are multiples of `slot_ns`.
    pub fn new(network: &'a Network, most: usize, slot_ns: u64) -> Self {
        let found = Rc::new(RefCell::new(Found::new(network)));
        Self { network, most: most.max(1), slot_ns: slot_ns.max(1), found }
    }

    /// The stream's n-th way, the quickest first.
    pub fn nth(&self, stream: StreamId, n: usize) -> Option<Route> {
        let of = &self.network.streams[stream];
        let mut found = self.found.borrow_mut();
        let count = (n + 1).min(self.most);
        let mut another = n == 0;
        if let [listener] = of.listeners[..] {
            let path = found.between(of.talker, listener, count).get(n)?;
            return Some(Route::along(self.network, stream, std::slice::from_ref(path), self.slot_ns));
        }
        let mut paths = Vec::with_capacity(of.listeners.len());
        for &listener in &of.listeners {
            let known = found.between(of.talker, listener, count);
            // Several listeners: each takes its own n-th path while it has one.
            another |= n < known.len();
            paths.push(known.get(n).or(known.last())?.clone());
        }
        another.then(|| Route::along(self.network, stream, &paths, self.slot_ns))
    }

    /// The links of the stream's quickest way.
    pub fn links(&self, stream: StreamId) -> Option<Vec<LinkId>> {
        let of = &self.network.streams[stream];
        match of.listeners[..] {
            [listener] => self.found.borrow_mut().between(of.talker, listener, 1).first().cloned(),
            _ => Some(self.nth(stream, 0)?.hops.iter().map(|hop| hop.link).collect()),
        }
    }

    /// How many ways are tried at most.
    pub fn most(&self) -> usize {
        self.most
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
}
