//! From places in time to gates: the windows of each link, in its own cycle.

use std::fmt;

use super::certificate::{certificates, demands};
use super::periodic_intervals::{MOST_ON_LINK, gcd};
use super::timetable::{Placed, PlacedHop, Timetable};
use crate::network::{Graph, LinkId, Network, StreamId};
use crate::validate::{Schedule, Send, Window};

/// Windows of all links together at most.
const MOST_WINDOWS: u64 = 1 << 22;

/// A link's streams have so little in common that its gates would need an astronomic list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TooLong {
    /// The link's name.
    pub link: String,
    /// Two of its periods, in ns.
    pub periods_ns: [u64; 2],
    /// The cycle that they and the others need, in ns, if it is a number of 64 bits at all.
    pub cycle_ns: Option<u64>,
}

impl std::error::Error for TooLong {}

impl fmt::Display for TooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b] = self.periods_ns.map(ontick_units::exact);
        let cycle = self.cycle_ns.map_or("more than five centuries".into(), ontick_units::exact);
        write!(
            f,
            "link {}: the gates repeat after {cycle} only, which takes too long a list (periods such as {a} and {b} have little in common); choose periods that divide each other",
            self.link
        )
    }
}

/// The schedule of all streams that have a place.
pub fn schedule(network: &Network, table: &Timetable) -> Result<Schedule, TooLong> {
    let on_links = on_links(network, table);
    let cycles = cycles(network, &on_links)?;
    // One more of each that goes on in the next cycle.
    let windows = |(on, cycle): (&Vec<OnLink>, &u64)| on.iter().map(|one| cycle / one.period_ns + 1).sum::<u64>();
    let most: u64 = on_links.iter().zip(&cycles).map(windows).sum();
    let mut schedule = Schedule {
        windows: Vec::with_capacity(most as usize),
        sends: Vec::with_capacity(table.placed.len()),
        routes: vec![Vec::new(); network.streams.len()],
    };
    for placed in table.placed.iter().flatten() {
        schedule.routes[placed.stream] = placed.hops.iter().map(|hop| hop.link).collect();
        let queues = placed.hops.iter().map(|hop| (hop.link, placed.queue)).collect();
        schedule.sends.push(Send { stream: placed.stream, offset_ns: placed.offset_ns(), queues });
    }
    for (link, (messages, cycle_ns)) in on_links.into_iter().zip(cycles).enumerate() {
        let first = schedule.windows.len();
        messages.iter().for_each(|message| message.add_windows(link, cycle_ns, &mut schedule.windows));
        schedule.windows[first..].sort_unstable_by_key(|window| window.begin_ns);
    }
    Ok(schedule)
}

/// A stream's message on one link, with all that its windows are made of: looking for that among all streams takes longer
/// than making them.
#[derive(Debug, Clone, Copy)]
struct OnLink {
    stream: StreamId,
    period_ns: u64,
    queue: u8,
    begin_ns: u64,
    end_ns: u64,
}

impl OnLink {
    /// Its windows, one for each period of the link's cycle.
    fn add_windows(&self, link: LinkId, cycle_ns: u64, windows: &mut Vec<Window>) {
        let Self { period_ns, queue, .. } = *self;
        let mut begin_ns = self.begin_ns % cycle_ns;
        for _ in 0..cycle_ns / period_ns {
            let end_ns = begin_ns + (self.end_ns - self.begin_ns);
            let window = Window { link, queue, begin_ns, end_ns, cycle_ns };
            match end_ns.checked_sub(cycle_ns) {
                // What goes on in the next cycle stands at its beginning, too.
                Some(over @ 1..) => {
                    windows.push(Window { end_ns: cycle_ns, ..window });
                    windows.push(Window { begin_ns: 0, end_ns: over, ..window });
                }
                _ => windows.push(window),
            }
            begin_ns = (begin_ns + period_ns).checked_sub(cycle_ns).unwrap_or(begin_ns + period_ns);
        }
    }
}

/// What is on each link.
fn on_links(network: &Network, table: &Timetable) -> Vec<Vec<OnLink>> {
    let mut on: Vec<Vec<OnLink>> = vec![Vec::new(); network.links.len()];
    for &Placed { stream, queue, ref hops, .. } in table.placed.iter().flatten() {
        let period_ns = network.streams[stream].period_ns;
        for &PlacedHop { link, begin_ns, end_ns, .. } in hops {
            on[link].push(OnLink { stream, period_ns, queue, begin_ns, end_ns });
        }
    }
    on
}

/// The cycle of each link: the least common multiple of the periods on it.
fn cycles(network: &Network, on_links: &[Vec<OnLink>]) -> Result<Vec<u64>, TooLong> {
    let mut windows = 0u64;
    let mut cycles = vec![1; network.links.len()];
    for (link, messages) in on_links.iter().enumerate() {
        let streams: Vec<StreamId> = messages.iter().map(|message| message.stream).collect();
        let (cycle, needed) = needed(network, &streams);
        windows = windows.saturating_add(needed.unwrap_or(u64::MAX));
        match cycle {
            Some(cycle) if needed.is_some_and(|needed| needed <= MOST_ON_LINK) && windows <= MOST_WINDOWS => {
                cycles[link] = cycle
            }
            _ => return Err(too_long(network, link, &streams, cycle)),
        }
    }
    Ok(cycles)
}

/// After how long gates of a link with these streams repeat, and how many windows that takes.
fn needed(network: &Network, streams: &[StreamId]) -> (Option<u64>, Option<u64>) {
    let period = |stream: &StreamId| network.streams[*stream].period_ns;
    let cycle = streams.iter().map(period).try_fold(1u64, |lcm, ns| (lcm / gcd(lcm, ns)).checked_mul(ns));
    let needed = cycle.and_then(|cycle| streams.iter().try_fold(0u64, |sum, s| sum.checked_add(cycle / period(s))));
    (cycle, needed)
}

/// The link whose list is too long however streams are placed, as all of them must take it, if nothing else is in the
/// way of a plan.
pub fn too_long_in_any_plan(network: &Network) -> Option<TooLong> {
    let is_too_long = |needed: Option<u64>| needed.is_none_or(|needed| needed > MOST_ON_LINK);
    // All streams on one link are the most that there can be.
    let all: Vec<StreamId> = (0..network.streams.len()).collect();
    if !is_too_long(needed(network, &all).1) {
        return None;
    }
    // Whoever must take a link takes it on any path: if all those have room in its list, it is not too long.
    if !on_some_path(network).iter().any(|streams| is_too_long(needed(network, streams).1)) {
        return None;
    }
    let mut links: Vec<_> = demands(network).into_iter().collect();
    links.sort_unstable_by_key(|(link, _)| *link);
    let found = links.into_iter().find_map(|(link, demands)| {
        let streams: Vec<StreamId> = demands.iter().map(|demand| demand.stream).collect();
        let (cycle, needed) = needed(network, &streams);
        is_too_long(needed).then(|| too_long(network, link, &streams, cycle))
    });
    found.filter(|_| certificates(network).is_empty())
}

/// Streams by the links of one path to each of their listeners, with the fewest links: it is quickly found.
fn on_some_path(network: &Network) -> Vec<Vec<StreamId>> {
    let graph = Graph::new(network);
    let mut of_talkers: Vec<Vec<StreamId>> = vec![Vec::new(); network.nodes.len()];
    network.streams.iter().enumerate().for_each(|(stream, of)| of_talkers[of.talker].push(stream));
    let mut on: Vec<Vec<StreamId>> = vec![Vec::new(); network.links.len()];
    for (talker, streams) in of_talkers.into_iter().enumerate().filter(|(_, streams)| !streams.is_empty()) {
        let tree = graph.tree_by_links(talker);
        for stream in streams {
            for &listener in &network.streams[stream].listeners {
                for link in tree.path(&graph, listener).into_iter().flatten() {
                    // Paths to several listeners begin together.
                    if on[link].last() != Some(&stream) {
                        on[link].push(stream);
                    }
                }
            }
        }
    }
    on
}

fn too_long(network: &Network, link: LinkId, streams: &[StreamId], cycle_ns: Option<u64>) -> TooLong {
    let mut periods: Vec<u64> = streams.iter().map(|stream| network.streams[*stream].period_ns).collect();
    periods.sort_unstable();
    periods.dedup();
    // The two neighbours in size that divide each other worst.
    let pairs = periods.windows(2).map(|pair| [pair[0], pair[1]]);
    let worst = pairs.min_by_key(|[a, b]| gcd(*a, *b)).unwrap_or([periods[0]; 2]);
    TooLong { link: network.link_name(link), periods_ns: worst, cycle_ns }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::super::random::Random;
    use super::super::{place, routes};
    use super::*;
    use crate::network::{Link, samples};

    /// A stream that begins 500 ns before its period ends, on links with a cycle of its own or of two of its periods.
    #[test]
    fn a_window_over_the_end_of_a_cycle_goes_on_at_its_beginning() {
        let mut network = samples::ring(3, 2);
        network.streams[1] = network.streams[0].clone();
        let placed = |network: &Network, stream, start_ns| -> Option<Placed> {
            let route = routes::Routes::new(network, 1, 1).nth(stream, 0)?;
            Some(place::Search { network, stream, queue: 7, from_ns: 0, slot_ns: 1 }.at(&route, start_ns))
        };
        let windows = |network: &Network, table: &Timetable| {
            let schedule = schedule(network, table).unwrap();
            let first = table.placed[0].as_ref().unwrap().hops[0].link;
            let on = schedule.windows.iter().filter(|window| window.link == first);
            on.map(|window| (window.begin_ns, window.end_ns, window.cycle_ns)).collect::<Vec<_>>()
        };
        let mut table = Timetable { placed: vec![placed(&network, 0, 499_500), None] };
        let alone = [(0, 636, 500_000), (499_500, 500_000, 500_000)];
        assert_eq!(windows(&network, &table), alone);
        network.streams[1].period_ns = 1_000_000;
        table.placed[1] = placed(&network, 1, 10_000);
        let both = [(0, 636), (10_000, 11_136), (499_500, 500_636), (999_500, 1_000_000)];
        assert_eq!(windows(&network, &table), both.map(|(begin, end)| (begin, end, 1_000_000)));
    }

    /// In rings, whole or cut at one cable: whoever must take a link is counted there, and nobody twice.
    #[test]
    fn a_path_has_all_links_that_its_stream_must_take() {
        let mut random = Random::new(9);
        let mut between_switches = 0;
        for _ in 0..60 {
            let mut network = samples::ring(6, 8);
            let gone = random.below(12) as usize;
            network.links.retain(|link| [link.from, link.to].iter().any(|end| *end != gone && *end != (gone + 1) % 6));
            for stream in &mut network.streams {
                stream.talker = 6 + random.below(6) as usize;
                let first = 6 + (stream.talker + 1 + random.below(5) as usize) % 6;
                stream.listeners = (6..12).filter(|to| *to == first || random.below(3) == 0).collect();
                stream.listeners.retain(|to| *to != stream.talker);
            }
            let on = on_some_path(&network);
            for (link, demands) in demands(&network) {
                assert!(demands.iter().all(|demand| on[link].contains(&demand.stream)), "{link} of {network:?}");
                let Link { from, to, .. } = network.links[link];
                between_switches += if from.max(to) < 6 { demands.len() } else { 0 };
            }
            let unique = |streams: &Vec<StreamId>| streams.iter().collect::<HashSet<_>>().len() == streams.len();
            assert!(on.iter().all(unique), "{on:?} of {network:?}");
        }
        assert!(between_switches > 100, "{between_switches}");
    }

    /// Two streams over all links of a large ring, each of which has as many windows as a list can have.
    #[test]
    fn all_lists_together_are_bounded_too() {
        let mut network = samples::ring(17, 2);
        (network.streams[0].period_ns, network.streams[1].period_ns) = (4_000, 4_000 * (MOST_ON_LINK - 1));
        let hop = |link| PlacedHop { link, before: None, arrives_ns: 0, begin_ns: 0, end_ns: 1, delivered_ns: None };
        let with = |links: usize| {
            let placed = |stream| Placed { stream, queue: 7, waits: false, hops: (0..links).map(hop).collect() };
            let table = Timetable { placed: vec![Some(placed(0)), Some(placed(1))] };
            cycles(&network, &on_links(&network, &table))
        };
        let most = (MOST_WINDOWS / MOST_ON_LINK) as usize;
        assert!(network.links.len() > most);
        let all = with(most).unwrap();
        assert!(all[..most].iter().all(|cycle| *cycle == network.streams[1].period_ns));
        assert_eq!(all[most..], vec![1; network.links.len() - most]);
        assert_eq!(with(most + 1).unwrap_err().link, network.link_name(most));
    }
}
