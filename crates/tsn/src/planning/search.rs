//! Places for all streams: one after the other, and where one finds none, at the cost of others.

use std::collections::VecDeque;
use std::ops::Add;

use super::balance;
use super::candidates::Candidates;
use super::eviction::Eviction;
use super::occupancy::{Occupancy, Use};
use super::periodic_intervals::gcd;
use super::place::Search;
use super::random::Random;
use super::route::{Route, Routes};
use super::timetable::{Placed, Timetable};
use super::{PlanOptions, Prefer};
use crate::network::{Network, StreamId};

/// Share of a link's time above which first fit leaves streams over.
const CROWDED: f64 = 0.6;
/// Queues in which a stream may wait, the most urgent: what is in the way is seldom the queue.
const WAITING_QUEUES: usize = 3;
/// Places with streams in their way that are tried, the cheapest.
const CHOICES: usize = 6;

/// Who is placed first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Who has least time to begin; of those the one that needs most.
    LeastFreedom,
    /// Who comes most often; of those the one that is longest on its way.
    ShortestPeriod,
    /// Who takes most of the links' time.
    LargestShare,
}

/// When those that cannot run through are placed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitPolicy {
    /// When all others have their place: quick, for waiting takes longest to try.
    Last,
    /// In their turn.
    AtOnce,
}

/// What was done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SearchEffort {
    /// Places that were looked for.
    pub places: u64,
    /// Streams that had to make room for another one.
    pub moved: u64,
}

impl Add for SearchEffort {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { places: self.places + other.places, moved: self.moved + other.moved }
    }
}

/// A place, and who would have to go.
struct Choice {
    cost: u64,
    /// Decides between equals.
    chance: u64,
    blockers: Vec<StreamId>,
    placed: Placed,
}

/// Whether shortest ways fill some link so much that others are better. Streams that have their place already load the
/// links that they are on.
pub fn is_crowded(network: &Network, routes: &Routes, kept: &Timetable) -> bool {
    let kept = |stream: StreamId| kept.placed.get(stream).and_then(Option::as_ref);
    let links = |stream: StreamId| match kept(stream) {
        Some(placed) => Some(placed.hops.iter().map(|hop| hop.link).collect()),
        None => routes.links(stream),
    };
    let streams = 0..network.streams.len();
    balance::fullest(network, streams.filter_map(|stream| Some((stream, links(stream)?)))) > CROWDED
}

/// Streams on their places.
pub struct Planner<'a> {
    network: &'a Network,
    options: &'a PlanOptions,
    routes: Routes<'a>,
    taken: Occupancy,
    table: Timetable,
    /// Ways that leave all links some room, which are tried before others.
    balanced: Vec<Option<Route>>,
    /// Streams that may not be moved.
    fixed: Vec<bool>,
    /// How often each stream found no place: who finds none often is not moved lightly.
    weight: Vec<u64>,
    random: Random,
    /// How many planners were there before it: restarts differ by chance.
    restart: u64,
    /// What was done.
    pub effort: SearchEffort,
}

impl<'a> Planner<'a> {
    /// With those that have their place already, if any have.
    #[cfg(test)]
    pub fn new(network: &'a Network, options: &'a PlanOptions, kept: &Timetable, restart: u64) -> Self {
        Self::with(Routes::new(network, options.routes, options.slot_ns), (network, options), kept, restart)
    }

    /// With routes that others look for, too.
    pub fn with(
        routes: Routes<'a>,
        (network, options): (&'a Network, &'a PlanOptions),
        kept: &Timetable,
        restart: u64,
    ) -> Self {
        let mut planner = Self {
            network,
            options,
            routes,
            taken: Occupancy::new(network.links.len()),
            table: Timetable { placed: vec![None; network.streams.len()] },
            balanced: vec![None; network.streams.len()],
            fixed: vec![false; network.streams.len()],
            weight: vec![1; network.streams.len()],
            random: Random::new(options.seed.wrapping_add(restart << 32)),
            restart,
            effort: SearchEffort::default(),
        };
        for placed in kept.placed.iter().flatten() {
            planner.fixed[placed.stream] = true;
            planner.put(placed.clone());
        }
        planner
    }

    /// What is in force.
    pub fn into_table(self) -> Timetable {
        self.table
    }

    /// Whether shortest ways fill some link so much that others are better.
    #[cfg(test)]
    pub fn is_crowded(&mut self) -> bool {
        is_crowded(self.network, &self.routes, &self.table)
    }

    /// Ways that leave all links some room are tried first from now on; not where each stream is to have one way only.
    pub fn balance(&mut self) {
        if self.routes.most() == 1 {
            return;
        }
        self.balanced = balance::routes(self.network, self.options.slot_ns.max(1), &self.table);
    }

    /// The stream's n-th way in the order in which they are tried.
    fn route(&mut self, stream: StreamId, n: usize) -> Option<Route> {
        let route = match (n, &self.balanced[stream]) {
            (0, Some(route)) => Some(route.clone()),
            (n, Some(_)) => self.routes.nth(stream, n - 1),
            (n, None) => self.routes.nth(stream, n),
        };
        let PlanOptions { shortest_ns, slot_ns, .. } = *self.options;
        route.map(|route| route.with_leads_from(shortest_ns.next_multiple_of(slot_ns.max(1))))
    }

    /// All streams in an order, as long as `go_on` says so; those that found no place are left over.
    pub fn construct(&mut self, order: Order, waits: WaitPolicy, go_on: &dyn Fn() -> bool) -> VecDeque<StreamId> {
        let mut keys: Vec<(u64, u64, StreamId)> = Vec::new();
        for stream in self.table.missing().collect::<Vec<_>>() {
            let of = &self.network.streams[stream];
            let (delay, need) = self
                .route(stream, 0)
                .map_or((0, 0), |route| (route.delay_ns, route.hops.iter().map(|hop| hop.length_ns).sum()));
            let (first, then) = match order {
                Order::LeastFreedom => (of.deadline_ns.saturating_sub(delay), u64::MAX - need),
                Order::ShortestPeriod => (of.period_ns, u64::MAX - delay),
                Order::LargestShare => (u64::MAX - (u128::from(need) * 1_000_000 / u128::from(of.period_ns)) as u64, 0),
            };
            keys.push((self.perturbed(first), then, stream));
        }
        keys.sort_unstable();
        let mut left: Vec<StreamId> = Vec::new();
        for (.., stream) in keys {
            let placed = go_on()
                && match waits {
                    WaitPolicy::Last => self.place_running(stream),
                    WaitPolicy::AtOnce => self.place(stream),
                };
            if !placed {
                left.push(stream);
            }
        }
        left.retain(|stream| !go_on() || !self.place_waiting(*stream));
        left.into()
    }

    /// Finds places for those that are left over by moving others, until all have one or `go_on` says no. The best
    /// table so far is kept.
    pub fn improve(&mut self, mut left: VecDeque<StreamId>, mut patience: usize, go_on: &dyn Fn() -> bool) {
        let mut best = (left.len(), self.table.clone());
        while let Some(stream) = left.pop_front() {
            if !go_on() || patience == 0 {
                break;
            }
            patience -= 1;
            if !self.place(stream) {
                self.weight[stream] += 1;
                left.extend(self.displace(stream));
            }
            if left.len() < best.0 {
                best = (left.len(), self.table.clone());
            }
        }
        self.table = best.1;
    }

    /// A key of an order, in a restart up to half as large again.
    fn perturbed(&mut self, key: u64) -> u64 {
        match self.restart {
            0 => key,
            _ => key.saturating_add(self.random.below(key / 2 + 1)),
        }
    }

    /// Steps of [`Self::improve`] in which one start is improved, before another one is better.
    pub fn patience(streams: usize) -> usize {
        20 * streams + 1_000
    }

    /// Looks for the stream's first place.
    fn place(&mut self, stream: StreamId) -> bool {
        self.place_running(stream) || self.place_waiting(stream)
    }

    /// Where it runs through, on each of its routes.
    fn place_running(&mut self, stream: StreamId) -> bool {
        self.effort.places += 1;
        let found = (0..self.routes.most()).find_map(|n| {
            let route = self.route(stream, n)?;
            self.run_through(stream, &route)
        });
        found.map(|placed| self.put(placed)).is_some()
    }

    /// Where it waits, if it may.
    fn place_waiting(&mut self, stream: StreamId) -> bool {
        let found = if self.options.wait { self.wait_somewhere(stream) } else { None };
        found.map(|placed| self.put(placed)).is_some()
    }

    fn search(&self, stream: StreamId, queue: u8, from_ns: u64) -> Search<'a> {
        Search { network: self.network, stream, queue, from_ns, slot_ns: self.options.slot_ns.max(1) }
    }

    /// Queues that the stream may use on all links of its way, the most urgent first: the lowest is everybody else's.
    fn queues(&self, stream: StreamId, route: &Route) -> impl Iterator<Item = u8> + use<> {
        let chosen = self.network.streams[stream].queue;
        let fewest = route.hops.iter().map(|hop| self.network.links[hop.link].queues).min().unwrap_or(1);
        let all = 1.min(fewest - 1)..fewest;
        all.rev().filter(move |queue| chosen.is_none_or(|chosen| chosen == *queue))
    }

    fn run_through(&mut self, stream: StreamId, route: &Route) -> Option<Placed> {
        let queue = self.queues(stream, route).next()?;
        let latest = self.network.streams[stream].deadline_ns.checked_sub(route.delay_ns)?;
        match self.options.prefer {
            Prefer::Early => self.search(stream, queue, 0).without_waiting(route, &mut self.taken),
            Prefer::Spread => {
                let from = self.chance(latest);
                let later = self.search(stream, queue, from).without_waiting(route, &mut self.taken);
                later.or_else(|| self.search(stream, queue, 0).without_waiting(route, &mut self.taken))
            }
            Prefer::FewEntries => {
                let first = self.search(stream, queue, 0).without_waiting(route, &mut self.taken)?;
                let period_ns = self.network.streams[stream].period_ns;
                let start = Candidates { route, period_ns, latest_ns: latest }
                    .most_adjacent(first.offset_ns(), &mut self.taken);
                self.search(stream, queue, start).without_waiting(route, &mut self.taken)
            }
        }
    }

    fn wait_somewhere(&mut self, stream: StreamId) -> Option<Placed> {
        for n in 0..self.routes.most() {
            let route = self.route(stream, n)?;
            for queue in self.queues(stream, &route).take(WAITING_QUEUES) {
                let placed = self.search(stream, queue, 0).waiting(&route, &mut self.taken);
                if placed.is_some() {
                    return placed;
                }
            }
        }
        None
    }

    fn put(&mut self, placed: Placed) {
        for (link, one) in placed.uses(self.network) {
            self.taken.add(link, one);
        }
        let stream = placed.stream;
        self.table.placed[stream] = Some(placed);
    }

    fn take_away(&mut self, stream: StreamId) {
        let Some(placed) = self.table.placed[stream].take() else { return };
        placed.hops.iter().for_each(|hop| self.taken.remove(hop.link, stream));
    }

    /// Puts the stream where those that are in its way find other places; where no such place is found, where they count
    /// least. Who has none then is left over.
    fn displace(&mut self, stream: StreamId) -> Vec<StreamId> {
        let choices = self.choices(stream);
        for choice in &choices {
            if self.exchange(choice) {
                return Vec::new();
            }
        }
        let Some(choice) = choices.into_iter().next() else { return vec![stream] };
        choice.blockers.iter().for_each(|blocker| self.take_away(*blocker));
        self.put(choice.placed);
        choice.blockers
    }

    /// The cheapest places for a stream, with those that are in its way.
    fn choices(&mut self, stream: StreamId) -> Vec<Choice> {
        let mut choices = Vec::new();
        for n in 0..=self.routes.most() {
            let Some(route) = self.route(stream, n) else { break };
            let of = &self.network.streams[stream];
            let Some(latest_ns) = of.deadline_ns.checked_sub(route.delay_ns) else { continue };
            let Some(queue) = self.queues(stream, &route).next() else { continue };
            let eviction = Eviction {
                stream,
                route: &route,
                period_ns: of.period_ns,
                latest_ns,
                slot_ns: self.options.slot_ns.max(1),
                weight: &self.weight,
                fixed: &self.fixed,
            };
            let running = eviction.running(queue, CHOICES, &self.taken, &mut self.random);
            let waiting = if self.options.wait { eviction.waiting(&self.taken, &mut self.random) } else { None };
            let running = running.into_iter().map(|start| self.search(stream, queue, start).at(&route, start));
            let mut places: Vec<Placed> = running.collect();
            for queue in waiting.iter().flat_map(|_| self.queues(stream, &route).take(WAITING_QUEUES)) {
                places.extend(waiting.iter().map(|begins| self.search(stream, queue, 0).at_each(&route, begins)));
            }
            choices.extend(places.into_iter().filter_map(|placed| self.choice(placed)));
        }
        choices.sort_unstable_by_key(|choice| (choice.cost, choice.chance));
        choices.truncate(CHOICES);
        choices
    }

    /// A place that others can be moved out of.
    fn choice(&mut self, placed: Placed) -> Option<Choice> {
        let blockers = self.blockers(&placed);
        let free = |blocker: &StreamId| !self.fixed[*blocker] && *blocker != placed.stream;
        let cost = blockers.iter().map(|blocker| self.weight[*blocker]).sum();
        blockers.iter().all(free).then(|| Choice { cost, chance: self.random.below(u64::MAX), blockers, placed })
    }

    /// Takes a place if all that are in its way find another one; else everything is as before.
    fn exchange(&mut self, choice: &Choice) -> bool {
        let before: Vec<Placed> =
            choice.blockers.iter().filter_map(|blocker| self.table.placed[*blocker].clone()).collect();
        choice.blockers.iter().for_each(|blocker| self.take_away(*blocker));
        self.put(choice.placed.clone());
        if choice.blockers.iter().all(|blocker| self.place(*blocker)) {
            self.effort.moved += choice.blockers.len() as u64;
            return true;
        }
        self.take_away(choice.placed.stream);
        choice.blockers.iter().for_each(|blocker| self.take_away(*blocker));
        before.into_iter().for_each(|placed| self.put(placed));
        false
    }

    /// Any start up to the latest.
    fn chance(&mut self, latest: u64) -> u64 {
        let start = self.random.below(latest + 1);
        start - start % self.options.slot_ns.max(1)
    }

    /// Who is in the way of a place.
    fn blockers(&self, placed: &Placed) -> Vec<StreamId> {
        let mut blockers = Vec::new();
        for (link, one) in placed.uses(self.network) {
            blockers.extend(self.taken.uses(link).iter().filter(|other| meet(&one, other)).map(|other| other.stream));
            // More than its period is in its own way.
            if one.end_ns - one.arrives_ns > one.period_ns {
                blockers.push(placed.stream);
            }
        }
        blockers.sort_unstable();
        blockers.dedup();
        blockers
    }
}

/// Whether two uses of a link ever meet, or the frames' times in the same queue.
fn meet(a: &Use, b: &Use) -> bool {
    let common = gcd(a.period_ns, b.period_ns);
    let from = |one: &Use| if a.queue == b.queue { one.arrives_ns } else { one.from_ns };
    let (length_a, length_b) = (a.end_ns - from(a), b.end_ns - from(b));
    let distance = (from(b) % common + common - from(a) % common) % common;
    distance < length_a || common - distance < length_b
}

#[cfg(test)]
mod walks;

#[cfg(test)]
mod tests {
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
        assert_eq!(
            starts.map(|start| planner.blockers(&at(start))),
            [vec![], vec![], vec![0], vec![0], vec![0], vec![]]
        );
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
}
