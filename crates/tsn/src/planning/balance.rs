//! Ways that leave all links some room, where the shortest ones would fill some: each stream takes the cheapest way by
//! what links carry already, and takes it again as the others are known.

use std::cell::Cell;

use super::path_cost::{Least, delay_ns};
use super::route::Route;
use super::timetable::Timetable;
use crate::network::{Graph, LinkId, Network, NodeId, PathSearch, StreamId};

/// Times that each stream chooses.
const ROUNDS: usize = 3;

/// Links' loads, as parts of one.
struct Loads<'a> {
    network: &'a Network,
    of: Vec<f64>,
    /// What each link costs without any load.
    delay_ns: Vec<u64>,
}

impl<'a> Loads<'a> {
    fn new(network: &'a Network) -> Self {
        let links = 0..network.links.len();
        let delay_ns = links.clone().map(|link| delay_ns(network, link)).collect();
        Self { network, of: links.map(|_| 0.0).collect(), delay_ns }
    }

    /// A stream is on these links from now on or, with a sign of -1, no longer.
    fn add(&mut self, stream: StreamId, links: impl IntoIterator<Item = LinkId>, sign: f64) {
        let shares = Shares::new(self.network, stream);
        links.into_iter().for_each(|link| self.of[link] += sign * shares.on(link));
    }

    /// A tree's links once each, whatever listeners they are for.
    fn carry(&mut self, stream: StreamId, paths: &[Vec<LinkId>], sign: f64) {
        let mut links: Vec<LinkId> = paths.concat();
        links.sort_unstable();
        links.dedup();
        self.add(stream, links, sign);
    }

    /// A link's delay, and far more when it is full.
    fn price(&self, link: LinkId, share: f64) -> u64 {
        let load = (self.of[link] + share).min(4.0);
        (self.delay_ns[link] as f64 * (1.0 + 160.0 * load.powi(7))) as u64
    }
}

/// What a stream's share of a link's time is: the same on all links of one rate.
struct Shares<'a> {
    network: &'a Network,
    stream: StreamId,
    /// A rate, and the share on a link of that rate.
    last: Cell<(u64, f64)>,
}

impl<'a> Shares<'a> {
    fn new(network: &'a Network, stream: StreamId) -> Self {
        Self { network, stream, last: Cell::new((0, 0.0)) }
    }

    fn on(&self, link: LinkId) -> f64 {
        let rate = self.network.links[link].rate;
        let (known, share) = self.last.get();
        if known == rate {
            return share;
        }
        let period_ns = self.network.streams[self.stream].period_ns;
        let share = self.network.window_ns(self.stream, link) as f64 / period_ns as f64;
        self.last.set((rate, share));
        share
    }
}

/// The share of its time that the fullest link would carry on shortest ways.
pub fn fullest(network: &Network, shortest: impl Iterator<Item = (StreamId, Vec<LinkId>)>) -> f64 {
    let mut loads = Loads::new(network);
    for (stream, links) in shortest {
        loads.add(stream, links, 1.0);
    }
    loads.of.into_iter().fold(0.0, f64::max)
}

/// The way of each stream that has no place yet. Those that have one load their links.
pub fn routes(network: &Network, slot_ns: u64, table: &Timetable) -> Vec<Option<Route>> {
    let graph = Graph::new(network);
    let mut loads = Loads::new(network);
    for placed in table.placed.iter().flatten() {
        loads.add(placed.stream, placed.hops.iter().map(|hop| hop.link), 1.0);
    }
    let mut ways: Vec<Vec<Vec<LinkId>>> = vec![Vec::new(); network.streams.len()];
    let mut order: Vec<StreamId> = table.missing().collect();
    let need =
        |stream: StreamId| u64::from(network.streams[stream].size) * 1_000_000_000 / network.streams[stream].period_ns;
    order.sort_by_key(|stream| (u64::MAX - need(*stream), *stream));
    let (mut search, mut least) = (PathSearch::default(), Least::default());
    for round in 0..ROUNDS {
        for &stream in &order {
            if round > 0 {
                loads.carry(stream, &ways[stream], -1.0);
            }
            let of = &network.streams[stream];
            let shares = Shares::new(network, stream);
            let price = |link| loads.price(link, shares.on(link));
            let path = |to: &NodeId| {
                // Load makes a link dearer and never cheaper.
                let least = least.to(&graph, *to, |link| loads.delay_ns[link]);
                search.path(&graph, (of.talker, *to), |node| least[node], price, |_, _| false)
            };
            ways[stream] = of.listeners.iter().filter_map(path).collect();
            loads.carry(stream, &ways[stream], 1.0);
        }
    }
    let route = |stream: StreamId| {
        let complete = ways[stream].len() == network.streams[stream].listeners.len();
        complete.then(|| Route::along(network, stream, &ways[stream], slot_ns))
    };
    let mut routes = vec![None; network.streams.len()];
    order.into_iter().for_each(|stream| routes[stream] = route(stream));
    routes
}

#[cfg(test)]
mod tests {
    use super::super::place::Search;
    use super::super::random::Random;
    use super::super::routes::Routes;
    use super::*;
    use crate::network::{Stream, samples};

    fn nobody(network: &Network) -> Timetable {
        Timetable { placed: vec![None; network.streams.len()] }
    }

    /// What a stream brings along makes a link dear, not only what is there already.
    #[test]
    fn a_links_price_is_that_of_its_load_with_the_stream() {
        let mut network = samples::ring(3, 1);
        (network.streams[0].size, network.streams[0].period_ns) = (3_000, 100_000);
        let mut loads = Loads::new(&network);
        let share = Shares::new(&network, 0).on(0);
        assert!((0.2..0.3).contains(&share), "{share}");
        let delay = (12_336 + 50 + 2_000) as f64;
        for (before, factor) in [(0.75 - share, 1.0 + 160.0 * 0.75f64.powi(7)), (9.0, 1.0 + 160.0 * 4f64.powi(7))] {
            loads.of[0] = before;
            let price = loads.price(0, share);
            assert!(price.abs_diff((delay * factor) as u64) <= 1, "{before}: {price}");
        }
    }

    #[test]
    fn a_way_loads_each_link_once_until_it_is_taken_back() {
        let network = samples::ring(3, 1);
        let mut loads = Loads::new(&network);
        let paths = [vec![0, 4], vec![0, 8]];
        loads.carry(0, &paths, 1.0);
        let share = Shares::new(&network, 0).on(0);
        let expected = |link: usize| if [0, 4, 8].contains(&link) { share } else { 0.0 };
        assert!((0..network.links.len()).all(|link| loads.of[link] == expected(link)), "{:?}", loads.of);
        loads.carry(0, &paths, -1.0);
        assert!(loads.of.iter().all(|load| *load == 0.0), "{:?}", loads.of);
    }

    /// To the neighbour there is one cable, or two around: they fit on one cable alone, but not together.
    #[test]
    fn two_that_would_fill_a_cable_take_different_ways() {
        let mut network = samples::ring(3, 1);
        let half = |size| Stream { size, period_ns: 100_000, deadline_ns: 100_000, ..network.streams[0].clone() };
        network.streams = vec![half(7_000), half(7_000), half(100)];
        let hops = |network: &Network| {
            let ways = routes(network, 1, &nobody(network)).into_iter().map(|route| route.unwrap().hops.len());
            ways.collect::<Vec<_>>()
        };
        let mut both = hops(&network)[..2].to_vec();
        both.sort_unstable();
        assert_eq!(both, [3, 4]);
        network.streams.truncate(1);
        assert_eq!(hops(&network), [3]);
        // One that takes less than an octet each second makes room.
        network.streams.push(Stream { size: 1, period_ns: 60_000_000_000, ..network.streams[0].clone() });
        assert_eq!(hops(&network), [3, 4]);
    }

    /// Both would fit on the short cable alone; the one that is there stays, and the new one goes round.
    #[test]
    fn who_has_a_place_keeps_it_and_loads_its_links() {
        let mut network = samples::ring(3, 1);
        let half = Stream { size: 7_000, period_ns: 100_000, deadline_ns: 100_000, ..network.streams[0].clone() };
        network.streams = vec![half.clone(), half];
        let routes_of = Routes::new(&network, 1, 1);
        let (route, stream) = (routes_of.nth(0, 0).unwrap(), 0);
        let search = Search { network: &network, stream, queue: 7, from_ns: 0, slot_ns: 1 };
        let table = Timetable { placed: vec![Some(search.at(&route, 0)), None] };
        let found = routes(&network, 1, &table);
        assert!(found[0].is_none());
        assert_eq!((route.hops.len(), found[1].as_ref().unwrap().hops.len()), (3, 4));
    }

    /// The same once more, with sums made anew each time: those that need most choose first, each three times.
    fn by_hand(network: &Network) -> Vec<Vec<LinkId>> {
        let graph = Graph::new(network);
        let bits = |n: usize| u64::from(network.streams[n].size) * 1_000_000_000 / network.streams[n].period_ns;
        let mut order: Vec<StreamId> = (0..network.streams.len()).collect();
        order.sort_by(|a, b| bits(*b).cmp(&bits(*a)).then(a.cmp(b)));
        let mut ways: Vec<Vec<LinkId>> = vec![Vec::new(); order.len()];
        for _ in 0..3 {
            for &stream in &order {
                ways[stream].clear();
                let mut loads = Loads::new(network);
                for (other, way) in ways.iter().enumerate() {
                    way.iter().for_each(|link| loads.of[*link] += Shares::new(network, other).on(*link));
                }
                let of = &network.streams[stream];
                let way = graph.path(
                    of.talker,
                    of.listeners[0],
                    |link| loads.price(link, Shares::new(network, stream).on(link)),
                    |_, _| false,
                );
                ways[stream] = way.unwrap();
            }
        }
        ways
    }

    #[test]
    fn each_takes_the_cheapest_way_behind_those_that_need_more() {
        let mut random = Random::new(41);
        let mut around = 0;
        for _ in 0..60 {
            let mut network = samples::ring(5, 12);
            for stream in &mut network.streams {
                stream.size = 100 + random.below(9_000) as u32;
                stream.period_ns = [100_000, 130_000, 270_000, 1_000_000][random.below(4) as usize];
                stream.talker = 5 + random.below(5) as usize;
                stream.listeners = vec![5 + (stream.talker - 5 + 1 + random.below(4) as usize) % 5];
            }
            let by_hand = by_hand(&network);
            let found = routes(&network, 1, &nobody(&network));
            for (stream, (route, way)) in found.into_iter().zip(&by_hand).enumerate() {
                let links: Vec<LinkId> = route.unwrap().hops.iter().map(|hop| hop.link).collect();
                assert_eq!(links, *way, "{stream}");
                around += usize::from(way.len() > 4);
            }
        }
        assert!(around >= 50, "{around}");
    }
}
