//! A place for one stream that no other one has: where it runs through, or where it waits.

use super::super::Prefer;
use super::super::candidates::Candidates;
use super::super::place::Search;
use super::super::route::Route;
use super::super::timetable::Placed;
use super::Planner;
use crate::network::StreamId;

/// Queues in which a stream may wait, the most urgent: what is in the way is seldom the queue.
pub(super) const WAITING_QUEUES: usize = 3;

impl<'a> Planner<'a> {
    /// Looks for the stream's first place.
    pub(super) fn place(&mut self, stream: StreamId) -> bool {
        self.place_running(stream) || self.place_waiting(stream)
    }

    /// Where it runs through, on each of its routes.
    pub(super) fn place_running(&mut self, stream: StreamId) -> bool {
        self.effort.places += 1;
        let found = (0..self.routes.most()).find_map(|n| {
            let route = self.route(stream, n)?;
            self.run_through(stream, &route)
        });
        found.map(|placed| self.put(placed)).is_some()
    }

    /// Where it waits, if it may.
    pub(super) fn place_waiting(&mut self, stream: StreamId) -> bool {
        let found = if self.options.wait { self.wait_somewhere(stream) } else { None };
        found.map(|placed| self.put(placed)).is_some()
    }

    pub(super) fn search(&self, stream: StreamId, queue: u8, from_ns: u64) -> Search<'a> {
        Search { network: self.network, stream, queue, from_ns, slot_ns: self.options.slot_ns.max(1) }
    }

    /// Queues that the stream may use on all links of its way, the most urgent first: the lowest is everybody else's.
    pub(super) fn queues(&self, stream: StreamId, route: &Route) -> impl Iterator<Item = u8> + use<> {
        let chosen = self.network.streams[stream].queue;
        let fewest = route.hops.iter().map(|hop| self.network.links[hop.link].queues).min().unwrap_or(1);
        let all = 1.min(fewest - 1)..fewest;
        all.rev().filter(move |queue| chosen.is_none_or(|chosen| chosen == *queue))
    }

    pub(super) fn run_through(&mut self, stream: StreamId, route: &Route) -> Option<Placed> {
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

    /// Any start up to the latest.
    pub(super) fn chance(&mut self, latest: u64) -> u64 {
        let start = self.random.below(latest + 1);
        start - start % self.options.slot_ns.max(1)
    }
}
