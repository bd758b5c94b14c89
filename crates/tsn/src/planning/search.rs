//! Places for all streams: one after the other, and where one finds none, at the cost of others.

mod construct;
mod free_place;
mod improve;

use std::ops::Add;

use super::PlanOptions;
use super::balance;
use super::occupancy::Occupancy;
use super::random::Random;
use super::route::Route;
use super::routes::Routes;
use super::timetable::{Placed, Timetable};
use crate::network::{Network, StreamId};

pub use construct::{Order, WaitPolicy};

/// Share of a link's time above which first fit leaves streams over.
const CROWDED: f64 = 0.6;

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
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod walks;
